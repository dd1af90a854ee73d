/** Keepers of pods, which act beside their servers, and readiness probes, which only ask: real servers that start by the pods' scripts. */
import { execFile } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Deployment } from "../../../valkey/deployment";
import { form } from "../../../valkey/formation/form";
import { parseInfo } from "../../../valkey/topology/replies";
import { PodScripts } from "../../support/valkey/pod-scripts";
import { eventually, never, realPrograms, Sandbox, withNode, ZONES } from "../../support/valkey/real";

const NAME = "kept";
const SHAPES = {
  replication: { primaries: 1, replicasPerPrimary: 2 },
  cluster: { primaries: 3, replicasPerPrimary: 1 },
} as const;
type Mode = keyof typeof SHAPES;
/** Commands that change nothing, with those that the client program sends by itself. */
const QUESTIONS = /^(auth|info|role|ping|command|config\|get|config\|resetstat|cluster\|(info|nodes|myid|shards))$/;
const uptime = (): number => Number.parseInt(readFileSync("/proc/uptime", "utf8"), 10);

let pods: PodScripts;
let sandbox: Sandbox;
let deployment: Deployment;

async function start(mode: Mode): Promise<void> {
  pods = new PodScripts(await realPrograms());
  sandbox = await Sandbox.open(mode === "cluster" ? pods.programs(0) : pods.replicationPrograms(0));
  const settings = { save: "", "repl-diskless-sync-delay": 0 };
  deployment = await sandbox.host.start(
    { name: NAME, mode, shape: SHAPES[mode], settings, zones: ZONES, zoneAddresses: mode === "replication" },
    never,
  );
  pods.find(deployment);
  for (const index of deployment.nodes.keys())
    writeFileSync(join(directoryOf(index), "servers"), `${deployment.nodes.length}\n`);
  await form(deployment, SHAPES[mode]);
}

const nameOf = (index: number): string => deployment.nodes[index]?.name ?? "";
const directoryOf = (index: number): string => sandbox.host.run.nodeDirectory(NAME, nameOf(index));
const fileOf = (index: number, name: string): string => join(directoryOf(index), name);
const call = (index: number, ...command: [string, ...string[]]): Promise<unknown> =>
  withNode(deployment, index, (connection) => connection.call(...command));
const replication = async (index: number, field: string): Promise<string> =>
  parseInfo(String(await call(index, "INFO", "replication"))).get(field) ?? "";
const isLinked = (index: number) => async (): Promise<boolean> =>
  (await replication(index, "master_link_status")) === "up";
const run = (script: string, index: number): Promise<void> =>
  pods.runWith(
    { PRIMARY_SERVICE: "service.pods", SERVICE: "service.pods", POD_IP: "127.0.0.1", DATA: directoryOf(index) },
    script,
    nameOf(index),
  );

/** Process of the keeper that notes its turns beside a server. */
const keeperOf = (index: number): number => Number(readFileSync(fileOf(index, "kept"), "utf8").trim().split(/ +/)[1]);
const isAlive = (pid: number): boolean =>
  existsSync(`/proc/${pid}/cmdline`) && readFileSync(`/proc/${pid}/cmdline`).length > 0;

/** Ends the keeper of a server, and what it has begun. */
async function endKeeper(index: number): Promise<void> {
  const keeper = keeperOf(index);
  process.kill(keeper, "SIGKILL");
  await eventually("the keeper has ended", () => Promise.resolve(!isAlive(keeper)));
  await sleep(3000);
}

/** Commands that servers have got from a probe of one pod. The keepers of all pods must have ended. */
async function askedBy(probe: () => Promise<unknown>): Promise<string[]> {
  const all = [...deployment.nodes.keys()];
  await Promise.all(all.map((index) => call(index, "CONFIG", "RESETSTAT")));
  await probe().catch(() => undefined);
  const found = await Promise.all(all.map(async (index) => String(await call(index, "INFO", "commandstats"))));
  return [...new Set(found.flatMap((text) => [...text.matchAll(/^cmdstat_([^:]+):/gm)].map(([, name = ""]) => name)))]
    .filter((name) => !/^(ping|replconf|psync|client\|.*|select|hello)$/.test(name))
    .sort();
}

const close = async (): Promise<void> => {
  await sandbox.close();
  pods.close();
};

