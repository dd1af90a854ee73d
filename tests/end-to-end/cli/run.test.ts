/** `npm start` on real servers. */
import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { RunDirectory } from "../../../platforms/host/run-directory";
import { identifyProcess } from "../../../lib/system/process-identity";
import { ARTIFACTS, resultsIn, SHORT, TIMED } from "../../support/command";
import { usePlace } from "../../support/valkey/hooks";
import { realPrograms } from "../../support/valkey/real";

const place = usePlace();

const timed = (...more: string[]): string[] => ["run", ...TIMED, "--output", place.output(), ...more];
const short = (...more: string[]): string[] => ["run", ...SHORT, "--output", place.output(), ...more];

async function homeWith(benchmark: string, server?: string): Promise<string> {
  const programs = await realPrograms();
  const home = join(place.directory, "home");
  mkdirSync(home);
  const scripts = {
    "valkey-server": server ?? `exec '${programs.server}' "$@"`,
    "valkey-cli": `exec '${programs.cli}' "$@"`,
    "valkey-benchmark": benchmark,
  };
  for (const [name, script] of Object.entries(scripts)) {
    writeFileSync(join(home, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(home, name), 0o755);
  }
  return home;
}

describe("npm start", () => {
  it("measures both deployments, writes everything, and leaves nothing running", async () => {
    const { status, output } = await place.run(timed());
    expect(output).toContain("VERIFY replication: PASS — all 17 assertions hold.");
    expect(output).toContain("VERIFY cluster: PASS — all 22 assertions hold.");
    expect(output).toMatch(/GET\n +replication +[\d,]+\/s[\s\S]+ cluster +[\d,]+\/s/);
    expect(status).toBe(0);
    expect(readdirSync(place.output()).sort()).toEqual(ARTIFACTS);
    const results = resultsIn(place.output());
    expect(results).toMatchObject({ complete: true, stack: "local" });
    expect(results.records.map(({ deployment, test }) => `${deployment} ${test}`).sort()).toEqual([
      "cluster get",
      "replication get",
    ]);
    for (const { servers, client } of results.records) {
      expect(servers?.hitRatio).toBe(1);
      expect(Math.abs(servers?.disagreement ?? 1)).toBeLessThan(0.05);
      // valkey-benchmark counts the requests in flight at the end, and has no latency of them.
      expect(client.requests - (client.cumulative.at(-1)?.count ?? 0)).toBeLessThanOrEqual(48 * 16);
    }
    expect(
      results.topologies
        .find(({ deployment }) => deployment === "cluster")
        ?.nodes.filter(({ role, keysAfter }) => role === "primary" && (keysAfter ?? 0) > 0),
    ).toHaveLength(3);
    expect(place.living()).toEqual([]);
    expect(readdirSync(place.runs)).toEqual([]);
  });

  it("can run twice at the same time", async () => {
    const [a, b] = await Promise.all(
      ["a", "b"].map((name) => place.run(["run", ...SHORT, "--mode", "cluster", "--output", place.output(name)])),
    );
    expect([a?.status, b?.status], `${a?.output ?? ""}${b?.output ?? ""}`).toEqual([0, 0]);
    for (const name of ["a", "b"]) expect(resultsIn(place.output(name)).records).toHaveLength(1);
    expect(place.living()).toEqual([]);
  });

  it("keeps the deployments with --keep, prints how to connect, and stops them by name", async () => {
    const { status, output } = await place.run(short("--keep", "--mode", "replication"));
    expect(status, output).toBe(0);
    expect(place.living()).toHaveLength(4);
    const connect = /^ {2}(VALKEYCLI_AUTH=.*) +# replication/m.exec(output)?.[1] ?? "";
    const cli = await shell(`${connect} DBSIZE`);
    expect(Number(cli)).toBeGreaterThan(0);
    const id = /npm start -- stop (\S+)/.exec(output)?.[1] ?? "";
    expect((await place.call(["stop"])).output).toContain(id);
    expect((await place.call(["stop", "nonsense"])).status).toBe(2);
    expect(place.living()).toHaveLength(4);
    expect((await place.call(["stop", id])).output).toContain("stopped 4 processes");
    expect(place.living()).toEqual([]);
  });

  it("is listed while it runs and after it was killed, and stop --all stops only what was left", async () => {
    const killed = await place.start(timed());
    await killed.printed(/1\/2/);
    killed.child.kill("SIGKILL");
    await killed.ended;
    const left = place.living();
    const running = RunDirectory.create(place.runs, "test");
    expect(left.length).toBeGreaterThanOrEqual(10);
    const list = (await place.call(["stop"])).output;
    expect(list).toMatch(/^ {2}\S+ {3}left by a killed run, stack local, \d+ processes$/m);
    expect(list).toContain(`${running.id}   still running, stack test, 0 processes`);
    expect((await place.call(["stop", running.id])).status).toBe(2);
    expect((await place.call(["stop", "--all"])).output).toMatch(/: stopped \d+ processes/);
    expect(left.filter((pid) => identifyProcess(pid) !== undefined)).toEqual([]);
    expect((await place.call(["stop"])).output).toContain(running.id);
    running.remove();
    expect((await place.call(["stop"])).output).toContain("Nothing runs.");
  });

  it("stops the other runs with stop --all if one cannot be stopped, and says why", async () => {
    const [broken, other] = ["a", "b"]
      .map(() => RunDirectory.create(place.runs, "test"))
      .sort((a, b) => (a.id < b.id ? -1 : 1));
    broken?.keep();
    other?.keep();
    const records = join(place.runs, broken?.id ?? "", "processes");
    rmdirSync(records);
    writeFileSync(records, "a file instead of the directory");
    const { status, output } = await place.call(["stop", "--all"]);
    expect(status, output).toBe(1);
    expect(output).toContain(
      `${other?.id ?? ""}: stopped 0 processes\n${broken?.id ?? ""} could not be stopped: ENOTDIR`,
    );
    expect(readdirSync(place.runs)).toEqual([broken?.id]);
    broken?.remove();
  });

  it("leaves processes when it is killed, and the next run stops exactly these", async () => {
    const bystander = spawn(
      (await realPrograms()).server,
      ["--port", "0", "--unixsocket", join(place.directory, "socket"), "--save", ""],
      { stdio: "ignore", cwd: place.directory },
    );
    try {
      const first = await place.start(timed());
      await first.printed(/1\/2/);
      const left = place.living();
      expect(left.length).toBeGreaterThanOrEqual(10);
      first.child.kill("SIGKILL");
      expect((await first.ended).status).toBe(137);
      expect(resultsIn(place.output())).toMatchObject({
        complete: false,
        reason: "the run has not ended",
        records: [{ test: "get" }],
      });
      const again = ["run", ...SHORT, "--mode", "replication", "--output", place.output("second")];
      const { status, output } = await place.run(again);
      expect(status, output).toBe(0);
      expect(output).toMatch(/stopped \d+ processes of a killed run/);
      expect(left.filter((pid) => identifyProcess(pid) !== undefined)).toEqual([]);
      expect(identifyProcess(bystander.pid ?? 0)).toBeDefined();
    } finally {
      bystander.kill("SIGKILL");
    }
  });
});

function shell(command: string): Promise<string> {
  return new Promise((resolve) => {
    const child = spawn("sh", ["-c", command], { stdio: ["ignore", "pipe", "inherit"] });
    let output = "";
    child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.on("close", () => {
      resolve(output.trim());
    });
  });
}

describe("failures", () => {
  it("a server that exits ends the run with the server's name and last output", async () => {
    const command = await place.start(timed());
    await command.printed(/❯ Measure/);
    const [pid = 0] = place.living();
    process.kill(pid, "SIGKILL");
    const { status, output } = await command.ended;
    expect(status).toBe(1);
    expect(output).toMatch(/(replication|cluster)-\d \(port \d+, pid \d+\) exited unexpectedly: SIGKILL/);
    expect(output).not.toContain("    at ");
    expect(resultsIn(place.output())).toMatchObject({ complete: false });
    expect(place.living()).toEqual([]);
  });

  it("the output of a server that does not start is printed", async () => {
    const home = await homeWith(
      "exit 0",
      `case $1 in --version) exec '${(await realPrograms()).server}' "$@";; esac; echo 'no memory today' >&2; exit 3`,
    );
    const { status, output } = await place.call(short("--mode", "replication"), { VALKEY_HOME: home });
    expect(status).toBe(1);
    expect(output).toMatch(/exited unexpectedly: exit status 3; the last lines of its log:\n +no memory today/);
    expect(place.living()).toEqual([]);
  });

  it.each([
    [
      "fails",
      `case "$*" in *--help*|*--version*) exec REAL "$@";; esac; echo 'Error: out of luck' >&2; exit 7`,
      /failed with exit status 7: Error: out of luck/,
    ],
    [
      "prints something unknown",
      `case "$*" in *--help*|*--version*) exec REAL "$@";; esac; echo 'Ran fine. Trust me.'`,
      /no report/,
    ],
  ])("the output of a valkey-benchmark that %s is printed and kept", async (_what, script, message) => {
    const home = await homeWith(script.replace("REAL", `'${(await realPrograms()).benchmark}'`));
    const { status, output } = await place.call(short("--mode", "replication"), { VALKEY_HOME: home });
    expect(status).toBe(1);
    expect(output).toMatch(message);
    expect(output).not.toContain("    at ");
    expect(readFileSync(join(place.output(), "raw.txt"), "utf8")).toMatch(/out of luck|Trust me/);
    expect(place.living()).toEqual([]);
  });

  it("no password appears on a command line or in a result", async () => {
    const command = await place.start(timed("--mode", "replication", "--duration", "3"));
    await command.printed(/❯ Measure/);
    const passwords = readdirSync(place.runs).map((run) =>
      readFileSync(join(place.runs, run, "replication", "password"), "utf8"),
    );
    expect(passwords[0]).toMatch(/^[0-9a-f]{48}$/);
    const seen = new Set<string>();
    while (command.child.exitCode === null) {
      for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
        try {
          seen.add(readFileSync(`/proc/${pid}/cmdline`, "utf8"));
        } catch {
          // The process has ended meanwhile.
        }
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    const { output } = await command.ended;
    expect([...seen].some((line) => line.includes("valkey-benchmark"))).toBe(true);
    const written = ARTIFACTS.map((name) => readFileSync(join(place.output(), name), "utf8"));
    for (const text of [...seen, ...written, output]) expect(text.includes(passwords[0] ?? "?")).toBe(false);
  });
});
