import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Failure } from "../../../../lib/errors";
import { benchmarkJob } from "../../../../benchmarks/load/jobs/benchmark-job";
import type { LoadSidecar } from "../../../../benchmarks/load/jobs/sidecar";
import type { JobPhase } from "../../../../benchmarks/load/jobs/job-plan";
import { parseRunnerRecord } from "../../../../benchmarks/load/jobs/runner-record";
import { runnerShare, parseSingleReport } from "../../../../benchmarks/load/valkey-benchmark/local-driver";
import { valkeyBenchmarkArguments } from "../../../../benchmarks/load/valkey-benchmark/arguments";
import { namedTest } from "../../../../benchmarks/workloads/named-tests";
import { fixture } from "../../../support/fixtures";
import { jobPhase, toolRun, workload } from "../../../support/benchmarks/tool-runs";

const directory = mkdtempSync(join(tmpdir(), "runner-script-"));

/** Fakes of both programs: valkey-cli lets all runners start, valkey-benchmark prints its arguments. */
beforeAll(() => {
  const tools = {
    "valkey-cli": `printf '%s\\n' "$*" >> "$RECORD.cli"; case "$*" in *APPEND*) echo 1 ;; *BLPOP*) echo go ;; *SETRANGE*) cat > "$RECORD.handed" ;; esac`,
    "valkey-benchmark": `printf '[%s]' "$@"; exit "\${TOOL_EXIT:-0}"`,
  };
  for (const [name, script] of Object.entries(tools)) {
    writeFileSync(join(directory, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(directory, name), 0o755);
  }
});
afterAll(() => {
  rmSync(directory, { recursive: true });
});

const JOB = {
  ...{ name: "j", namespace: "n", image: "i", servers: { namespace: "n", labels: {} }, keys: "k" },
  ...{ tls: undefined, timeoutSeconds: 5, deadlineSeconds: 9 },
};

interface RunnerResult {
  readonly status: number | null;
  readonly record: ReturnType<typeof parseRunnerRecord>;
  readonly cli: readonly string[];
  readonly printed: string;
}

function run(
  index: number,
  runners: number,
  phases: readonly ReturnType<typeof toolRun>[],
  more: Record<string, string> = {},
): RunnerResult {
  const user = { username: "user", password: "pass word" };
  const own = phases.map((phase) => jobPhase(phase, { username: user.username }));
  const { job } = benchmarkJob({ ...JOB, runner: { runners, sharing: false }, phases: own, user });
  const container = job.spec?.template.spec?.containers[0];
  const [program = "", ...words] = [...(container?.command ?? []), ...(container?.args ?? [])];
  const file = join(directory, `${index}-${runners}-${Math.random()}`);
  const variables = Object.fromEntries((container?.env ?? []).map(({ name, value }) => [name, value ?? user.password]));
  const env = {
    PATH: `${directory}:${process.env["PATH"] ?? ""}`,
    ...variables,
    RECORD: file,
    JOB_COMPLETION_INDEX: String(index),
    ...more,
  };
  const { status, stdout } = spawnSync(program, words, { env, encoding: "utf8" });
  return {
    status,
    record: parseRunnerRecord(readFileSync(`${file}.handed`, "utf8")),
    cli: readFileSync(`${file}.cli`, "utf8").trim().split("\n"),
    printed: stdout,
  };
}

/** The arguments as the fake of valkey-benchmark prints them. */
function words(tool: ReturnType<typeof toolRun>, index: number, runners: number): string {
  const credentials = { username: "user", password: "pass word" };
  return valkeyBenchmarkArguments({ ...runnerShare(tool, index, runners), credentials })
    .map((word) => `[${word}]`)
    .join("");
}

describe("a runner's script", () => {
  it.each([
    [0, 1, workload()],
    [2, 3, workload({ length: { requests: 10_007 }, rate: 1001 })],
    [6, 7, workload({ length: { requests: 7 }, rate: 9 })],
    [0, 7, workload({ length: { requests: 20 } })],
  ])("runs the share of runner %i of %i, word for word", (index, runners, load) => {
    const warmUp = toolRun({ workload: load, seed: 100, length: { seconds: 1 } });
    const tool = toolRun({ workload: load, seed: 200, test: namedTest("lrange_100") });
    const { status, record } = run(index, runners, [warmUp, tool]);
    expect(status).toBe(0);
    expect(record.phases.map(({ text }) => text.trim())).toEqual([
      words(warmUp, index, runners),
      words(tool, index, runners),
    ]);
  });

  it("arrives and waits before each phase, writes its record and arrives once more, and shows no password", () => {
    const { cli, printed } = run(1, 2, [toolRun(), toolRun()]);
    expect(cli.map((line) => line.replace("-h 10.0.0.1 -p 6379 --user user ", ""))).toEqual([
      "APPEND k:arrived:1 x",
      "BLPOP k:go:1 5",
      "APPEND k:arrived:2 x",
      "BLPOP k:go:2 5",
      "-x SETRANGE k:record:1 0",
      "APPEND k:arrived:3 x",
    ]);
    expect(cli.join("\n")).not.toContain("pass word");
    expect(printed).toContain("@@ phase 2");
  });

  it("records exit status and output of a load generator that fails", () => {
    const { status, record } = run(0, 1, [toolRun()], { TOOL_EXIT: "3" });
    expect(status).toBe(0);
    expect(record.phases).toMatchObject([{ exit: 3, text: expect.stringContaining("[-t][set]") as string }]);
  });
});

describe("a runner with a sidecar", () => {
  it("lets it run each phase, with credentials that no file holds, and records its output, result file and CPU", async () => {
    const exchange = mkdtempSync(join(directory, "exchange-"));
    const file = join(exchange, "record");
    const sidecar: LoadSidecar = {
      image: "i",
      program: "other-tool",
      setup: "echo made > made",
      result: "result.json",
    };
    writeFileSync(
      join(directory, "other-tool"),
      `#!/bin/sh\nprintf '[%s]' "$@"; echo; echo '{"from":"the file"}' > result.json; [ "$1" != "fails" ] || exit 7\n`,
    );
    chmodSync(join(directory, "other-tool"), 0o755);
    const phase = (words: readonly string[]): JobPhase => ({
      arguments: words,
      endpoint: { host: "10.0.0.1", port: 6379 },
      seed: 0,
      requests: undefined,
      rate: undefined,
      seconds: 1,
      timeoutSeconds: 5,
    });
    const phases = [phase(["--a=b c", "@CREDENTIALS@", `{"json": "\\\\ and 'quotes'"}`]), phase(["fails"])];
    const user = { username: "user", password: "pass" };
    const { job } = benchmarkJob({ ...JOB, runner: { runners: 1, sharing: false }, phases, sidecar, user });
    const ended = (job.spec?.template.spec?.containers ?? []).map(async ({ command = [], args = [], env = [] }) => {
      const variables = Object.fromEntries(env.map(({ name, value }) => [name, value ?? user.password]));
      const [program = "", ...words] = [...command, ...args];
      const child = spawn(program, words, {
        env: {
          PATH: `${directory}:${process.env["PATH"] ?? ""}`,
          ...variables,
          RECORD: file,
          EXCHANGE: exchange,
          JOB_COMPLETION_INDEX: "0",
        },
      });
      return (await once(child, "exit"))[0] as number;
    });
    expect(await Promise.all(ended)).toEqual([0, 0]);
    const { cores, phases: ran } = parseRunnerRecord(readFileSync(`${file}.handed`, "utf8"));
    expect(cores).toBeGreaterThan(0);
    expect(ran.map(({ exit }) => exit)).toEqual([0, 7]);
    expect(ran[0]?.text.trim()).toBe(`[--a=b c][user:pass][{"json": "\\\\ and 'quotes'"}]\n{"from":"the file"}`);
    expect(readFileSync(join(exchange, "words"), "utf8")).not.toContain("pass");
  });
});

describe("a runner's record", () => {
  const text = fixture("runner-record");

  it("has the output of each phase, its CPU and the CPU of the machine", () => {
    const { cores, phases } = parseRunnerRecord(text);
    expect(cores).toBe(2);
    expect(phases.map(({ exit }) => exit)).toEqual([0, 0]);
    const [warmUp, measured] = phases;
    expect(parseSingleReport(warmUp?.text ?? "").seconds).toBeCloseTo(1, 1);
    expect(parseSingleReport(measured?.text ?? "")).toMatchObject({ title: "SET", requests: 10_000 });
    const [, , from = 0, to = 0] = [...text.matchAll(/^@@ uptime (.*)$/gm)].map(([, uptime]) => Number(uptime));
    expect(measured?.seconds).toBeCloseTo(to - from, 9);
    expect(measured?.cpuSeconds).toBeGreaterThan(0);
    const [, , before = [], after = []] = [...text.matchAll(/^@@ cpu {2}(.*)$/gm)].map(([, ticks = ""]) =>
      ticks.split(" ").map(Number),
    );
    const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, stolen = 0] = after.map(
      (ticks, column) => ticks - (before[column] ?? 0),
    );
    expect(measured?.machine?.busySeconds).toBeCloseTo((user + nice + system + irq + softirq) / 100, 9);
    expect(measured?.machine?.stolenSeconds).toBeCloseTo(stolen / 100, 9);
  });

  it("is refused when it is incomplete", () => {
    for (let cut = 0; cut < text.trimEnd().length; cut += 97)
      expect(() => parseRunnerRecord(text.slice(0, cut))).toThrow(Failure);
  });

  it("may lack the CPU of the machine", () => {
    const { phases } = parseRunnerRecord(text.replace(/^@@ cpu .*$/gm, "@@ "));
    expect(phases.map(({ machine }) => machine)).toEqual([undefined, undefined]);
  });
});
