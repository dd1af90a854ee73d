/** The whole measuring of one run: prefilled, interleaved, repeated, with reference loads, deployment against deployment. */
import { randomInt } from "node:crypto";
import { BadInput, Failure, messageOf } from "../../lib/errors";
import type { ReportProgress } from "../../lib/progress";
import type { ReferenceLoadRecord, MeasurementRecord } from "../results/schema";
import type { ValkeyBenchmarkRun } from "../load/valkey-benchmark/arguments";
import { effectiveLength } from "../load/valkey-benchmark/arguments";
import type { OpenLoopRun } from "../load/open-loop/local-runner";
import type { MemtierRun } from "../load/memtier/arguments";
import type { MemtierWorkload, MixedWorkload } from "../workloads/mixed-workload";
import { prefillForMixed, testForMixed, workloadForMixed } from "../workloads/mixed-workload-tests";
import type { TestName } from "../workloads/named-tests";
import { NAMED_TESTS, namedTest } from "../workloads/named-tests";
import type { PrefillSize } from "../workloads/prefill";
import type { Workload } from "../workloads/workload";
import { mixedWorkloadRecord, namedTestRecord } from "./measurement-records";
import type { CountedCommands, MeasuredLoad, MeasuredNode } from "./measure";
import { countedCommands, countedCommandsOfMixed, measure } from "./measure";
import { CHECK_CONNECTION_FACTOR, CHECK_SECONDS, connectionWarnings, needsConnectionCheck } from "./connection-check";
import { assertRunnerSupports } from "./runner-support";
import { interleave } from "./schedule";
import type { VerifiedDeployment } from "./session";
import { Session } from "./session";
import type { LoadRunner, ValkeyBenchmarkRunner } from "../load/load-runner";
import { LoadGeneratorFailure } from "../load/load-runner";

export interface MeasurementSeries {
  readonly deployments: readonly VerifiedDeployment[];
  readonly workload: Workload;
  /** Measured after the workload's tests, each in every round. */
  readonly mixedWorkloads?: readonly MixedWorkload[] | undefined;
  readonly repeats: number;
  /** Set where the servers are somebody's: keys are put there only where there are none of their names, and removed again. */
  readonly externalKeys?: { readonly overwrite: boolean } | undefined;
  /** Requests per second of the last reference load, where somebody else runs them: a study has its own. */
  readonly referenceRate?: number | undefined;
}

export interface LoadRunners {
  readonly valkeyBenchmark: ValkeyBenchmarkRunner;
  /** For mixes of the load generator. */
  readonly openLoop?: LoadRunner<OpenLoopRun> | undefined;
  readonly memtier?: LoadRunner<MemtierRun> | undefined;
  readonly signal: AbortSignal;
}

/** Told of everything as it happens, so that nothing measured is lost when the rest is. */
export interface MeasurementListener {
  readonly progress: ReportProgress;
  readonly referenceLoad: (referenceLoad: ReferenceLoadRecord) => void;
  readonly record: (record: MeasurementRecord) => void;
  /** The tool's output, untouched. */
  readonly raw: (heading: string, output: string) => void;
}

/**
 * The fixed load of every reference load: it depends on nothing a user sets, and touches no data. Its rate is also more
 * than any test's with as few clients could be.
 */
export const REFERENCE_LOAD: Workload = {
  name: "reference-load",
  tests: ["ping_mbulk"],
  clients: 12,
  pipeline: 16,
  dataSize: 3,
  threads: 1,
  keySpace: 1,
  length: { seconds: 1 },
  warmup: 0,
  rate: undefined,
};
/** What a reference load sends where the tool cannot be told a duration. */
const REFERENCE_LOAD_REQUESTS = 500_000;
/** How often a run of the tool that hangs is begun. */
const ATTEMPTS = 2;
/** Requests of a trial that tells how many a measurement needs, likewise. */
const TRIAL_REQUESTS = 400_000;

type Variant =
  { readonly session: Session; readonly test: TestName } | { readonly session: Session; readonly mix: MixedWorkload };

/**
 * Measures every test on every deployment, `repeats` times.
 * @throws ToolFailure, Failure, or the signal's reason; what was measured before has been reported
 */
