/** A primary that has lost its replicas (`min-replicas-to-write`), with the keepers of pods: real servers and Sentinels. */
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { messageOf } from "../../../lib/errors";
import type { Programs } from "../../../platforms/host/programs/programs";
import type { Connection } from "../../../valkey/connection";
import type { Deployment } from "../../../valkey/deployment";
import { withNeededReplicas } from "../../../valkey/planning/derived-settings";
import { verify } from "../../../valkey/verification/verify";
import { PodScripts } from "../../support/valkey/pod-scripts";
import { hastenSentinels } from "../../support/valkey/sentinels";
import { callNode, eventually, never, realPrograms, replicationOf, Sandbox, ZONES } from "../../support/valkey/real";

const NAME = "needs";
const SHAPE = { primaries: 1, replicasPerPrimary: 2 };
const ALL = [0, 1, 2];
const WRITES = 20;
const DEFAULTS = withNeededReplicas({}, SHAPE.replicasPerPrimary);
const SENTINEL = { count: 3, quorum: 2, downAfterMs: 5000, failoverTimeoutMs: 10_000 };

let sandbox: Sandbox;
let pods: PodScripts;
let deployment: Deployment;
afterEach(async () => {
  await sandbox.close();
  pods.close();
});

async function start(settings: typeof DEFAULTS, sentinel?: typeof SENTINEL, programs?: Programs): Promise<void> {
  sandbox = await Sandbox.open(programs);
  const all = { save: "", "repl-diskless-sync-delay": 0, ...settings };
  deployment = await sandbox.host.start(
    { name: NAME, mode: "replication", shape: SHAPE, settings: all, zones: ZONES, zoneAddresses: true, sentinel },
    never,
  );
  if (sentinel !== undefined) await hastenSentinels(deployment);
  pods.find(deployment);
  await sandbox.host.form(deployment, SHAPE, {});
}

const nameOf = (index: number): string => deployment.nodes[index]?.name ?? "";
const directoryOf = (index: number): string => sandbox.host.run.nodeDirectory(NAME, nameOf(index));
const signal = (name: "SIGKILL" | "SIGSTOP" | "SIGCONT", ...indices: readonly number[]): Promise<void> =>
  sandbox.host.signal(NAME, indices.map(nameOf), name);

/** A turn of the keeper of each pod. */
async function keep(...indices: readonly number[]): Promise<void> {
  const variables = (index: number): Record<string, string> => ({
    ...{ DATA: directoryOf(index), CONFIG_DIRECTORY: directoryOf(index), PRIMARY_SERVICE: "service.pods" },
  });
  await Promise.all(indices.map((index) => pods.runWith(variables(index), "keep-replication.sh", nameOf(index))));
}

/** The value of each server. */
const needed = async (): Promise<unknown[]> =>
  Promise.all(
    ALL.map(
      async (index) => ((await callNode(deployment, index, "CONFIG", "GET", "min-replicas-to-write")) as unknown[])[1],
    ),
  );

async function connectTo(index: number): Promise<Connection> {
  const node = deployment.nodes[index];
  if (node === undefined) throw new Error(`there is no node ${index}`);
  return deployment.connect(node);
}

/** Writes keys, each a different one. @returns the acknowledged keys and the first word of each error */
async function write(connection: Connection, prefix: string): Promise<{ acknowledged: string[]; errors: string[] }> {
  const [acknowledged, errors]: [string[], string[]] = [[], []];
  for (let number = 0; number < WRITES; number++) {
    const key = `${prefix}:${number}`;
    await connection.set(key, "value").then(
      () => acknowledged.push(key),
      (error: unknown) => errors.push(messageOf(error).split(" ")[0] ?? ""),
    );
  }
  return { acknowledged, errors };
}