describe("in replication", () => {
  beforeAll(() => start("replication"));
  afterAll(close);

  it("is one for each server, also when it was started twice, and acts while its server runs", async () => {
    await eventually("the keeper has noted itself", () => Promise.resolve(existsSync(fileOf(1, "kept"))));
    const first = keeperOf(1);
    const server = parseInfo(String(await call(1, "INFO", "server"))).get("process_id") ?? "";
    const second = promisify(execFile)("sh", [pods.script("keep.sh"), "replication", "1", server], {
      env: pods.environmentOf(nameOf(1), directoryOf(1)),
    });
    void second.catch(() => undefined);
    await eventually("the first one ends", () => Promise.resolve(!isAlive(first)));
    expect(isAlive(keeperOf(1))).toBe(true);
    expect(keeperOf(1)).not.toBe(first);
    await call(1, "REPLICAOF", "NO", "ONE");
    await eventually("it follows the Service of the primary again", isLinked(1));
  });

  it("takes few turns while nothing is new, and one soon when something is", async () => {
    await eventually("the replica is linked", isLinked(1));
    // Each turn of a replica's keeper asks the primary of the Service for its role.
    const turns = async (): Promise<number> =>
      Number(/^cmdstat_role:calls=(\d+)/m.exec(String(await call(0, "INFO", "commandstats")))?.[1] ?? 0);
    await sleep(6000);
    await call(0, "CONFIG", "RESETSTAT");
    await sleep(6000);
    // In 6 s each of the two replicas takes one turn at most.
    expect(await turns()).toBeLessThanOrEqual(3);
    await call(1, "REPLICAOF", "NO", "ONE");
    await eventually("it follows the Service of the primary again", isLinked(1), 8000);
  });

  it("moves no role once a stop has begun", async () => {
    writeFileSync(fileOf(1, "stopping"), `${uptime()}\n`);
    await call(1, "REPLICAOF", "NO", "ONE");
    await run("keep-replication.sh", 1);
    await sleep(5000);
    expect(await replication(1, "role")).toBe("master");
    // A stop that did not end the container.
    writeFileSync(fileOf(1, "stopping"), `${uptime() - 601}\n`);
    await eventually("it follows the Service of the primary again", isLinked(1));
    rmSync(fileOf(1, "stopping"));
  });

  it("is missed when it is silent, by a probe that says so", async () => {
    await run("ready-replication.sh", 1);
    await Promise.all([0, 1, 2].map(endKeeper));
    writeFileSync(fileOf(1, "kept"), `${String(uptime() - 61).padStart(10)} ${String(1).padStart(10)}\n`);
    await expect(run("ready-replication.sh", 1)).rejects.toThrow(
      /keeper of this server .* has ended no turn for 6\d s/,
    );
    rmSync(fileOf(1, "kept"));
    await run("ready-replication.sh", 1);
  });

  it("leads no replica elsewhere that is linked to the primary, which may be handing its role over", async () => {
    await eventually("the replica is linked", isLinked(1));
    const asked = await askedBy(() => run("keep-replication.sh", 1));
    expect(asked).toContain("role");
    expect(asked).not.toContain("replicaof");
  });

  it("leaves nothing to probes, which only ask, whatever they find", async () => {
    const only = async (probe: () => Promise<unknown>): Promise<void> => {
      expect((await askedBy(probe)).filter((name) => !QUESTIONS.test(name))).toEqual([]);
    };
    for (const index of [0, 1, 2]) await only(() => run("ready-replication.sh", index));
    // A second primary, the designated primary as a replica, a lent role, and a replica that does not reach its primary.
    await call(1, "REPLICAOF", "NO", "ONE");
    await only(() => run("ready-replication.sh", 1));
    const { host = "", port = 0 } = deployment.nodes[1]?.endpoint ?? {};
    await call(0, "REPLICAOF", host, String(port));
    writeFileSync(fileOf(0, "lent"), "");
    await only(() => run("ready-replication.sh", 0));
    await expect(run("ready-replication.sh", 0)).rejects.toThrow();
    await call(2, "REPLICAOF", host, "1");
    await only(() => run("ready-replication.sh", 2));
    expect(await replication(0, "role")).toBe("slave");
    expect(await replication(1, "role")).toBe("master");
    expect(await replication(2, "master_port")).toBe("1");
    // The test sees what the keeper sends.
    await call(0, "REPLICAOF", "NO", "ONE");
    expect(await askedBy(() => run("keep-replication.sh", 2))).toContain("replicaof");
  });

  it("ends with its server", async () => {
    await sandbox.host.signal(NAME, [nameOf(1)], "SIGKILL");
    const programs = pods.replicationPrograms(0);
    await sandbox.host.restart(NAME, [nameOf(1)], { newAddresses: false, programs }, never);
    await eventually("a new keeper has begun", () => Promise.resolve(existsSync(fileOf(1, "kept"))));
    const keeper = keeperOf(1);
    await sandbox.host.signal(NAME, [nameOf(1)], "SIGKILL");
    await eventually("its keeper has ended", () => Promise.resolve(!isAlive(keeper)));
  });
});

describe("in a cluster", () => {
  beforeAll(() => start("cluster"));
  afterAll(close);

  it("leaves nothing to probes, which only ask, of members and of a node that lost its data", async () => {
    const all = [...deployment.nodes.keys()];
    await Promise.all(all.map(endKeeper));
    for (const index of all)
      expect((await askedBy(() => run("ready-cluster.sh", index))).filter((name) => !QUESTIONS.test(name))).toEqual([]);
    const roles = await Promise.all(all.map((index) => replication(index, "role")));
    const replica = roles.indexOf("slave");
    await call(replica, "CLUSTER", "RESET", "HARD");
    const asked = await askedBy(() => run("ready-cluster.sh", replica));
    expect(asked.filter((name) => !QUESTIONS.test(name))).toEqual([]);
    await expect(run("ready-cluster.sh", replica)).rejects.toThrow();
  });
});
