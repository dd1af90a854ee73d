/** `watch` beside real servers: what it prints, the metrics that it serves, and how it ends. */
import { beforeAll, describe, expect, it } from "vitest";
import type { Look } from "../../../operations/inspection/look";
import { LOOKS_PATH } from "../../../operations/inspection/endpoint";
import { METRICS_PATH } from "../../../lib/pod/text-server";
import { findFreePorts } from "../../../platforms/host/ports";
import type { Deployment } from "../../../valkey/deployment";
import type { Command } from "../../support/command";
import { useSandbox, usePlace } from "../../support/valkey/hooks";
import { verify } from "../../../valkey/verification/verify";
import { callNode, eventually, serverOptions, passwordOf } from "../../support/valkey/real";

const sandbox = useSandbox();
let orders: Deployment;
const place = usePlace();
beforeAll(async () => {
  orders = await sandbox.formedReplication("orders", 1);
});

const start = (...options: readonly string[]): Promise<Command> =>
  place.start(["watch", ...serverOptions(orders), "--every", "1", ...options], passwordOf(orders));
const freePort = async (): Promise<number> => (await findFreePorts(1))[0] ?? 0;

describe("watch", () => {
  it("prints what changes, serves metrics and the last look, and ends with the status of the last look", async () => {
    const port = await freePort();
    const command = await start("--metrics", String(port));
    await command.printed(/replication: PASS — all \d+ assertions hold\n/);
    const read = async (path: string): Promise<string> => (await fetch(`http://127.0.0.1:${port}${path}`)).text();
    expect(await read(METRICS_PATH)).toContain('valkey_verified{deployment="replication"} 1');
    const [node] = orders.nodes.slice(1);
    const { name = "", endpoint } = node ?? {};
    await sandbox.host.signal("orders", [name], "SIGSTOP");
    try {
      await command.printed(/replication: FAIL — \d+ of \d+ assertions do not hold, after \w+ of PASS\n/);
      expect(command.output).toContain(`reachable: 127.0.0.1:${endpoint?.port}`);
      expect(await read(METRICS_PATH)).toContain(
        'valkey_assertion_holds{deployment="replication",assertion="reachable"} 0',
      );
    } finally {
      await sandbox.host.signal("orders", [name], "SIGCONT");
    }
    await command.printed(/PASS — all \d+ assertions hold, after \w+ of FAIL\n.*hold again: reachable, /);
    const looks = JSON.parse(await read(LOOKS_PATH)) as Look[];
    expect(looks).toMatchObject([{ deployment: "replication", pass: true, remarks: [] }]);
    expect(await read("/")).toBe("not found; available paths: /metrics, /looks\n");
    command.child.kill("SIGINT");
    expect(await command.ended).toMatchObject({ status: 0 });
  });

  it("prints and counts a failover that takes longer than a look, and a second fault below the first", async () => {
    const cluster = await sandbox.formedCluster("failover", 3, 1, { "cluster-node-timeout": 2_000 });
    const roles = await Promise.all(cluster.nodes.map((_, index) => callNode(cluster, index, "ROLE")));
    const isPrimary = (index: number): boolean => Array.isArray(roles[index]) && roles[index][0] === "master";
    const [killed] = cluster.nodes.filter((_, index) => isPrimary(index));
    const [further] = cluster.nodes.filter(({ zone }, index) => !isPrimary(index) && zone === killed?.zone);
    const port = await freePort();
    const command = await place.start(
      ["watch", ...serverOptions(cluster), "--every", "1", "--metrics", String(port)],
      passwordOf(cluster),
    );
    await command.printed(/cluster: PASS — all \d+ assertions hold\n/);
    const before = command.output.length;
    await sandbox.host.signal("failover", [killed?.name ?? ""], "SIGKILL");
    const lost = `127.0.0.1:${killed?.endpoint.port}`;
    await command.printed(new RegExp(`127\\.0\\.0\\.1:\\d+ took over from ${lost} \\(slots \\d+-\\d+\\)\\n`));
    expect(await (await fetch(`http://127.0.0.1:${port}${METRICS_PATH}`)).text()).toContain(
      'valkey_failovers_total{deployment="cluster"} 1\n',
    );
    // As in the output of verify, the cause has a line, and all that only follows has one.
    const own = [...command.output.slice(before).matchAll(/Z cluster: ([a-z-]+): /g)].map(([, id]) => id);
    expect(own, command.output).toEqual(["reachable"]);
    const second = `127.0.0.1:${further?.endpoint.port}`;
    await sandbox.host.signal("failover", [further?.name ?? ""], "SIGSTOP");
    await command.printed(new RegExp(`reachable: .*${second}`));
    await sandbox.host.signal("failover", [further?.name ?? ""], "SIGCONT");
    await command.printed(new RegExp(`these nodes reply again: ${second}\\n`));
    command.child.kill("SIGINT");
    expect(await command.ended).toMatchObject({ status: 1 });
  }, 180_000);

  it("prints a failover that was undone before the next look", async () => {
    const pair = await sandbox.formedCluster("undone", 3, 1);
    const roleOf = async (index: number): Promise<unknown> => ((await callNode(pair, index, "ROLE")) as unknown[])[0];
    const { shards } = (await verify(pair)).verdict;
    const [first = -1, second = -1] = [shards[0]?.primary, shards[0]?.replicas[0]].map((name) =>
      pair.nodes.findIndex((node) => node.name === name),
    );
    const command = await place.start(["watch", ...serverOptions(pair), "--every", "20"], passwordOf(pair));
    await command.printed(/cluster: PASS — all \d+ assertions hold\n/);
    for (const next of [second, first]) {
      // The former primary is a replica some moments after the other one has become the primary.
      await eventually("it is a replica", async () => (await roleOf(next)) === "slave");
      await callNode(pair, next, "CLUSTER", "FAILOVER");
      await eventually("it is the primary", async () => (await roleOf(next)) === "master");
    }
    const primary = `127.0.0.1:${pair.nodes[first]?.endpoint.port}`;
    await command.printed(new RegExp(`a different node took over from ${primary} .*\n.*${primary} took over again`));
    command.child.kill("SIGINT");
    await command.ended;
  }, 180_000);

  it("prints a line of JSON for every look", async () => {
    const command = await start("--json");
    await eventually("three looks", () => command.output.split("\n").length > 3);
    command.child.kill("SIGTERM");
    const { status, output } = await command.ended;
    expect(status).toBe(0);
    const looks = output
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Look & { changes: string[] });
    expect(looks.slice(1).flatMap(({ changes }) => changes)).toEqual([]);
    expect(new Set(looks.map(({ since }) => since)).size).toBe(1);
  });

  it("ends with status 1 if the last look did not pass", async () => {
    const command = await start("--replicas", "2");
    await command.printed(/replication: FAIL/);
    command.child.kill("SIGINT");
    expect(await command.ended).toMatchObject({ status: 1 });
  });

  it("refuses bad input in one message, and looks at nothing", async () => {
    const wrong = await place.call(["watch", "--mode", "sentinel", "--every", "0", "--metrics", "localhost:70000"]);
    expect(wrong.status).toBe(2);
    for (const option of ["--every: expected at least 1 s", "--metrics: expected [HOST:]PORT", "--mode: ", "--node: "])
      expect(wrong.output).toContain(option);
    const taken = String(orders.nodes[0]?.endpoint.port);
    const used = await place.call(["watch", ...serverOptions(orders), "--metrics", taken]);
    expect([used.status, used.output]).toEqual([
      2,
      expect.stringContaining(`--metrics: cannot listen on 127.0.0.1:${taken}: `),
    ]);
  });
});
