/** `archive`, `backups` and `restore` with a bucket: killed, without an answer for 10 s, refused, and restored. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, expect, it } from "vitest";
import { restoreRights } from "../../../components/eks/backup-policies";
import { RunDirectory } from "../../../platforms/host/run-directory";
import type { Deployment } from "../../../valkey/deployment";
import { isAllowed } from "../../support/aws/policy-simulation";
import { requestToS3 } from "../../support/aws/requests-to-s3";
import type { Command } from "../../support/command";
import { ACCOUNT_ID } from "../../support/pulumi/eks";
import { writeDataSet } from "../../support/valkey/data-set";
import { usePlace, useS3, useSandbox } from "../../support/valkey/hooks";
import { eventually, withNode, callNode } from "../../support/valkey/real";
import { BUCKET } from "../../support/valkey/s3-server";

const sandbox = useSandbox();
const place = usePlace();
const s3 = useS3();
let shop: Deployment;
beforeAll(async () => {
  shop = await sandbox.formedReplication("shop", 0);
});

const servers = (): string[] => ["--mode", "replication", "--node", `127.0.0.1:${shop.nodes[0]?.endpoint.port}=a`];
const environment = (): NodeJS.ProcessEnv => ({ VALKEY_PASSWORD: shop.access.password });
const at = (): string[] => ["--endpoint", s3.server.endpoint];
const archive = (): Promise<Command> =>
  place.start(["archive", ...servers(), "--into", "s3://backups/shop", ...at()], environment());
async function onlyReadsAndHolds(requests: readonly string[], prefix: string): Promise<void> {
  const policies = [{ name: "restore", policy: restoreRights({ partition: "aws", bucket: BUCKET, prefix }) }];
  const actions = new Set<string>();
  for (const line of requests) {
    const request = requestToS3(line);
    expect(await isAllowed(request, `arn:aws:iam::${ACCOUNT_ID}:role/restore`, policies), line).toBe(true);
    actions.add(request.action);
  }
  expect([...actions].sort()).toEqual(["s3:DeleteObject", "s3:GetObject", "s3:ListBucket", "s3:PutObject"]);
}
const increments = (): number => s3.server.requests.filter((each) => /^PUT .*\/i\d{16}\./.test(each)).length;

it("loses nothing when it is killed and when the bucket is away, and restores with a PASS", async () => {
  await withNode(shop, 0, (primary) => writeDataSet(primary, 41, 100));
  const killed = await archive();
  await killed.printed(/shard-0: base with [\d,]+ keys/);
  const second = await place.call(["archive", ...servers(), "--into", "s3://backups/shop", ...at()], environment());
  expect(second.status, second.output).toBe(2);
  expect(second.output).toContain("a different process archives into s3://backups/shop");
  let isWriting = true;
  const writing = withNode(shop, 0, async (primary) => {
    for (let value = 0; isWriting; value++) {
      await primary.set(`key-${value}`, value);
      await sleep(5);
    }
  });
  await eventually("increments are in the bucket", () => increments() > 2);
  const runs = (): string[] => RunDirectory.list(place.runs).map(({ info }) => info.id);
  const [run = ""] = runs();
  expect(readdirSync(join(place.runs, run))).toContain("shard-0");
  killed.child.kill("SIGKILL");
  await killed.ended;

  const going = await archive();
  await going.printed(/the stream goes on where the archive ended/);
  // The spool of the killed process is removed.
  expect(runs()).toEqual([expect.not.stringContaining(run)]);
  await s3.server.goAway();
  // The command says so after 10 s.
  await going.printed(/s3:\/\/backups\/shop: requests fail and are repeated: .*ECONNREFUSED/);
  await s3.server.comeBack();
  const seen = increments();
  await eventually("increments are in the bucket again", () => increments() > seen + 2);
  isWriting = false;
  await writing;
  const keys = await withNode(shop, 0, (primary) => primary.dbsize());
  going.child.kill("SIGINT");
  const stopped = await going.ended;
  expect(stopped.status, stopped.output).toBe(0);
  expect(stopped.output).toMatch(/Highest RPO [\d.]+ s/);

  const list = await place.call(["backups", "s3://backups/shop", ...at()], environment());
  expect(list.status, list.output).toBe(0);
  expect(list.output).toMatch(/Archive of replication.*Can be restored: any time from \S+Z to \S+Z/s);
  // One gap at most: from the kill until the second call.
  expect(list.output.match(/Can be restored/g)?.length).toBeLessThanOrEqual(2);
  const before = s3.server.requests.length;
  const restored = await place.call(
    ["restore", "s3://backups/shop", ...at(), "--into", "local", "--check"],
    environment(),
  );
  expect(restored.status, restored.output).toBe(0);
  expect(restored.output).toMatch(
    /RESTORE replication: PASS — [\d,]+ keys of 1 shard: every key, value and TTL is the same/,
  );
  const rows = /restored-0 +([\d,]+) /.exec(restored.output)?.[1]?.replaceAll(",", "");
  expect(Number(rows)).toBeGreaterThanOrEqual(keys);
  // The command adds the proof, which the pod of a restore does not do.
  await onlyReadsAndHolds(
    s3.server.requests.slice(before).filter((each) => !each.startsWith("PUT /backups/shop/proofs/")),
    "shop",
  );
});

it("ends with one message when the bucket refuses, and says everything that is wrong before it starts", async () => {
  const bad = async (args: readonly string[], values = environment()): Promise<string> => {
    const { status, output } = await place.call(args, values);
    expect(status, output).toBe(2);
    return output;
  };
  const into = (location: string, ...rest: readonly string[]): string[] => [
    ...["archive", ...servers(), "--into", location],
    ...rest,
  ];
  expect(await bad(into("s3://B/../x", "--endpoint", "http://me:secret@host", "--encryption", "rot13"))).toMatch(
    /is not the name of a bucket[\s\S]*the prefix must[\s\S]*--endpoint has a user[\s\S]*--encryption is "rot13"/,
  );
  expect(await bad(into(place.output("sets"), "--region", "eu"))).toContain("--region applies to a bucket only");
  expect(await bad(into("s3://missing/shop", ...at()))).toContain("s3://missing/shop: the bucket does not exist");
  expect(await bad(["backups", "s3://backups/none", ...at()])).toContain("there is no archive");
  s3.server.refusal = "InvalidAccessKeyId";
  expect(await bad(["restore", "s3://backups/shop", ...at(), "--into", "mars"])).toMatch(
    /--into is "mars"[\s\S]*the server does not know the access key/,
  );
  s3.server.refusal = undefined;
  const running = await archive();
  await running.printed(/shard-0: base with [\d,]+ keys/);
  s3.server.refusal = "ExpiredToken";
  await callNode(shop, 0, "SET", "one", "more");
  const ended = await running.ended;
  expect(ended.status, ended.output).toBe(1);
  expect(ended.output).toContain("s3://backups/shop: the credentials have expired");
});
