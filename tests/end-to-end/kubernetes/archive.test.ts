/** The archive's pod: it writes a real deployment to a real S3 server, is deleted meanwhile, and the data come back. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { restore } from "../../../cli/commands/restore";
import { BucketStore } from "../../../backup/archive/bucket/bucket-store";
import { parseBucket } from "../../../backup/archive/bucket/location";
import { readCatalog } from "../../../backup/archive/catalog";
import { readSet } from "../../../backup/archive/sets";
import { CommandParser } from "../../../backup/replication-stream/command-parser";
import { captured } from "../../support/captured";
import { ArchivedPods, openToPods } from "../../support/kubernetes/archived-pods";
import { DeployedPods } from "../../support/kubernetes/deployed-pods";
import { pulumiWithState, verifiedReference } from "../../support/pulumi/exported-state";
import { KUBECONFIG, WHERE } from "../../support/kubernetes/throw-away";
import { never } from "../../support/valkey/real";
import { BUCKET, CREDENTIALS, S3Server } from "../../support/valkey/s3-server";

/** Time after which a write must be in the bucket, milliseconds. */
const RPO_MS = 2_000;

describe.skipIf(KUBECONFIG === undefined)(`the archive of a deployment${WHERE}`, { timeout: 300_000 }, () => {
  const directory = mkdtempSync(join(tmpdir(), "archive-"));
  let server: S3Server;
  let forPods: Awaited<ReturnType<typeof openToPods>>;
  let pods: DeployedPods;
  let archived: ArchivedPods;
  const acknowledged: number[] = [];
  let written = "";

  beforeAll(async () => {
    Object.assign(process.env, CREDENTIALS);
    server = await S3Server.start(join(directory, "bucket"));
    forPods = await openToPods(server.endpoint);
    const shape = { primaries: 1, replicasPerPrimary: 2 };
    const settings = { "repl-diskless-sync-delay": 0 };
    pods = await DeployedPods.open("shop", { mode: "replication", shape }, { settings, ephemeral: true });
    archived = await ArchivedPods.open(pods, {
      ...{ bucket: BUCKET, endpoint: forPods.url, drill: "weekly" },
      credentials: { accessKeyId: CREDENTIALS.AWS_ACCESS_KEY_ID, secretAccessKey: CREDENTIALS.AWS_SECRET_ACCESS_KEY },
    });
  });
  afterAll(async () => {
    await pods.close();
    forPods.close();
    await server.close();
    rmSync(directory, { recursive: true });
  }, 200_000);

  async function write(milliseconds: number): Promise<void> {
    const until = Date.now() + milliseconds;
    await pods.withNodes(async (at) => {
      const [primary] = await pods.primaries();
      const connection = at(primary);
      while (Date.now() < until) {
        const value = acknowledged.length;
        await connection.rpush("numbers", value);
        acknowledged.push(value);
        await sleep(5);
      }
    });
  }

  it("has every write a moment later, also after its pod was deleted, and tells how old it is", async () => {
    await archived.untilReady(90);
    await archived.untilYoungerThan(RPO_MS / 1000, 60);
    const writing = write(25_000);
    await sleep(3_000);
    const former = await archived.deletePod();
    await archived.untilReady(60, former);
    await archived.untilYoungerThan(RPO_MS / 1000, 30);
    // The age above may have been that of the former pod, which still ends.
    await pods.here.until(90, async () =>
      (await archived.ready()).some(({ metadata }) => metadata?.name === former)
        ? "the former pod still runs"
        : undefined,
    );
    await archived.untilYoungerThan(RPO_MS / 1000, 30);
    await writing;
    const metrics = await archived.metrics();
    // The stream went on: a new base would be a second set.
    expect(metrics).toContain('valkey_archive_sets{deployment="shop"} 1');
    expect(metrics).toMatch(/valkey_archive_spooled_bytes\{deployment="shop"\} \d/);
    await sleep(RPO_MS);
    written = new Date().toISOString();
    await sleep(RPO_MS);
  });

  it("is restored by a drill that was started by hand, and its next pod has the time of the proof", async () => {
    const before = Date.now();
    await archived.startDrill("drill-now");
    await pods.here.until(90, async () =>
      (await archived.drillMessages("drill-now")).length > 0 ? undefined : "the drill has not ended",
    );
    expect(await archived.drillMessages("drill-now")).toEqual([
      expect.stringMatching(/^PASS — 1 key of 1 shard as of 20\S+: all equal to the archive$/) as string,
    ]);
    const former = await archived.deletePod();
    await archived.untilReady(60, former);
    const proven = /^valkey_archive_proven_timestamp_seconds\{deployment="shop"\} (\S+)/m;
    let seconds = 0;
    await pods.here.until(30, async () => {
      seconds = Number(proven.exec(await archived.metrics())?.[1] ?? 0);
      return seconds > 0 ? undefined : "there is no proof";
    });
    expect(seconds * 1000).toBeGreaterThan(before);
    expect(await archived.metrics()).toContain('valkey_archive_drill_interval_seconds{deployment="shop"} 604800');
  });

  it("restores on this machine with a PASS, and lacks no acknowledged write", async () => {
    const location = `s3://${BUCKET}/${pods.target.namespace}/shop`;
    const options = { endpoint: server.endpoint, into: "local", check: true };
    const { status, output } = await captured({}, () => restore(location, options, never));
    expect(output).toContain("PASS");
    expect(status).toBe(0);
    const place = await BucketStore.open(parseBucket(location, { endpoint: server.endpoint }, []), never);
    const [period] = (await readCatalog(place)).periods;
    const [shard] = period?.shards ?? [];
    const numbers: number[] = [];
    for (const { set } of shard?.sets ?? []) {
      const { increments } = await readSet(shard?.store ?? place, set.name);
      const parser = new CommandParser();
      for (const { size, file } of increments)
        if (size > 0 && file !== undefined)
          for await (const piece of shard?.store.read(`${set.name}/${file}`) ?? [])
            for (const { name, words } of parser.push(piece)) if (name === "RPUSH") numbers.push(Number(words[2]));
    }
    // Each write once and in order. The archive ended after the last of them was older than the RPO.
    expect(acknowledged.length).toBeGreaterThan(500);
    expect(numbers).toEqual(acknowledged);
  });

  it("brings a deleted key back into the pods, and keeps it the next time", async () => {
    const stack = pulumiWithState(directory, { resources: [verifiedReference(pods.target, pods.password)] });
    const [primary] = await pods.primaries();
    await pods.withNodes(async (at) => at(primary).del("numbers"));
    const location = `s3://${BUCKET}/${pods.target.namespace}/shop`;
    const options = { endpoint: server.endpoint, replayInto: true, stack: "dev", at: written, keys: ["numbers"] };
    const first = await captured(stack, () => restore(location, options, never));
    expect(first.output).toContain("REPLAY into shop: PASS — 1 copied, 0 kept, 0 expired, 0 differing.");
    expect(first.status).toBe(0);
    const found = await pods.withNodes(async (at) => at(primary).lrange("numbers", 0, -1));
    expect(found.map(Number)).toEqual(acknowledged);
    const second = await captured(stack, () => restore(location, options, never));
    expect(second.output).toContain("PASS — 0 copied, 1 kept");
  });
});
