/** Things that `measure` makes on servers of others: they are gone afterwards, whatever happened meanwhile. */
import { execFileSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Deployment } from "../../../valkey/deployment";
import { MARK } from "../../../benchmarks/measuring/traces";
import type { Ended } from "../../support/captured";
import { usePlace, useSandbox } from "../../support/valkey/hooks";
import { callNode, eventually, nodeOptions, passwordOf, withNode } from "../../support/valkey/real";

const sandbox = useSandbox();
const place = usePlace();

const measure = (deployment: Deployment, ...more: string[]): string[] => [
  ...["measure", "--mode", deployment.mode, ...nodeOptions(deployment), "--without", "zones", "--repeats", "1"],
  ...["--replicas", String(deployment.shape.replicasPerPrimary)],
  ...["--output", place.output(), "--warmup", "0", "--clients", "12", "--threads", "1", ...more],
];
const OPEN_LOOP = "--load-generator open-loop --keyspace-len 1000 --rate 200 --duration 4".split(" ");
const CLOSED = "--tests get --keyspace-len 16384 --duration 4".split(" ");

const everyNode = <T>(deployment: Deployment, ask: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(deployment.nodes.map((_, index) => ask(index)));
const keysOn = (deployment: Deployment): Promise<number[]> =>
  everyNode(deployment, (index) => withNode(deployment, index, (connection) => connection.dbsize()));
const total = async (deployment: Deployment): Promise<number> => (await keysOn(deployment)).reduce((a, b) => a + b, 0);
const usersOn = (deployment: Deployment): Promise<unknown[]> =>
  everyNode(deployment, (index) => callNode(deployment, index, "ACL", "USERS"));

async function expectNothingLeft(deployment: Deployment): Promise<void> {
  await eventually("the replicas have followed", async () => (await total(deployment)) === 0, 10_000);
  for (const users of await usersOn(deployment)) expect(users).toEqual(["default"]);
}

function typeCommands({ access }: Deployment, lines: readonly string[]): void {
  const path = `${dirname(sandbox.host.programs.cli)}:${process.env["PATH"] ?? ""}`;
  const commands = lines.filter((line) => line.startsWith("valkey-cli")).join("\n");
  execFileSync("sh", ["-ec", commands], { env: { PATH: path, VALKEYCLI_AUTH: access.password } });
}

/** Runs a measurement of a deployment, and calls `meanwhile` when its keys are in place and the load has begun. */
async function measured(
  deployment: Deployment,
  args: readonly string[],
  meanwhile: () => Promise<unknown>,
): Promise<Ended> {
  const ended = place.call(measure(deployment, ...args), passwordOf(deployment));
  let early: Ended | undefined;
  void ended.then((each) => (early = each));
  const isLoaded = async (): Promise<boolean> => {
    const calls = await everyNode(deployment, async (index) =>
      Number(/cmdstat_get:calls=(\d+)/.exec(String(await callNode(deployment, index, "INFO", "commandstats")))?.[1]),
    );
    if (early !== undefined) throw new Error(early.output);
    return calls.some((count) => count > 50);
  };
  await eventually("the load has begun", isLoaded, 60_000);
  await meanwhile();
  return ended;
}

const pidOf = async (deployment: Deployment, index: number): Promise<number> =>
  Number(/process_id:(\d+)/.exec(String(await callNode(deployment, index, "INFO", "server")))?.[1]);

describe("nothing stays on the servers", () => {
  it("when a client kills all connections", async () => {
    const deployment = await sandbox.formedReplication("killed", 0);
    await measured(deployment, OPEN_LOOP, () => callNode(deployment, 0, "CLIENT", "KILL", "TYPE", "normal"));
    await expectNothingLeft(deployment);
  });

  it("when one primary of a cluster kills all connections", async () => {
    const deployment = await sandbox.formedCluster("killed-cluster", 3, 1);
    const { status } = await measured(deployment, CLOSED, () =>
      callNode(deployment, 0, "CLIENT", "KILL", "TYPE", "normal"),
    );
    expect(status).toBe(1);
    await expectNothingLeft(deployment);
  });

  it("when a replica takes over", async () => {
    const deployment = await sandbox.formedCluster("failover", 3, 1);
    const roles = await everyNode(deployment, (index) => callNode(deployment, index, "ROLE"));
    const replica = roles.findIndex((role) => Array.isArray(role) && role[0] === "slave");
    await measured(deployment, CLOSED, () => callNode(deployment, replica, "CLUSTER", "FAILOVER"));
    await expectNothingLeft(deployment);
  });

  it("when the primary has become a read-only replica", async () => {
    const deployment = await sandbox.formedReplication("handed-over", 1);
    const [primary, replica] = deployment.nodes.map(({ endpoint }) => endpoint.port);
    await measured(deployment, OPEN_LOOP, async () => {
      await callNode(deployment, 1, "REPLICAOF", "NO", "ONE");
      await callNode(deployment, 0, "REPLICAOF", "127.0.0.1", replica ?? primary ?? 0);
    });
    await expectNothingLeft(deployment);
    expect(await callNode(deployment, 0, "ROLE")).toEqual(expect.arrayContaining(["slave"]));
  });

  it("when the results cannot be written", async () => {
    const deployment = await sandbox.formedReplication("unwritten", 0);
    const { status, output } = await measured(deployment, OPEN_LOOP, () => {
      rmSync(place.output(), { recursive: true });
      return Promise.resolve();
    });
    expect(status).toBe(1);
    expect(output).toMatch(/results\.json cannot be written/);
    await expectNothingLeft(deployment);
  });

  it("when slots move", async () => {
    const deployment = await sandbox.formedCluster("moved", 3, 0);
    const roles = await everyNode(deployment, (index) => callNode(deployment, index, "CLUSTER", "MYID"));
    await measured(deployment, CLOSED, () =>
      callNode(deployment, 0, "CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", 0, 2000, "NODE", String(roles[1])),
    );
    await expectNothingLeft(deployment);
  });

  it("when slots move to a node that nobody named", async () => {
    const four = await sandbox.formedCluster("grown", 4, 0);
    const ids = await everyNode(four, (index) => callNode(four, index, "CLUSTER", "MYID"));
    const slotsOf = async (index: number): Promise<string> =>
      /myself.*connected ?(.*)/.exec(String(await callNode(four, index, "CLUSTER", "NODES")))?.[1] ?? "";
    const move = async (from: number, to: number, first: number, last: number): Promise<void> => {
      const before = await slotsOf(to);
      await callNode(four, from, "CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", first, last, "NODE", String(ids[to]));
      await eventually("the slots have moved", async () => (await slotsOf(to)) !== before);
    };
    await move(3, 0, 12_288, 16_383);
    // A node that was forgotten can come back at once only with another ID.
    await callNode(four, 3, "CLUSTER", "RESET", "HARD");
    const deployment = { ...four, shape: { ...four.shape, primaries: 3 }, nodes: four.nodes.slice(0, 3) };
    await everyNode(deployment, (index) => callNode(deployment, index, "CLUSTER", "FORGET", String(ids[3])));
    ids[3] = await callNode(four, 3, "CLUSTER", "MYID");
    await measured(deployment, CLOSED, async () => {
      const [first] = deployment.nodes;
      await callNode(four, 3, "CLUSTER", "MEET", "127.0.0.1", first?.endpoint.port ?? 0, first?.busPort ?? 0);
      await eventually("they know each other", async () =>
        String(await callNode(four, 0, "CLUSTER", "NODES")).includes(String(ids[3])),
      );
      await move(0, 3, 0, 2000);
    });
    await eventually("no node has keys", async () => (await total(four)) === 0);
  });

  it("when the memory of the servers is full", async () => {
    const deployment = await sandbox.formedCluster("full", 3, 0);
    await measured(deployment, CLOSED, () =>
      everyNode(deployment, (index) => callNode(deployment, index, "CONFIG", "SET", "maxmemory", "1")),
    );
    await expectNothingLeft(deployment);
  });

  it("not even the library of the tests of functions", async () => {
    const deployment = await sandbox.formedReplication("functions", 0);
    const args = "--tests function_load --requests 1000 --keyspace-len 1000".split(" ");
    expect((await place.call(measure(deployment, ...args), passwordOf(deployment))).status).toBe(0);
    expect(await callNode(deployment, 0, "FUNCTION", "LIST")).toEqual([]);
    await expectNothingLeft(deployment);
  });
});

describe("what cannot be removed", () => {
  it("is printed as commands, which remove it", async () => {
    // A node that replies is cleaned even if another does not, unless the cluster then refuses commands.
    const deployment = await sandbox.formedCluster("frozen", 3, 0, { "cluster-require-full-coverage": false });
    const pid = await pidOf(deployment, 0);
    const theirs = ["key:{06S}:000000000001", "key:{06S}:x", "key"];
    for (const key of theirs)
      await Promise.any(deployment.nodes.map((_, index) => callNode(deployment, index, "SET", key, "theirs")));
    const load = [...OPEN_LOOP, "--keyspace-len", "16384"];
    const { status, output } = await measured(deployment, load, () => {
      process.kill(pid, "SIGSTOP");
      return Promise.resolve();
    }).finally(() => process.kill(pid, "SIGCONT"));
    expect(status, output).toBe(1);
    const commands = output.split("\n").filter((line) => line.startsWith("valkey-cli"));
    expect(output).toContain("cluster: a measurement left its user and keys");
    expect(commands.map((line) => /DELUSER|--scan|UNLINK/.exec(line)?.[0])).toEqual(["DELUSER", "--scan", "UNLINK"]);
    expect(output).not.toContain(deployment.access.password);
    // The others are clean, although one node is not.
    expect((await usersOn(deployment)).slice(1)).toEqual([["default"], ["default"]]);
    expect((await keysOn(deployment))[0]).toBeGreaterThan(5000);
    expect(await total(deployment)).toBeLessThan(6000);
    typeCommands(deployment, commands);
    expect(await total(deployment)).toBe(theirs.length);
    expect(await usersOn(deployment)).toEqual([["default"], ["default"], ["default"]]);
  }, 180_000);

  it("is printed as commands even at the second Ctrl-C, which ends the command at once", async () => {
    const deployment = await sandbox.formedReplication("twice-stopped", 1);
    const pid = await pidOf(deployment, 0);
    const command = await place.start(measure(deployment, ...CLOSED), passwordOf(deployment));
    await eventually("keys are in place", async () => ((await keysOn(deployment))[0] ?? 0) >= 16_384, 60_000);
    process.kill(pid, "SIGSTOP");
    try {
      command.child.kill("SIGINT");
      await command.printed(/removing users and keys, tried again/);
      command.child.kill("SIGINT");
      const { status, output } = await command.ended;
      expect(status, output).toBe(130);
      expect(output).not.toContain(deployment.access.password);
    } finally {
      process.kill(pid, "SIGCONT");
    }
    const [, ...lines] = command.output.slice(command.output.indexOf("stopped at once")).split("\n");
    expect(lines[0]).toMatch(/^# replication: a measurement left its user and keys\. To remove them/);
    typeCommands(deployment, lines);
    await expectNothingLeft(deployment);
  }, 120_000);

  it("is a user that the measurement may create and may not delete", async () => {
    const deployment = await sandbox.formedReplication("kept-user", 0);
    const rules = ["on", ">op", "~*", "&*", "+@all", "-acl|deluser"];
    await callNode(deployment, 0, "ACL", "SETUSER", "op", ...rules);
    const args = "--tests get --requests 1000 --keyspace-len 1000 --user op".split(" ");
    const { status, output } = await place.call(measure(deployment, ...args), { VALKEY_PASSWORD: "op" });
    expect(status, output).toBe(1);
    expect(output).toContain("replication: a measurement left its user");
    const [, user] = /^valkey-cli .* --user op ACL DELUSER (\S+)$/m.exec(output) ?? [];
    expect(await callNode(deployment, 0, "ACL", "DELUSER", user ?? "")).toBe(1);
    expect(await callNode(deployment, 0, "ACL", "USERS")).toEqual(["default", "op"]);
  });

  it("makes no other run start on the same servers", async () => {
    const deployment = await sandbox.formedReplication("twice", 0);
    const username = "valkey-measured-00000000-17-0badcafe-abcdef";
    await callNode(deployment, 0, "ACL", "SETUSER", username);
    const first = await place.start(measure(deployment, ...CLOSED), passwordOf(deployment));
    await eventually(
      "it has marked its keys",
      async () => (await callNode(deployment, 0, "EXISTS", MARK)) === 1,
      60_000,
    );
    const second = await place.call(
      [...measure(deployment, ...CLOSED), "--overwrite", "--output", place.output("second")],
      passwordOf(deployment),
    );
    expect(second.status, second.output).toBe(2);
    expect(second.output).toMatch(/another measurement, which began at \S+, measures these servers now/);
    expect((await first.ended).status, first.output).toBe(0);
    // The user of another machine can belong to a measurement that runs, so it is only named.
    for (const { output } of [first, second]) expect(output).toContain(`ACL DELUSER ${username}`);
    expect(await callNode(deployment, 0, "ACL", "DELUSER", username)).toBe(1);
    await expectNothingLeft(deployment);
  });

  it("is found by the next run when a run was killed, and removed with --overwrite", async () => {
    const deployment = await sandbox.formedReplication("orphans", 1);
    const command = await place.start(measure(deployment, ...CLOSED), passwordOf(deployment));
    await eventually("keys are in place", async () => ((await keysOn(deployment))[0] ?? 0) >= 16_384, 60_000);
    command.child.kill("SIGKILL");
    await command.ended;
    const again = (...more: string[]): Promise<Ended> =>
      place.call(
        [
          ...measure(deployment, "--tests", "incr", "--requests", "1000", "--keyspace-len", "16384", ...more),
          ...["--output", place.output(more.join(""))],
        ],
        passwordOf(deployment),
      );
    const refused = await again();
    expect(refused.status).toBe(2);
    expect(refused.output).toMatch(/a measurement, which began at \S+, left keys on these servers: measure again with/);
    expect(refused.output).toMatch(/valkey-cli -h 127\.0\.0\.1 .* --scan --pattern 'key\*'/);
    expect(refused.output.match(/ACL DELUSER valkey-measured-\S+$/gm)).toHaveLength(2);
    expect(await callNode(deployment, 0, "EXISTS", MARK)).toBe(1);
    const removed = await again("--overwrite");
    expect(removed.status, removed.output).toBe(0);
    await expectNothingLeft(deployment);
  });
});

it("a deployment that no longer passes at the end makes the status 1, with results and the last verdict", async () => {
  const deployment = await sandbox.formedReplication("changed", 1);
  const { status, output } = await measured(deployment, CLOSED, () =>
    callNode(deployment, 1, "CONFIG", "SET", "replica-read-only", "no"),
  );
  expect(output).toMatch(/✔ Measured [\s\S]*✗ .*\[read-only\][\s\S]*measurements were made before[\s\S]*Side by side/);
  expect(output).toMatch(/VERIFY replication: FAIL[^\n]*(\n[^\n]+)*\nReport: /);
  expect(status, output).toBe(1);
  expect(JSON.parse(readFileSync(join(place.output(), "results.json"), "utf8"))).toMatchObject({
    complete: true,
    topologies: [{ verdict: { pass: false } }],
  });
  await expectNothingLeft(deployment);
});
