import { type LoadOutcome, type LoadGeneratorOutput, LoadGeneratorFailure } from "../load-driver";
import type { GeneratorMeasurement } from "../load-generator";
import { commonTimeWarnings, mergeOutputs, parsedOutput, recordedRunner } from "../load-generator";
import { lastTwoLines } from "../local-process";
import type { Warning } from "../../results/schema";
import type { CredentialedRun, JobLoadGenerator } from "./load-generators";
import type { RunnerPhase, RunnerRecord } from "./runner-record";

export interface JobFacts<R extends CredentialedRun> {
  readonly loadGenerator: JobLoadGenerator<R>;
  readonly phases: readonly R[];
  /** Each further runner has the next higher number. */
  readonly seed: number;
  readonly startedAt: string;
  readonly begunMs: number;
  readonly records: readonly RunnerRecord[];
  readonly machines: readonly string[];
  readonly cpuLimit: number | undefined;
  readonly servers: ReadonlySet<string>;
  readonly sharing: boolean;
  readonly untuned: readonly string[];
}

interface RunnerMeasurement extends GeneratorMeasurement {
  readonly cores: number;
  readonly phase: RunnerPhase;
}

export function jobOutcome<R extends CredentialedRun>(facts: JobFacts<R>): LoadOutcome {
  const { loadGenerator } = facts;
  const measured = facts.phases.at(-1);
  if (measured === undefined) throw new Error("the Job sent no load");
  const runs = facts.records.map((record, index) => runnerMeasurement(record, index, facts));
  const fromMs = Math.max(...runs.map((run) => run.fromMs));
  const toMs = Math.min(...runs.map((run) => run.toMs));
  return {
    ...mergeOutputs(runs.map(({ output }) => output)),
    fromMs,
    toMs: Math.max(fromMs, toMs),
    startedAt: facts.startedAt,
    outputs: outputsOf(facts),
    cpu: cpuOf(runs, loadGenerator.threads(measured), facts),
    runners: runs.map(recordedRunner),
    warnings: [
      ...runs.flatMap(({ output }) => output.warnings),
      ...sharingWarnings(runs, facts),
      ...commonTimeWarnings(
        runs,
        (part) =>
          `all runners ran together during ${part}, so the sum of their rates overstates the rate of the servers`,
      ),
      ...facts.untuned.map((text): Warning => ({ code: "machine-untuned", text })),
    ],
  };
}

/** The measured time is only the last part of the phase, because the load generator connects first. */
function runnerMeasurement<R extends CredentialedRun>(
  record: RunnerRecord,
  index: number,
  { loadGenerator, phases, seed, machines, begunMs, records }: JobFacts<R>,
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
  const { text } = phase;
  const output = parsedOutput(() => loadGenerator.parse(text, run), text, where);
  const toMs = begunMs + phase.seconds * 1000 - (output.trailingMs ?? 0);
  const fromMs = toMs - output.report.seconds * 1000;
  const { cores } = record;
  return { name, machine, seed: seed + index, output, fromMs, toMs, cpu: coresOf(phase), cores, phase };
}

function outputsOf<R extends CredentialedRun>({
  loadGenerator,
  phases,
  records,
  machines,
}: JobFacts<R>): LoadGeneratorOutput[] {
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
  { cpuLimit, servers }: Pick<JobFacts<CredentialedRun>, "cpuLimit" | "servers">,
): LoadOutcome["cpu"] {
  const machines = [...new Map(runs.map((run) => [run.machine, run])).values()];
  const sumOverMachines = (seconds: (machine: NonNullable<RunnerPhase["machine"]>) => number): number | null => {
    const rates = machines.flatMap(({ phase }) =>
      phase.machine === undefined || phase.seconds <= 0 ? [] : [seconds(phase.machine) / phase.seconds],
    );
    return rates.length === machines.length ? sum(rates) : null;
  };
  const clients = runs.flatMap(({ cpu }) => cpu ?? []);
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

/** Needed even if no runner used such a machine, because runners may use one in the next run. */
function sharingWarnings(
  runs: readonly RunnerMeasurement[],
  { servers, sharing }: Pick<JobFacts<CredentialedRun>, "servers" | "sharing">,
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

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
