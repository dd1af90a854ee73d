/** From what the runners of a Job report to the outcome of one run of the tool. Pure. */
import { messageOf } from "../../../lib/errors";
import { mergeReports, latencySummary } from "../merge-reports";
import type { LoadOutcome, LoadGeneratorOutput } from "../load-runner";
import { LoadGeneratorFailure } from "../load-runner";
import type { Warning } from "../../results/schema";
import { Histogram } from "../../../lib/histogram";
import { offeringOf } from "../open-loop/local-runner";
import { Tally } from "../open-loop/tally";
import type { JobLoadGenerator, ParsedOutput } from "./load-generator";
import type { RunnerPhase, RunnerRecord } from "./runner-record";

/** What is known of a Job's run beside the records. */
export interface JobFacts<R> {
  readonly tool: JobLoadGenerator<R>;
  /** The warm-up, if there was one, and the measured run. */
  readonly phases: readonly R[];
  /** The first runner's; the others have those that follow. */
  readonly seed: number;
  readonly startedAt: string;
  /** When all were told to begin what counts, milliseconds since the epoch. */
  readonly begunMs: number;
  /** By runner. */
  readonly records: readonly RunnerRecord[];
  readonly machines: readonly string[];
  /** Cores each may use, where it has a limit. */
  readonly cpuLimit: number | undefined;
  /** Machines with servers of the deployment under test. */
  readonly servers: ReadonlySet<string>;
  readonly sharing: boolean;
}

/** What the runners have in common must be so much of the time any of them measures. */
const OVERLAP_LIMIT = 0.95;

interface Run {
  readonly name: string;
  readonly machine: string;
  readonly cores: number;
  readonly phase: RunnerPhase;
  readonly reading: ParsedOutput;
  readonly fromMs: number;
  readonly toMs: number;
}