export async function runMeasurements(
  experiment: MeasurementSeries,
  equipment: LoadRunners,
  listener: MeasurementListener,
): Promise<void> {
  assertRunnerSupports(experiment, equipment.valkeyBenchmark);
  const sessions: Session[] = [];
  try {
    for (const contender of experiment.deployments)
      sessions.push(await Session.open(contender, experiment.externalKeys));
    await new Measuring(experiment, sessions, equipment, listener).run();
  } finally {
    await Promise.allSettled(sessions.map((session) => session.close()));
  }
}

/** The fixed load alone, beside what is measured otherwise. @param round under which it is on record */
export async function runReferenceLoad(
  contender: VerifiedDeployment,
  round: number,
  equipment: LoadRunners,
  listener: MeasurementListener,
): Promise<void> {
  const nothing: MeasurementSeries = {
    deployments: [contender],
    workload: { ...REFERENCE_LOAD, tests: [] },
    repeats: 0,
  };
  await runMeasurements(nothing, equipment, {
    ...listener,
    progress: () => undefined,
    referenceLoad: (referenceLoad) => {
      listener.referenceLoad({ ...referenceLoad, round });
    },
  });
}

class Measuring {
  /** Requests per second of the last reference load. */
  #ceiling = 0;
  readonly #trialRates = new Map<string, number>();
  /** Of what was sent once more over twice the connections. */
  readonly #probeRates = new Map<string, number>();
  readonly #seed = randomInt(1, 1_000_000_000);
  #runs = 0;

  constructor(
    private readonly experiment: MeasurementSeries,
    private readonly sessions: readonly Session[],
    private readonly equipment: LoadRunners,
    private readonly listener: MeasurementListener,
  ) {}

  async run(): Promise<void> {
    const { workload, mixedWorkloads, repeats, referenceRate } = this.experiment;
    if (referenceRate !== undefined) this.#ceiling = referenceRate;
    const groups = [
      ...workload.tests.map((test) => this.sessions.map((session): Variant => ({ session, test }))),
      ...(mixedWorkloads ?? []).map((mix) => this.sessions.map((session): Variant => ({ session, mix }))),
    ];
    for (const step of interleave(groups, repeats)) {
      this.equipment.signal.throwIfAborted();
      if (step.kind === "reference-load") {
        if (referenceRate === undefined) await this.#referenceLoad(step.round);
      } else if ("mix" in step.variant) await this.#measureMix(step.round, step.variant.session, step.variant.mix);
      else await this.#measure(step.round, step.variant.session, step.variant.test);
    }
  }

