/** The outcome of a Job, computed from the records of its runners. Pure. */
import { formatPercent } from "../../../lib/units";
import { messageOf } from "../../../lib/errors";
import { mergeReports, latencySummary } from "../merge-reports";
import type { LoadOutcome, LoadGeneratorOutput } from "../load-driver";
import { LoadGeneratorFailure } from "../load-driver";
import { lastTwoLines } from "../local-process";
import type { Warning } from "../../results/schema";
import { Histogram } from "../../../lib/histogram";
import { openLoopCounts } from "../open-loop/local-driver";
import { Tally } from "../open-loop/tally";
import type { JobLoadGenerator, ParsedOutput } from "./job-load-generator";
import type { RunnerPhase, RunnerRecord } from "./runner-record";

/** A finished Job. */
export interface JobFacts<R> {
  readonly loadGenerator: JobLoadGenerator<R>;
  /** The phases of the Job: first the warm-up, if there was a warm-up, and then the measurement. */
  readonly phases: readonly R[];
  /** Seed of the first runner. Each further runner has the next higher number. */
  readonly seed: number;
  readonly startedAt: string;
  /** Start of the measurement, milliseconds since the epoch. */
  readonly begunMs: number;
  /** Records of the runners, in the order of the runners. */
  readonly records: readonly RunnerRecord[];
  /** Machines of the runners, in the order of the runners. */
  readonly machines: readonly string[];
  /** CPU limit of each runner, cores. */
  readonly cpuLimit: number | undefined;
  /** Machines on which servers of the deployment under test run. */
  readonly servers: ReadonlySet<string>;
  /** Whether runners were allowed to run on the servers' machines. */
  readonly sharing: boolean;
  /** Descriptions of kernel settings that differ from the expected settings on the runners' machines. */
  readonly untuned: readonly string[];
}

/**
 * Smallest share of the measured time in which all runners must run at the same time. With a smaller share, the result
 * has a warning.
 */
const OVERLAP_LIMIT = 0.95;

/** The measurement of one runner. */
interface RunnerMeasurement {
  readonly name: string;
  readonly machine: string;
  readonly cores: number;
  readonly phase: RunnerPhase;
  readonly output: ParsedOutput;
  readonly fromMs: number;
  readonly toMs: number;
}

/**
 * Adds up the results of the runners.
 * @throws LoadGeneratorFailure if the load generator of a runner failed or its output cannot be parsed
 */
export function jobOutcome<R>(facts: JobFacts<R>): LoadOutcome {
  const { loadGenerator, seed } = facts;
  const measured = facts.phases.at(-1);
  if (measured === undefined) throw new Error("the Job sent no load");
  const runs = facts.records.map((record, index) => runnerMeasurement(record, index, facts));
  const fromMs = Math.max(...runs.map((run) => run.fromMs));
  const toMs = Math.min(...runs.map((run) => run.toMs));
  return {
    ...merged(runs.map(({ output }) => output)),
    fromMs,
    toMs: Math.max(fromMs, toMs),
    startedAt: facts.startedAt,
    outputs: outputsOf(facts),
    cpu: cpuOf(runs, loadGenerator.threads(measured), facts),
    runners: runs.map(({ name, machine, phase, output: { report } }, index) => ({
      name,
      machine,
      seed: seed + index,
      requests: report.requests,
      rps: report.rate,
      seconds: report.seconds,
      p99Ms: report.p99Ms,
      cpu: coresOf(phase),
    })),
    warnings: [
      ...runs.flatMap(({ output }) => output.warnings),
      ...sharingWarnings(runs, facts),
      ...overlapWarnings(runs),
      ...facts.untuned.map((text): Warning => ({ code: "machine-untuned", text })),
    ],
  };
}

/**
 * Merges the outputs of all runners. Rates are added. If all runners have histograms, percentiles are computed from the
 * histograms. Otherwise, percentiles are computed from the sum of the counts.
 */
function merged(outputs: readonly ParsedOutput[]): Pick<LoadOutcome, "report" | "latencies" | "offering"> {
  const report = mergeReports(outputs.map((output) => output.report));
  const histograms = outputs.flatMap(({ latencies }) => latencies ?? []);
  const tallies = outputs.flatMap(({ tally }) => tally ?? []);
  if (histograms.length < outputs.length) return { report };
  const latencies = Histogram.merge(histograms);
  const offering = tallies.length === 0 ? undefined : openLoopCounts(Tally.merge(tallies), report.seconds);
  return { report: { ...report, ...latencySummary(report.title, latencies) }, latencies, offering };
}

/**
 * Returns the measurement of one runner. Its measured time is only the last part of the phase, because the load
 * generator connects first.
 */