/** @throws ToolFailure when any runner's tool failed or printed what is not understood */
export function jobOutcome<R>(facts: JobFacts<R>): LoadOutcome {
  const { tool, seed } = facts;
  const measured = facts.phases.at(-1);
  if (measured === undefined) throw new Error("nothing was run");
  const runs = facts.records.map((record, index) => runOf(record, index, facts));
  const fromMs = Math.max(...runs.map((run) => run.fromMs));
  const toMs = Math.min(...runs.map((run) => run.toMs));
  return {
    ...merged(runs.map(({ reading }) => reading)),
    fromMs,
    toMs: Math.max(fromMs, toMs),
    startedAt: facts.startedAt,
    outputs: outputsOf(facts),
    cpu: cpuOf(runs, tool.threads(measured), facts),
    runners: runs.map(({ name, machine, phase, reading: { report } }, index) => ({
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
      ...runs.flatMap(({ reading }) => reading.warnings),
      ...sharingWarnings(runs, facts),
      ...overlapWarnings(runs),
    ],
  };
}

/** Rates are added; percentiles are read off added counts, the finest there are. */
function merged(readings: readonly ParsedOutput[]): Pick<LoadOutcome, "report" | "latencies" | "offering"> {
  const report = mergeReports(readings.map((reading) => reading.report));
  const histograms = readings.flatMap(({ latencies }) => latencies ?? []);
  const tallies = readings.flatMap(({ tally }) => tally ?? []);
  if (histograms.length < readings.length) return { report };
  const latencies = Histogram.merge(histograms);
  return {
    report: { ...report, ...latencySummary(report.title, latencies) },
    latencies,
    ...(tallies.length === 0 ? {} : { offering: offeringOf(Tally.merge(tallies), report.seconds) }),
  };
}

/** What counts is the last that the program does, or as long before its end as it says. */
function runOf<R>(record: RunnerRecord, index: number, { tool, phases, machines, begunMs, records }: JobFacts<R>): Run {
  const phase = record.phases.at(-1);
  const machine = machines[index] ?? "";
  const name = `runner ${index}`;
  const where = records.length === 1 ? "" : `${name} on ${machine}: `;
  for (const [number, { exit, text }] of record.phases.entries()) {
    const what = number < record.phases.length - 1 ? "warm-up: " : "";
    if (exit !== 0)
      throw new LoadGeneratorFailure(
        `${where}${what}${tool.program} failed with exit status ${exit}: ${lastWords(text)}`,
        text,
      );
  }
  const run = phases.at(-1);
  if (phase === undefined || run === undefined) throw new LoadGeneratorFailure(`${where}it ran nothing`, "");
  const reading = readingOf(tool, run, phase.text, where);
  const toMs = begunMs + phase.seconds * 1000 - reading.trailingMs;
  return { name, machine, cores: record.cores, phase, reading, fromMs: toMs - reading.report.seconds * 1000, toMs };
}

function readingOf<R>(tool: JobLoadGenerator<R>, run: R, text: string, where: string): ParsedOutput {
  try {
    return tool.parse(text, run);
  } catch (error) {
    throw new LoadGeneratorFailure(`${where}${messageOf(error)}`, text, { cause: error });
  }
}

function outputsOf<R>({ tool, phases, records, machines }: JobFacts<R>): LoadGeneratorOutput[] {
  return phases.flatMap((phase, number) =>
    records.map((record, index): LoadGeneratorOutput => ({
      warmUp: number < phases.length - 1,
      runner: records.length === 1 ? undefined : `runner ${index} on ${machines[index] ?? ""}`,
      command: tool.command(phase, index, records.length),
      text: record.phases[number]?.text ?? "",
    })),
  );
}

function coresOf({ cpuSeconds, seconds }: RunnerPhase): number | null {
  return seconds > 0 ? cpuSeconds / seconds : null;
}

function cpuOf(
  runs: readonly Run[],
  threads: number,
  { cpuLimit, servers }: Pick<JobFacts<unknown>, "cpuLimit" | "servers">,
): LoadOutcome["cpu"] {
  const machines = [...new Map(runs.map((run) => [run.machine, run])).values()];
  const overMachines = (figure: (machine: NonNullable<RunnerPhase["machine"]>) => number): number | null => {
    const rates = machines.flatMap(({ phase }) =>
      phase.machine === undefined || phase.seconds <= 0 ? [] : [figure(phase.machine) / phase.seconds],
    );
    return rates.length === machines.length ? sum(rates) : null;
  };
  const clients = runs.flatMap(({ phase }) => coresOf(phase) ?? []);
  return {
    client: clients.length === runs.length ? sum(clients) : null,
    clientLimit: sum(runs.map(({ cores }) => Math.min(threads, cores, cpuLimit ?? Infinity))),
    // This program runs elsewhere.
    program: 0,
    serversHere: [...servers].every((server) => machines.some(({ machine }) => machine === server)),
    machineBusy: overMachines(({ busySeconds }) => busySeconds),
    machineStolen: overMachines(({ stolenSeconds }) => stolenSeconds),
    machineCores: sum(machines.map(({ cores }) => cores)),
  };
}

/** Wherever they were allowed to: that none did is luck, which the next run may not have. */
function sharingWarnings(
  runs: readonly Run[],
  { servers, sharing }: Pick<JobFacts<unknown>, "servers" | "sharing">,
): Warning[] {
  if (!sharing) return [];
  const guests = runs.filter(({ machine }) => servers.has(machine));
  const machines = [...new Set(guests.map(({ machine }) => machine))];
  const text =
    guests.length === 0
      ? "load generators were allowed on machines with servers of the deployment, though none ran on one"
      : `${guests.length} of ${runs.length} load generators ran on machines with servers of the deployment (${machines.join(", ")}), and they take each other's CPU`;
  return [{ code: "shared-machine", text }];
}

function overlapWarnings(runs: readonly Run[]): Warning[] {
  const common = Math.min(...runs.map(({ toMs }) => toMs)) - Math.max(...runs.map(({ fromMs }) => fromMs));
  const whole = Math.max(...runs.map(({ toMs }) => toMs)) - Math.min(...runs.map(({ fromMs }) => fromMs));
  const part = Math.max(0, common) / whole;
  if (part >= OVERLAP_LIMIT) return [];
  return [
    {
      code: "runners-apart",
      text: `the load generators ran all at once for ${(part * 100).toFixed(1)} % of the time only, and the sum of their rates is more than there ever was`,
    },
  ];
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function lastWords(text: string): string {
  const lines = text
    .split(/[\r\n]+/)
    .map((line) => line.trim())
    .filter((line) => line !== "");
  return lines.slice(-2).join(" / ") || "it printed nothing";
}
