/** `verify` and `bench` against servers that exist already, as a user has them. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, describe, expect, it } from "vitest";
import type { Deployment } from "../../../valkey/deployment";
import { startRecorded } from "../../../platforms/host/processes";
import { findFreePorts } from "../../../platforms/host/ports";
import { resultsIn, TIMED } from "../../support/command";
import { useSandbox, usePlace } from "../../support/valkey/hooks";
import {
  eventually,
  withNode,
  nodeOptions,
  callNode,
  serverOptions,
  eventuallyAccepts,
  passwordOf,
} from "../../support/valkey/real";
import { startTlsServer } from "../../support/valkey/tls-server";

const sandbox = useSandbox();
let cluster: Deployment;
let replication: Deployment;
const place = usePlace();
beforeAll(async () => {
  [cluster, replication] = await Promise.all([
    sandbox.formedCluster("cluster", 3, 1),
    sandbox.formedReplication("replication", 1),
  ]);
});

const BENCH =
  "--tests set,get --requests 12000 --warmup 0 --repeats 1 --clients 12 --threads 1 --keyspace-len 16384".split(" ");

describe("verify", () => {
  it('passes a cluster that is as it should be, in the format of "Valkey on EKS"', async () => {
    const { status, output } = await place.run(
      ["verify", ...serverOptions(cluster), "--primaries", "3", "--replicas", "1"],
      passwordOf(cluster),
    );
    expect(output).toMatch(
      /PRIMARY +127\.0\.0\.1:\d+ +a +slots 0-5460 \(5461\)\n +replica +127\.0\.0\.1:\d+ +[bc] +other zone ✓/,
    );
    expect(output).toContain("VERIFY cluster: PASS — all 21 assertions hold.");
    expect(status).toBe(0);
  });

  it("takes nodes from a file, and answers tools in JSON", async () => {
    const file = join(place.directory, "nodes");
    writeFileSync(
      file,
      `# ours\n${replication.nodes.map(({ endpoint, zone }) => `127.0.0.1:${endpoint.port} ${zone ?? ""}\n`).join("\n")}`,
    );
    const { status, output } = await place.call(
      ["verify", "--mode", "replication", "--nodes", file, "--json"],
      passwordOf(replication),
    );
    expect(status, output).toBe(0);
    expect(JSON.parse(output)).toMatchObject({ pass: true, deployment: "replication" });
  });

  it.each<[string, (all: string[]) => string[], string[]]>([
    ["a node is left out", (all) => all.slice(2), ["members"]],
    ["more primaries are wanted", (all) => [...all, "--primaries", "4"], ["primaries"]],
    [
      "a zone is wrong",
      (all) => ["--node", (all[1] ?? "").replace(/=.*/, "=nowhere"), ...all.slice(2), "--replicas", "2"],
      ["replicas"],
    ],
  ])("fails with status 1 when %s", async (_what, change, rows) => {
    const { status, output } = await place.call(
      ["verify", "--mode", "cluster", ...change(nodeOptions(cluster))],
      passwordOf(cluster),
    );
    expect(status).toBe(1);
    for (const row of rows) expect(output).toContain(`[${row}]`);
    expect(output).toMatch(/VERIFY cluster: FAIL — \d+ of 21 assertions do not hold/);
  });

  it("does not say that clients lack the slots of nodes that nobody named", async () => {
    const [first = ""] = nodeOptions(cluster).slice(1);
    const args = ["verify", "--mode", "cluster", "--node", first, "--without", "zones"];
    const { status, output } = await place.call(args, passwordOf(cluster));
    const said = output.replaceAll(/\s+/g, " ");
    expect(status).toBe(1);
    expect(said).toContain(
      "Clients are served: yes, unless nodes fail that are not part of the deployment (slots 5461-16383).",
    );
    expect(said).toContain("no node of the deployment serves 10,923 slots: 5461-16383 [one-owner]");
    expect(said).toMatch(/, which are not part of the deployment \[members\] .* 1 primary \[primaries\]/);
    // The row names the primary, but the command is for a different server.
    expect(said).toContain("in this server, `CLUSTER REPLICATE ID`");
  });

  it.each<[string, NodeJS.ProcessEnv, RegExp]>([
    ["no password where one is wanted", { VALKEY_PASSWORD: "" }, /the server requires a password: set VALKEY_PASSWORD/],
    ["a wrong password", { VALKEY_PASSWORD: "hunter2" }, /the server refuses the password/],
  ])("fails on %s, in words to act on", async (_what, environment, message) => {
    const { status, output } = await place.call(["verify", ...serverOptions(replication)], environment);
    expect(status).toBe(1);
    expect(output.replaceAll(/\s+/g, " ")).toMatch(message);
    expect(output).not.toContain("hunter2");
  });

  it("fails on a password where there is none, and on a port where nobody is", async () => {
    const { host } = sandbox;
    const [port = 0, nobody = 0] = await findFreePorts(2);
    const process = startRecorded(
      host.run,
      "open",
      host.programs.server,
      ["--port", String(port), "--bind", "127.0.0.1", "--save", ""],
      { stdio: "ignore" },
    );
    await eventuallyAccepts("open", { host: "127.0.0.1", port });
    const alone = ["verify", "--mode", "replication", "--replicas", "0", "--node", `127.0.0.1:${port}=a`];
    const { status, output } = await place.call(alone, { VALKEY_PASSWORD: "x" });
    expect(status).toBe(1);
    expect(output).toMatch(/the server has no password, but one was given/);
    expect((await place.call(alone, { VALKEY_PASSWORD: "" })).status).toBe(0);
    const silent = await place.call(["verify", "--mode", "replication", "--node", `127.0.0.1:${nobody}=a`, "--json"]);
    expect(silent.status).toBe(1);
    expect(JSON.parse(silent.output)).toMatchObject({
      pass: false,
      diagnosis: { causes: [expect.stringMatching(/cannot be reached: .*ECONNREFUSED/)], clients: [expect.anything()] },
    });
    process.child.kill();
  });

  it.each(["127.0.0.1", "localhost"])("names a node once that does not reply, and knows it at %s", async (host) => {
    const lost = await sandbox.formedCluster(`lost-${host.replaceAll(".", "-")}`, 3, 0);
    const [node] = lost.nodes;
    await sandbox.host.signal(lost.name, [node?.name ?? ""], "SIGKILL");
    const name = `${host}:${node?.endpoint.port}`;
    const nodes = lost.nodes.flatMap(({ endpoint: { port } }) => ["--node", `${host}:${port}`]);
    const { status, output } = await place.call(
      ["verify", "--mode", "cluster", "--replicas", "0", "--without", "zones", ...nodes],
      passwordOf(lost),
    );
    expect(status, output).toBe(1);
    expect(output).not.toContain("not part of the deployment");
    const row = /=== Assertions ===[^]*?\[reachable\]\n.*\n(.*\n.*\n)/.exec(output)?.[1] ?? "";
    expect(row.replaceAll(/\s+/g, " ")).toContain(`found: ${name}: cannot be reached: connect ECONNREFUSED`);
    expect(row.split(name)).toHaveLength(2);
    expect(output).toContain(`${name}, the primary of slots 0-5460, is silent`);
  });

  it("says once at which address of IPv6 nobody is", async () => {
    const [port = 0] = await findFreePorts(1);
    const { status, output } = await place.call(["verify", "--mode", "replication", "--node", `[::1]:${port}=a`]);
    expect(status, output).toBe(1);
    const row = /=== Assertions ===[^]*?(found: [^]*?)\n\n/.exec(output)?.[1] ?? "";
    expect(row.replaceAll(/\s+/g, " ")).toContain(`found: [::1]:${port}: cannot be reached: connect ECONNREFUSED`);
    expect(row.split("::1")).toHaveLength(2);
  });

  it.each<[string, string[], RegExp]>([
    ["nodes that are none", ["--node", "nonsense"], /nonsense is not a node/],
    ["a password as an option", ["--password", "x"], /unknown option '--password'/],
  ])("refuses %s with status 2", async (_what, args, message) => {
    const { status, output } = await place.call(["verify", "--mode", "cluster", ...args]);
    expect(status, output).toBe(2);
    expect(output).toMatch(message);
  });
});

