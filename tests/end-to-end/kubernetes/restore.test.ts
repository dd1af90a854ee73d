/** A new deployment of pods that begins with archived data, in a different shape. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RestoreFromArgs } from "../../../components/kubernetes/backup-arguments";
import { handler as archiveCheck } from "../../../operations/handlers/restoring/archive-check";
import type { RestoreInputs } from "../../../operations/handlers/restoring/restore";
import { deleteRestoreRecord } from "../../../platforms/kubernetes/pods/restore-record";
import { openKubernetesClient } from "../../../platforms/deployment-reference";
import { BucketStore } from "../../../backup/archive/bucket/bucket-store";
import { parseBucket } from "../../../backup/archive/bucket/location";
import { openToPods } from "../../support/kubernetes/archived-pods";
import { DeployedPods } from "../../support/kubernetes/deployed-pods";
import { fillPods, problemsBefore, restoreResources } from "../../support/kubernetes/restored-pods";
import { KUBECONFIG, WHERE } from "../../support/kubernetes/throw-away";
import { HANDLER_CONTEXT } from "../../support/pulumi/handler-context";
import { archiveInto } from "../../support/valkey/archived-deployment";
import { writeDataSet } from "../../support/valkey/data-set";
import { eventually, never, Sandbox, withNode } from "../../support/valkey/real";
import { BUCKET, CREDENTIALS, S3Server } from "../../support/valkey/s3-server";

const CREDENTIAL_KEYS = {
  accessKeyId: CREDENTIALS.AWS_ACCESS_KEY_ID,
  secretAccessKey: CREDENTIALS.AWS_SECRET_ACCESS_KEY,
};
const STRINGS = 20_000;

describe.skipIf(KUBECONFIG === undefined)(`restoreFrom${WHERE}`, { timeout: 300_000 }, () => {
  const directory = mkdtempSync(join(tmpdir(), "restore-"));
  let server: S3Server;
  let forPods: Awaited<ReturnType<typeof openToPods>>;
  let sandbox: Sandbox;
  let pods: DeployedPods;
  let keys = 0;

  beforeAll(async () => {
    Object.assign(process.env, CREDENTIALS);
    server = await S3Server.start(join(directory, "bucket"));
    forPods = await openToPods(server.endpoint);
    sandbox = await Sandbox.open();
    const shop = await sandbox.replication("shop", 0, { "repl-diskless-sync-delay": 0 });
    await withNode(shop, 0, async (primary) => {
      await writeDataSet(primary, 7, 200);
      await primary.call("DEBUG", ["POPULATE", STRINGS, "string", 100]).catch(async () => {
        for (let from = 0; from < STRINGS; from += 1000)
          await primary.mset(
            Array.from({ length: 1000 }, (_, each) => [`string:${from + each}`, "x".repeat(100)]).flat(),
          );
      });
      for (const line of (await primary.info("keyspace")).matchAll(/keys=(\d+)/g)) keys += Number(line[1]);
    });
    const options = { endpoint: server.endpoint };
    const place = await BucketStore.open(parseBucket(`s3://${BUCKET}/shop`, options, []), never);
    await archiveInto(place, shop, join(directory, "spool"));
    const shape = { primaries: 3, replicasPerPrimary: 1 };
    const settings = { "repl-diskless-sync-delay": 0, "cluster-databases": 16 };
    pods = await DeployedPods.open("orders", { mode: "cluster", shape }, { settings, ephemeral: true });
  }, 300_000);
  afterAll(async () => {
    await pods.close();
    forPods.close();
    await sandbox.close();
    await server.close();
    rmSync(directory, { recursive: true });
  }, 200_000);

  const archived = (prefix: string, bucket = BUCKET): RestoreFromArgs => ({
    ...{ bucket, prefix, endpoint: forPods.url, credentials: CREDENTIAL_KEYS },
  });
  const inputs = async (prefix: string): Promise<RestoreInputs> =>
    (await restoreResources(pods, archived(prefix))).fill;

  it.each([
    ["a bucket that does not exist", () => archived("shop", "nowhere"), /the bucket does not exist/],
    ["a time before the archive", () => ({ ...archived("shop"), at: "2020-01-01T00:00:00Z" }), /2020-01-01/],
    ["no problem", () => archived("shop"), undefined],
  ] as const)("is checked before there are servers, and finds %s", async (_found, restoreFrom, refusal) => {
    const { check } = await restoreResources(pods, restoreFrom(), "later");
    const said: string[] = [];
    const checked = archiveCheck.create(check, { ...HANDLER_CONTEXT, report: (line) => said.push(line) });
    if (refusal === undefined) {
      await checked;
      expect(said.at(-1)).toMatch(/^later: .* can be restored: 1 shard as of \d{4}-/);
    } else await expect(checked).rejects.toThrow(refusal);
  });

  it("refuses an archive that does not exist, with one message, and writes nothing", async () => {
    await expect(fillPods(await inputs("nothing"))).rejects.toThrow(/there is no archive/);
    expect(await pods.withNodes((_, all) => all[0]?.dbsize() ?? Promise.resolve(1))).toBe(0);
  });

  it.each(["Job", "pod"] as const)("ends with the reason when somebody deletes its %s", async (object) => {
    const { here } = pods;
    const { namespace } = here;
    const present = () => here.pods({ "app.kubernetes.io/name": "valkey-restore" });
    // Kubernetes removes the pods of earlier tests some seconds later.
    const earlier = new Set((await present()).map(({ metadata }) => metadata?.name));
    const filling = fillPods(await inputs("shop"));
    const deleted = here.until(60, async () => {
      const pod = (await present()).find(({ metadata }) => !earlier.has(metadata?.name));
      const name = pod?.metadata?.name;
      if (name === undefined) return "there is no pod yet";
      const job = pod?.metadata?.labels?.["batch.kubernetes.io/job-name"] ?? "";
      if (object === "pod") await here.core.deleteNamespacedPod({ namespace, name, gracePeriodSeconds: 0 });
      else await here.batch.deleteNamespacedJob({ namespace, name: job, propagationPolicy: "Background" });
      return undefined;
    });
    await Promise.all([
      expect(filling).rejects.toThrow(/was (deleted before it ended|stopped before the end)/),
      deleted,
    ]);
  });

  it("continues after an interruption, and has every key of one shard in three", async () => {
    const wanted = await inputs("shop");
    const stop = new AbortController();
    const interrupted = fillPods(wanted, { ...HANDLER_CONTEXT, signal: stop.signal });
    await Promise.all([
      expect(interrupted).rejects.toThrow("enough"),
      eventually(
        "the first keys are there",
        async () => {
          const counts = await pods.withNodes((_, all) => Promise.all(all.map((each) => each.dbsize())));
          return counts.some((count) => count > 0);
        },
        120_000,
      ).then(() => {
        stop.abort(new Error("enough"));
      }),
    ]);
    expect(await problemsBefore(wanted)).toEqual([]);
    const { fill: other } = await restoreResources(pods, { ...archived("shop"), keys: ["string:*"] });
    expect(await problemsBefore(other)).toMatchObject([
      { message: expect.stringMatching(/an interrupted restore of .* has written a part of the keys/) as string },
    ]);
    // The settings of the pods are those of the last call.
    const result = await fillPods(await inputs("shop"));
    expect(result).toMatchObject({ shards: [{ name: "shard-0" }], keys, expired: 0 });
  });

  it("restores nothing a second time, and never into a deployment with data", async () => {
    const wanted = await inputs("shop");
    await pods.withNodes(async (at) => {
      const primaries = await pods.primaries();
      await Promise.all(primaries.map((name) => at(name).flushall()));
    });
    expect(await problemsBefore(wanted)).toEqual([]);
    expect(await fillPods(wanted)).toMatchObject({ keys });
    expect(await pods.withNodes((_, all) => all[0]?.dbsize() ?? Promise.resolve(1))).toBe(0);
    await deleteRestoreRecord(await openKubernetesClient(pods.target), pods.target);
    await pods.withNodes(async (at) => {
      for (const name of await pods.primaries()) {
        await at(name).call("FUNCTION", ["FLUSH"]);
        // Only the primary of the key's slot takes it.
        await at(name)
          .set("own", "data")
          .catch(() => undefined);
      }
    });
    const reason = "orders has data already: 1 key on one server";
    await expect(fillPods(wanted)).rejects.toThrow(reason);
    expect(await problemsBefore(wanted)).toMatchObject([{ message: expect.stringContaining(reason) as string }]);
  });
});