function runnerMeasurement<R>(
  record: RunnerRecord,
  index: number,
  { loadGenerator, phases, machines, begunMs, records }: JobFacts<R>,
): RunnerMeasurement {
  const phase = record.phases.at(-1);
  const machine = machines[index] ?? "";
  const name = `runner ${index}`;
  const where = records.length === 1 ? "" : `${name} on ${machine}: `;
  for (const [number, { exit, text }] of record.phases.entries()) {
    if (exit === 0) continue;
    const what = `${where}${number < record.phases.length - 1 ? "warm-up: " : ""}${loadGenerator.program}`;
    throw new LoadGeneratorFailure(`${what} failed with exit status ${exit}: ${lastTwoLines(text)}`, text);
  }
  const run = phases.at(-1);
  if (phase === undefined || run === undefined) throw new LoadGeneratorFailure(`${where}the runner sent no load`, "");
  const output = parseOutput(loadGenerator, run, phase.text, where);
  const toMs = begunMs + phase.seconds * 1000 - output.trailingMs;
  return { name, machine, cores: record.cores, phase, output, fromMs: toMs - output.report.seconds * 1000, toMs };
}

function parseOutput<R>(loadGenerator: JobLoadGenerator<R>, run: R, text: string, where: string): ParsedOutput {
  try {
    return loadGenerator.parse(text, run);
  } catch (error) {
    throw new LoadGeneratorFailure(`${where}${messageOf(error)}`, text, { cause: error });
  }
}

function outputsOf<R>({ loadGenerator, phases, records, machines }: JobFacts<R>): LoadGeneratorOutput[] {
  return phases.flatMap((phase, number) =>
    records.map((record, index): LoadGeneratorOutput => ({
      warmUp: number < phases.length - 1,
      runner: records.length === 1 ? undefined : `runner ${index} on ${machines[index] ?? ""}`,
      command: loadGenerator.command(phase, index, records.length),
      text: record.phases[number]?.text ?? "",
    })),
  );
}

function coresOf({ cpuSeconds, seconds }: RunnerPhase): number | null {
  return seconds > 0 ? cpuSeconds / seconds : null;
}

function cpuOf(
  runs: readonly RunnerMeasurement[],
  threads: number,
  { cpuLimit, servers }: Pick<JobFacts<unknown>, "cpuLimit" | "servers">,
): LoadOutcome["cpu"] {
  const machines = [...new Map(runs.map((run) => [run.machine, run])).values()];
  const sumOverMachines = (seconds: (machine: NonNullable<RunnerPhase["machine"]>) => number): number | null => {
    const rates = machines.flatMap(({ phase }) =>
      phase.machine === undefined || phase.seconds <= 0 ? [] : [seconds(phase.machine) / phase.seconds],
    );
    return rates.length === machines.length ? sum(rates) : null;
  };
  const clients = runs.flatMap(({ phase }) => coresOf(phase) ?? []);
  return {
    client: clients.length === runs.length ? sum(clients) : null,
    clientLimit: sum(runs.map(({ cores }) => Math.min(threads, cores, cpuLimit ?? Infinity))),
    // This program runs on a different machine, so it uses no CPU of the runners' machines.
    program: 0,
    serversHere: [...servers].every((server) => machines.some(({ machine }) => machine === server)),
    machineBusy: sumOverMachines(({ busySeconds }) => busySeconds),
    machineStolen: sumOverMachines(({ stolenSeconds }) => stolenSeconds),
    machineCores: sum(machines.map(({ cores }) => cores)),
  };
}

/**
 * Returns a warning if runners were allowed on the servers' machines. The warning is needed even if no runner used such
 * a machine, because runners may use one in the next run.
 */
function sharingWarnings(
  runs: readonly RunnerMeasurement[],
  { servers, sharing }: Pick<JobFacts<unknown>, "servers" | "sharing">,
): Warning[] {
  if (!sharing) return [];
  const guests = runs.filter(({ machine }) => servers.has(machine));
  const machines = [...new Set(guests.map(({ machine }) => machine))];
  const text =
    guests.length === 0
      ? "runners were allowed on machines with servers of the deployment, but none of them ran on such a machine"
      : `${guests.length} of ${runs.length} runners shared machines with servers of the deployment ` +
        `(${machines.join(", ")}); runners and servers take CPU from each other`;
  return [{ code: "shared-machine", text }];
}

function overlapWarnings(runs: readonly RunnerMeasurement[]): Warning[] {
  const common = Math.min(...runs.map(({ toMs }) => toMs)) - Math.max(...runs.map(({ fromMs }) => fromMs));
  const whole = Math.max(...runs.map(({ toMs }) => toMs)) - Math.min(...runs.map(({ fromMs }) => fromMs));
  const part = Math.max(0, common) / whole;
  if (part >= OVERLAP_LIMIT) return [];
  const share = `${formatPercent(part)} of the measurement`;
  const text = `all runners ran together during only ${share}, so the sum of their rates overstates the rate of the servers`;
  return [{ code: "runners-apart", text }];
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