  async #referenceLoad(round: number): Promise<void> {
    const [session] = this.sessions;
    if (session === undefined) throw new Failure("there is no deployment to measure");
    this.listener.progress(`reference load ${round} of ${this.experiment.repeats + 1}`, true);
    const length = this.equipment.valkeyBenchmark.features.duration
      ? REFERENCE_LOAD.length
      : { requests: REFERENCE_LOAD_REQUESTS };
    const tool: ValkeyBenchmarkRun = {
      ...this.#tool(session, "ping_mbulk", REFERENCE_LOAD),
      mode: "replication",
      length,
    };
    const measured = await this.#attempt(`reference load ${round}`, session, tool);
    this.#ceiling = measured.report.rate;
    this.listener.referenceLoad({ round, rps: measured.report.rate, startedAt: measured.startedAt });
  }

  async #measure(round: number, session: Session, testName: TestName): Promise<void> {
    const { signal } = this.equipment;
    const test = namedTest(testName);
    const what = `round ${round} of ${this.experiment.repeats}: ${test.title} on ${session.deployment.name}`;
    const size = this.#size();
    this.listener.progress(`${what}: putting its keys in place`, true);
    await session.prepareKeys(test, size, signal);
    const tool = await this.#sized(what, session, testName);
    this.listener.progress(what, true);
    const measured = await this.#attempt(what, session, tool, session.nodes, this.#warmUp(tool));
    const empty = await session.removeChangedKeys(test, size);
    const record = namedTestRecord(measured, {
      deployment: session.deployment,
      testName,
      run: tool,
      round,
      ranEmpty: empty,
    });
    // What takes its elements away has none left for a probe.
    if (test.leaves !== "same") this.#record(what, record);
    else
      await this.#probed(what, record, (seconds) =>
        this.#attempt(`${what}, probe`, session, {
          ...tool,
          seed: this.#nextSeed(),
          length: "seconds" in tool.length ? { seconds } : tool.length,
          workload: { ...tool.workload, clients: tool.workload.clients * CHECK_CONNECTION_FACTOR },
        }),
      );
  }

  async #measureMix(round: number, session: Session, mix: MixedWorkload): Promise<void> {
    const { signal } = this.equipment;
    const { deployment } = session;
    const what = `round ${round} of ${this.experiment.repeats}: ${mix.name} on ${deployment.name}`;
    const keys = prefillForMixed(mix);
    this.listener.progress(`${what}: putting its keys in place`, true);
    await session.prepareKeys({ prefill: keys.what }, keys.size, signal);
    this.listener.progress(what, true);
    const seed = this.#nextSeed();
    const record = mixedWorkloadRecord(await this.#sendMix(what, session, mix, seed), {
      deployment,
      workload: mix,
      seed,
      round,
    });
    await this.#probed(what, record, (seconds) =>
      this.#sendMix(
        `${what}, probe`,
        session,
        { ...mix, clients: mix.clients * CHECK_CONNECTION_FACTOR, length: { seconds }, warmup: 0 },
        this.#nextSeed(),
      ),
    );
  }

  /** A deployment and a load are probed once: every round has the same limit. */
  async #probed(
    what: string,
    record: MeasurementRecord,
    probe: (seconds: number) => Promise<MeasuredLoad>,
  ): Promise<void> {
    const key = `${record.deployment} ${record.test}`;
    if (needsConnectionCheck(record) && !this.#probeRates.has(key)) {
      this.listener.progress(`${what}: nobody was the limit; again over twice the connections`, true);
      this.#probeRates.set(key, (await probe(Math.min(CHECK_SECONDS, record.client.seconds))).report.rate);
    }
    const rate = this.#probeRates.get(key);
    this.#record(
      what,
      rate !== undefined && needsConnectionCheck(record)
        ? { ...record, warnings: [...record.warnings, ...connectionWarnings(record.client.rps, rate)] }
        : record,
    );
  }

  #sendMix(what: string, session: Session, mix: MixedWorkload, seed: number): Promise<MeasuredLoad> {
    const warming = { ...mix, length: { seconds: mix.warmup } };
    switch (mix.loadGenerator) {
      case "valkey-benchmark": {
        const workload = workloadForMixed(mix);
        const { mode, access } = session.deployment;
        const tool: ValkeyBenchmarkRun = {
          mode,
          endpoint: session.endpoint,
          test: testForMixed(mix, mode === "cluster"),
          workload,
          length: mix.length,
          seed,
          readFrom: mix.readFrom,
          credentials: session.user,
          tls: access.tls,
        };
        const warmUp = mix.warmup === 0 ? undefined : { ...tool, seed: this.#nextSeed(), length: warming.length };
        return this.#attempt(what, session, tool, session.nodes, warmUp);
      }
      case "open-loop": {
        const run: OpenLoopRun = { mix, primary: session.primary.name, seed, credentials: session.user };
        const warmUp =
          mix.warmup === 0 ? undefined : { ...run, mix: { ...mix, length: warming.length }, seed: this.#nextSeed() };
        return this.#send(
          what,
          session,
          run,
          warmUp,
          countedCommandsOfMixed(mix),
          needed(this.equipment.openLoop, mix),
        );
      }
      case "memtier":
        return this.#send(
          what,
          session,
          this.#memtier(mix, session),
          mix.warmup === 0 ? undefined : this.#memtier({ ...mix, length: warming.length }, session),
          countedCommandsOfMixed(mix),
          needed(this.equipment.memtier, mix),
        );
    }
  }

  #memtier(mix: MemtierWorkload, { deployment, endpoint, primaryCount, user }: Session): MemtierRun {
    return {
      mix,
      mode: deployment.mode,
      endpoint,
      primaries: primaryCount,
      credentials: user,
      tls: deployment.access.tls,
    };
  }

  #record(what: string, record: MeasurementRecord): void {
    this.listener.record(record);
    this.listener.progress(
      `${what}: ${Math.round(record.client.rps).toLocaleString("en-US")}/s, p50 ${record.client.p50Ms} ms${record.offering === null ? "" : `, p99 ${record.client.p99Ms} ms`}`,
    );
  }

  #size(): PrefillSize {
    const { keySpace, dataSize, length, warmup, clients, pipeline } = this.experiment.workload;
    // A reference load's rate is faster than any command that takes something, with a fifth to spare.
    const stock =
      "requests" in length
        ? length.requests + clients * pipeline * this.equipment.valkeyBenchmark.count
        : Math.ceil(this.#ceiling * 1.2 * (length.seconds + warmup + 0.5));
    const takes = this.experiment.workload.tests.some((test) => NAMED_TESTS[test].leaves === "less");
    return { keySpace, dataSize, stock: takes ? stock : 0 };
  }

  #tool(session: Session, test: TestName, workload: Workload): ValkeyBenchmarkRun {
    return {
      mode: session.deployment.mode,
      endpoint: session.endpoint,
      test: namedTest(test),
      workload,
      length: workload.length,
      seed: this.#nextSeed(),
      credentials: session.user,
      tls: session.deployment.access.tls,
    };
  }

  /** Each load generator takes one, from the run's on. */
  #nextSeed(): number {
    const seed = this.#seed + this.#runs;
    this.#runs += this.equipment.valkeyBenchmark.count;
    return seed;
  }

  /** A run of its own, before anything counts: see `toolArguments`. */
  #warmUp(tool: ValkeyBenchmarkRun): ValkeyBenchmarkRun | undefined {
    const { warmup } = this.experiment.workload;
    if (warmup === 0 || !this.equipment.valkeyBenchmark.features.duration) return undefined;
    return { ...tool, seed: this.#nextSeed(), length: { seconds: warmup } };
  }

  /** With a length this tool can be told; where it cannot be told seconds, a trial finds the count that takes as long. */
  async #sized(what: string, session: Session, testName: TestName): Promise<ValkeyBenchmarkRun> {
    const { workload } = this.experiment;
    const tool = this.#tool(session, testName, workload);
    if ("requests" in workload.length || this.equipment.valkeyBenchmark.features.duration) return tool;
    const key = `${session.deployment.name} ${testName}`;
    let rate = this.#trialRates.get(key);
    if (rate === undefined) {
      this.listener.progress(`${what}: a trial, because this valkey-benchmark has no --duration`);
      rate = (await this.#attempt(`${what}, trial`, session, { ...tool, length: { requests: TRIAL_REQUESTS } })).report
        .rate;
      this.#trialRates.set(key, rate);
    }
    return {
      ...tool,
      length: effectiveLength(workload, session.deployment.mode, this.equipment.valkeyBenchmark.features, rate),
    };
  }

  async #send<R>(
    what: string,
    { deployment, primary, nodes }: Session,
    tool: R,
    warmUp: R | undefined,
    commands: CountedCommands,
    runner: LoadRunner<R>,
    watched: readonly MeasuredNode[] = nodes,
  ): Promise<MeasuredLoad> {
    const measured = await measure(
      { deployment, primary, run: tool, warmUp },
      commands,
      watched,
      runner,
      this.equipment.signal,
    );
    for (const { warmUp: isWarmUp, runner: who, command, text } of measured.outputs) {
      this.listener.raw(
        `${what}${isWarmUp ? ", warm-up" : ""}${who === undefined ? "" : `, ${who}`}: ${command.join(" ")}`,
        text,
      );
    }
    return measured;
  }

  /** One run of the tool, again if it hangs; its output is reported whether it succeeds or not. */
  async #attempt(
    what: string,
    session: Session,
    tool: ValkeyBenchmarkRun,
    nodes: readonly MeasuredNode[] = [],
    warmUp?: ValkeyBenchmarkRun,
    left = ATTEMPTS,
  ): Promise<MeasuredLoad> {
    try {
      return await this.#send(
        what,
        session,
        tool,
        warmUp,
        countedCommands(tool),
        this.equipment.valkeyBenchmark,
        nodes,
      );
    } catch (error) {
      if (error instanceof LoadGeneratorFailure) {
        this.listener.raw(`${what}: failed`, error.output);
        if (error.hung && left > 1) {
          this.listener.progress(`${what}: valkey-benchmark did not end and was ended; again`);
          return this.#attempt(what, session, tool, nodes, warmUp, left - 1);
        }
        throw new LoadGeneratorFailure(`${what}: ${messageOf(error)}`, error.output, {
          hung: error.hung,
          cause: error,
        });
      }
      throw error;
    }
  }
}

/** @throws BadInput where nobody here runs loads of the mix's load generator */
function needed<R>(runner: LoadRunner<R> | undefined, { name, loadGenerator }: MixedWorkload): LoadRunner<R> {
  if (runner === undefined)
    throw new BadInput(`workload ${name}`, [`nothing here can run the load generator ${loadGenerator}`]);
  return runner;
}