describe("measure", () => {
  it("says the one reason when the server cannot be reached, as a failed step", async () => {
    const [port = 0] = await findFreePorts(1);
    const args = ["measure", "--mode", "replication", "--node", `127.0.0.1:${port}=a`, "--output", place.output()];
    const { status, output } = await place.call(args, { VALKEY_PASSWORD: "" });
    expect(status).toBe(1);
    expect(output).toMatch(/FAILED.*VERIFY replication: FAIL — 1 of 1 assertions do not hold: reachable\./);
    expect(output.match(/^✗ .*$/gm)).toEqual(["✗ every node can be reached  [reachable]"]);
    expect(output).toMatch(/found: .*cannot be reached: .*ECONNREFUSED/);
  });

  it("measures, and leaves the servers as they were: no key, no user", async () => {
    const keys = (): Promise<number[]> =>
      Promise.all(cluster.nodes.map((_node, index) => withNode(cluster, index, (connection) => connection.dbsize())));
    const users = (): Promise<unknown[]> =>
      Promise.all(cluster.nodes.map((_node, index) => callNode(cluster, index, "ACL", "USERS")));
    // By whichever node serves it.
    await Promise.any(
      cluster.nodes.map((_node, index) => withNode(cluster, index, (connection) => connection.set("{0}theirs", "1"))),
    );
    await eventually(
      "a primary and its replica have the key",
      async () => (await keys()).filter((count) => count > 0).length === 2,
    );
    const before = [await keys(), await users()];
    const { status, output } = await place.run(
      ["measure", ...serverOptions(cluster), ...BENCH, "--output", place.output()],
      passwordOf(cluster),
    );
    expect(status, output).toBe(0);
    expect(output).toMatch(/GET\n +cluster +[\d,]+\/s/);
    await eventually(
      "the replicas have followed",
      async () => JSON.stringify(await keys()) === JSON.stringify(before[0]),
    );
    expect(await users()).toEqual(before[1]);
    expect(resultsIn(place.output())).toMatchObject({ stack: "external", complete: true });
  });

  it("does not touch keys of its names that are there already, unless told to", async () => {
    const args = ["measure", ...serverOptions(replication), ...BENCH];
    await callNode(replication, 0, "SET", "key:000000000007", "theirs");
    const { status, output } = await place.call([...args, "--output", place.output("a")], passwordOf(replication));
    expect(status, output).toBe(2);
    expect(output.match(/1 keys with names that valkey-benchmark uses .* exist already/g)).toHaveLength(1);
    // Status 2: nothing was started, so there are neither results nor a run.
    expect(output).not.toMatch(/Measure set/);
    expect(existsSync(place.output("a"))).toBe(false);
    expect(existsSync(place.runs)).toBe(false);
    expect(await withNode(replication, 0, (connection) => connection.get("key:000000000007"))).toBe("theirs");
    expect(
      (await place.call([...args, "--overwrite", "--output", place.output("b")], passwordOf(replication))).status,
    ).toBe(0);
    expect(await withNode(replication, 0, (connection) => connection.dbsize())).toBe(0);
  });

  it("measures nothing after FAIL, and nothing with a load that cannot be shared evenly", async () => {
    const failed = await place.call(
      ["measure", ...serverOptions(cluster), "--primaries", "4", ...BENCH, "--output", place.output("a")],
      passwordOf(cluster),
    );
    expect(failed.status).toBe(1);
    expect(failed.output).toMatch(/found: +3 primaries\n[\s\S]*Verification failed; nothing was measured/);
    expect(existsSync(join(place.output("a"), "results.json"))).toBe(true);
    const uneven = await place.call(
      ["measure", ...serverOptions(cluster), ...BENCH, "--clients", "50", "--output", place.output("b")],
      passwordOf(cluster),
    );
    expect(uneven.status, uneven.output).toBe(2);
    expect(existsSync(place.output("b"))).toBe(false);
    expect(uneven.output).toMatch(/--clients: 50 clients cannot be shared evenly by 3 primaries.*48 or 51/);
  });

  it("keeps its --output to itself while it runs, and its results afterwards", async () => {
    const args = ["measure", ...serverOptions(replication), ...BENCH, "--output", place.output()];
    const first = await place.start(args, passwordOf(replication));
    await first.printed(/Verify/);
    const meanwhile = await place.call([...args, "--tests", "incr"], passwordOf(replication));
    expect(meanwhile.status, meanwhile.output).toBe(2);
    expect(meanwhile.output).toContain("another process is writing to it");
    expect((await first.ended).status).toBe(0);
    const written = resultsIn(place.output());
    expect([...new Set(written.records.map(({ test }) => test))]).toEqual(["set", "get"]);
    for (const command of [args, ["soak", "local", "--output", place.output()]]) {
      const afterwards = await place.call(command, passwordOf(replication));
      expect(afterwards.status, afterwards.output).toBe(2);
      expect(afterwards.output).toContain("holds results already");
    }
    expect(resultsIn(place.output())).toEqual(written);
  });

  it("shows latencies that valkey-benchmark cannot record as at least its limit", async () => {
    const pid = /process_id:(\d+)/.exec(String(await callNode(replication, 0, "INFO", "server")))?.[1];
    const reads = async (): Promise<number> =>
      Number(/cmdstat_get:calls=(\d+)/.exec(String(await callNode(replication, 0, "INFO", "commandstats")))?.[1] ?? 0);
    const before = await reads();
    const load =
      "--tests get --rate 24 --duration 7 --keyspace-len 1000 --warmup 0 --repeats 1 --clients 12 --threads 1".split(
        " ",
      );
    const command = await place.start(
      ["measure", ...serverOptions(replication), ...load, "--output", place.output()],
      passwordOf(replication),
    );
    // Measurements by the tests before this one count as well.
    await eventually("the load has begun", async () => (await reads()) > before + 20, 60_000);
    process.kill(Number(pid), "SIGSTOP");
    await sleep(4000);
    process.kill(Number(pid), "SIGCONT");
    const { status, output } = await command.ended;
    expect(status, output).toBe(0);
    expect(output).toContain("valkey-benchmark records every latency above 3,000 ms as 3,000 ms");
    expect(readFileSync(join(place.output(), "report.html"), "utf8")).toContain("p99 ≥ 3,000 ms");
  });

  it("takes its keys and its user away again when it is stopped half-way", async () => {
    const command = await place.start(
      [
        "measure",
        ...serverOptions(replication),
        ...TIMED,
        ..."--clients 12 --duration 5 --output".split(" "),
        place.output(),
      ],
      passwordOf(replication),
    );
    await command.printed(/❯ Measure/);
    await eventually(
      "keys are in place, and their mark",
      async () => (await withNode(replication, 0, (connection) => connection.dbsize())) === 16_385,
    );
    command.child.kill("SIGTERM");
    expect((await command.ended).status).toBe(143);
    expect(await withNode(replication, 0, (connection) => connection.dbsize())).toBe(0);
    expect(await callNode(replication, 0, "ACL", "USERS")).toEqual(["default"]);
    expect(place.living()).toEqual([]);
  });
});

describe("over TLS", () => {
  it("verifies and measures with a certificate that is trusted, and says why one is not", async () => {
    const server = await startTlsServer(sandbox, join(place.directory, "tls"));
    const { port, certificate: cert } = server;
    const args = ["--mode", "replication", "--replicas", "0", "--node", `localhost:${port}=a`];
    const environment = { VALKEY_PASSWORD: "" };
    expect((await place.call(["verify", ...args, "--cacert", cert], environment)).status).toBe(0);
    const distrusted = await place.call(["verify", ...args, "--tls"], environment);
    expect(distrusted.status).toBe(1);
    expect(distrusted.output).toMatch(/self-signed certificate/);
    const { status, output } = await place.call(
      ["measure", ...args, "--cacert", cert, ...BENCH, "--output", place.output()],
      environment,
    );
    expect(status, output).toBe(0);
    server.stop();
  });
});
