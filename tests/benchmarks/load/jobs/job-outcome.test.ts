import { describe, expect, it } from "vitest";
import { type JobFacts, jobOutcome } from "../../../../benchmarks/load/jobs/job-outcome";
import { valkeyBenchmarkInJobs } from "../../../../benchmarks/load/jobs/load-generators";
import { type RunnerPhase, type RunnerRecord, parseRunnerRecord } from "../../../../benchmarks/load/jobs/runner-record";
import { LoadGeneratorFailure } from "../../../../benchmarks/load/load-driver";
import type { ValkeyBenchmarkRun } from "../../../../benchmarks/load/valkey-benchmark/arguments";
import { parseSingleReport } from "../../../../benchmarks/load/valkey-benchmark/local-driver";
import { fixture } from "../../../support/fixtures";
import { expectReviewed } from "../../../support/reviewed";
import { toolRun, workload } from "../../../support/benchmarks/tool-runs";

const real = parseRunnerRecord(fixture("runner-record"));
const [, measured] = real.phases;
if (measured === undefined) throw new Error("the fixture has one phase only");
const alone = parseSingleReport(measured.text);

/** As the real one, but for what is changed of its measured phase. */
function record(changes: Partial<RunnerPhase> = {}): RunnerRecord {
  return { ...real, phases: real.phases.map((phase, index) => (index === 1 ? { ...phase, ...changes } : phase)) };
}

function facts(changes: Partial<JobFacts<ValkeyBenchmarkRun>> = {}): JobFacts<ValkeyBenchmarkRun> {
  const tool = toolRun({ workload: workload({ length: { requests: 20_000 } }), seed: 200 });
  const records = changes.records ?? [record(), record()];
  return {
    loadGenerator: valkeyBenchmarkInJobs,
    seed: 200,
    phases: [{ ...tool, seed: 100, length: { seconds: 1 } }, tool],
    startedAt: "2026-11-21T09:00:00.000Z",
    begunMs: 1_000_000,
    records,
    machines: ["node-3", "node-4", "node-5"].slice(0, records.length),
    cpuLimit: undefined,
    servers: new Set(["node-0", "node-1"]),
    sharing: false,
    untuned: [],
    ...changes,
  };
}

describe("the outcome of a Job", () => {
  it("adds requests and rates, and computes the time from the common start", () => {
    const { report, fromMs, toMs, warnings } = jobOutcome(facts());
    expect(report.requests).toBe(2 * alone.requests);
    expect(report.rate).toBeCloseTo(2 * alone.rate, 6);
    expect(toMs).toBeCloseTo(1_000_000 + measured.seconds * 1000, 6);
    expect(toMs - fromMs).toBeCloseTo(alone.seconds * 1000, 6);
    expect(warnings).toEqual([]);
  });

  it("has an entry for each runner, with a seed of its own", () => {
    const { runners, outputs } = jobOutcome(facts());
    expect(runners).toMatchObject([
      { name: "runner 0", machine: "node-3", seed: 200, requests: alone.requests, rps: alone.rate },
      { name: "runner 1", machine: "node-4", seed: 201 },
    ]);
    expect(outputs.map(({ warmUp, runner }) => [warmUp, runner])).toEqual([
      [true, "runner 0 on node-3"],
      [true, "runner 1 on node-4"],
      [false, "runner 0 on node-3"],
      [false, "runner 1 on node-4"],
    ]);
    expect(outputs[3]?.command.join(" ")).toContain("--seed 201 -n 10000");
  });

  it("counts each machine once, however many runners it has", () => {
    const machine = { busySeconds: measured.seconds, stolenSeconds: 0 };
    const busy = [
      record({ machine, cpuSeconds: measured.seconds / 2 }),
      record({ machine, cpuSeconds: measured.seconds / 2 }),
    ];
    const together = jobOutcome(facts({ records: busy, machines: ["node-3", "node-3"] })).cpu;
    expect(together).toMatchObject({ client: 1, clientLimit: 2, machineCores: 2, program: 0, serversHere: false });
    expect(together.machineBusy).toBeCloseTo(1, 9);
    const apart = jobOutcome(facts({ records: busy })).cpu;
    expect(apart).toMatchObject({ machineCores: 4 });
    expect(apart.machineBusy).toBeCloseTo(2, 9);
    expect(jobOutcome(facts({ records: busy, cpuLimit: 0.5 })).cpu.clientLimit).toBe(1);
  });

  it("has no CPU of machines where one record lacks it", () => {
    expect(jobOutcome(facts({ records: [record(), record({ machine: undefined })] })).cpu).toMatchObject({
      machineBusy: null,
      machineStolen: null,
    });
  });

  it("warns of machines that are shared or not tuned, and of runners that did not run at the same time", async () => {
    const late = record({ seconds: measured.seconds + alone.seconds / 2 });
    const jobs: Readonly<Record<string, Partial<JobFacts<ValkeyBenchmarkRun>>>> = {
      "a machine that is not tuned": { untuned: ["node-3: transparent huge pages are always"] },
      "one shared machine of two": { sharing: true, machines: ["node-3", "node-1"] },
      "machines that might have been shared": { sharing: true },
      "shared machines": { sharing: true, machines: ["node-0", "node-1"] },
      "runners apart": { records: [record(), late] },
    };
    const found = Object.entries(jobs).map(([what, changes]) => {
      const { warnings, cpu } = jobOutcome(facts(changes));
      return [what, { warnings, serversHere: cpu.serversHere }] as const;
    });
    await expectReviewed("benchmarks/job-warnings", "What is wrong with the runners of a Job.", found);
  });

  it("is a failure that names the runner and the phase", () => {
    const failed = record({ exit: 1, text: "WARNING: x\nError: Server closed the connection\n" });
    expect(() => jobOutcome(facts({ records: [record(), failed] }))).toThrow(
      "runner 1 on node-4: valkey-benchmark failed with exit status 1: WARNING: x / Error: Server closed the connection",
    );
    const cold = {
      ...real,
      phases: real.phases.map((phase, index) => (index === 0 ? { ...phase, exit: 1, text: "no" } : phase)),
    };
    expect(() => jobOutcome(facts({ records: [cold] }))).toThrow(
      new LoadGeneratorFailure("warm-up: valkey-benchmark failed with exit status 1: no", "no"),
    );
    expect(() => jobOutcome(facts({ records: [record({ text: "nothing of the kind" })] }))).toThrow(
      /cannot read the output of valkey-benchmark: no report/,
    );
  });
});