describe("a primary that was frozen while a replica took over, and goes on", () => {
  it.each([
    ["loses what clients write to it", 0, true],
    ["acknowledges nothing that would be lost", 1, false],
  ])("%s, with min-replicas-to-write %i", { timeout: 120_000 }, async (_what, least, loses) => {
    pods = new PodScripts(await realPrograms());
    await start({ ...DEFAULTS, "min-replicas-to-write": least }, SENTINEL);
    await keep(...ALL);
    expect(await needed()).toEqual([String(least), "0", "0"]);
    expect((await verify(deployment)).verdict.assertions.find(({ id }) => id === "same-settings")?.pass).toBe(true);
    const former = await connectTo(0);
    await signal("SIGSTOP", 0);
    const roles = async (): Promise<unknown[]> =>
      Promise.all(
        [1, 2].map((index) =>
          replicationOf(deployment, index).then(
            (replication) => replication.get("role"),
            () => undefined, // A server that becomes the primary ends connections.
          ),
        ),
      );
    await eventually("a replica is the primary", async () => (await roles()).includes("master"), 60_000);
    const successor = (await roles()).indexOf("master") + 1;
    // It has no replica yet, or has just got one.
    const connection = await connectTo(successor);
    expect((await write(connection, "successor")).errors).toEqual([]);
    // Until Sentinels tell the other replica, it would keep up with the former primary.
    await eventually(
      "the other replica follows it",
      async () => (await replicationOf(deployment, successor)).get("connected_slaves") === "1",
    );
    // Otherwise Sentinels may make the former primary a replica before the first write.
    const watchers = (deployment.sentinels?.nodes ?? []).map(({ name }) => name);
    await sandbox.host.signal(NAME, watchers, "SIGSTOP");
    await signal("SIGCONT", 0);
    // A server counts its replicas once a second.
    await sleep(1500);
    const { acknowledged, errors } = await write(former, "former");
    expect(new Set(errors)).toEqual(new Set(loses ? [] : ["NOREPLICAS"]));
    await sandbox.host.signal(NAME, watchers, "SIGCONT");
    await eventually("it follows", async () => (await replicationOf(deployment, 0)).get("role") === "slave", 60_000);
    const kept = acknowledged.length === 0 ? 0 : Number(await connection.call("EXISTS", ...acknowledged));
    expect(acknowledged.length - kept).toBe(loses ? WRITES : 0);
    former.disconnect();
    connection.disconnect();
  });
});

describe("a primary with two replicas", () => {
  it(
    "takes writes from its start on, and refuses them only while none of its replicas keeps up",
    { timeout: 120_000 },
    async () => {
      pods = new PodScripts(await realPrograms());
      await start(DEFAULTS, undefined, pods.replicationPrograms(100));
      expect(await needed()).toEqual(["0", "0", "0"]);
      await keep(...ALL);
      expect(await needed()).toEqual(["1", "0", "0"]);
      const primary = await connectTo(0);
      const isRefused = async (): Promise<boolean> => (await write(primary, "key")).errors.includes("NOREPLICAS");
      await signal("SIGSTOP", 1);
      const until = performance.now() + 5000;
      while (performance.now() < until) expect(await isRefused()).toBe(false);
      await signal("SIGSTOP", 2);
      await eventually("it refuses writes", isRefused);
      await keep(0);
      expect(await isRefused()).toBe(true);
      await signal("SIGCONT", 1);
      await eventually("it takes writes again", async () => !(await isRefused()));
      await signal("SIGCONT", 2);
      primary.disconnect();
    },
  );

  it(
    "does not take the value of a file that is older than its settings, and takes one that is newer",
    { timeout: 120_000 },
    async () => {
      pods = new PodScripts(await realPrograms());
      await start(DEFAULTS, undefined, pods.replicationPrograms(100));
      // As `up` does when replicas leave.
      await callNode(deployment, 0, "CONFIG", "SET", "min-replicas-max-lag", "10");
      await keep(0);
      expect(await needed()).toEqual(["0", "0", "0"]);
      await callNode(deployment, 0, "CONFIG", "SET", "min-replicas-max-lag", String(DEFAULTS["min-replicas-max-lag"]));
      await keep(0);
      expect(await needed()).toEqual(["1", "0", "0"]);
      appendFileSync(join(directoryOf(0), "valkey.conf"), "min-replicas-to-write 0\n");
      await keep(0);
      expect(await needed()).toEqual(["0", "0", "0"]);
    },
  );
});
