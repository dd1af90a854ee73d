import { randomInt } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { readInfoSections } from "../../../valkey/connection";
import { Failure, messageOf } from "../../../lib/errors";
import { signalChildGroup } from "../../../platforms/host/processes";
import { epochMs } from "../../../lib/clock";
import { parseCounters } from "../../measuring/counters";
import type { Session } from "../../measuring/session";
import { type TestName, commandsOfTest, namedTest } from "../../workloads/named-tests";
import { type TreatmentServers, type StudyEnvironment, withServers, withSession } from "./treatment-servers";
import type { Treatment } from "../factors";
import { PausableLoad } from "./pausable-load";
import type { InterleavedEntry, SliceCounts } from "../checkpoint-log";
import { type TreatmentPair, commonTests } from "../pairs";
import { type Pinning, parseCpuList } from "../pinning";

/** Limits of a side's slices, seconds. On a noisy machine with two cores, six rounds of 3 s give about 4 %. */
const MIN_SECONDS = 1;
const MAX_SECONDS = 3;
/** During this time, connections are opened and memory is used for the first time. */
const WARMUP_SECONDS = 0.2;
const START_TIMEOUT_MS = 10_000;
const POLL_MS = 10;
/** During this time, replies to requests in flight arrive. */
const SETTLE_MS = 20;

/**
 * @param pinnings undefined without pinning
 * @param random from 0 to below 1, for the order and lengths of slices
 * @throws Failure when servers or load generators fail; the reason of the signal if it is aborted
 */
export async function measureInterleaved(
  { base, other }: TreatmentPair,
  round: number,
  pinnings: Pair<Pinning | undefined>,
  random: () => number,
  environment: StudyEnvironment,
): Promise<InterleavedEntry> {
  const began = performance.now();
  const tests: InterleavedEntry["tests"] = [];
  const measured = async (sides: Pair<Side>, signal: AbortSignal): Promise<void> => {
    for (const test of commonTests({ base, other })) {
      const what = `${namedTest(test).title} on ${base.label} and ${other.label}`;
      environment.report(`round ${round}: ${what}, interleaved`, true);
      const counts = await inSlices(test, sides, secondsOf({ base, other }), random, signal);
      environment.raw(
        `round ${round}, ${what}, interleaved`,
        sides.map((side, index) => `${side.command}\n${JSON.stringify(counts[index])}`).join("\n"),
      );
      tests.push({
        test,
        ...(sides[0].treatment === base
          ? { base: counts[0], other: counts[1] }
          : { base: counts[1], other: counts[0] }),
      });
    }
  };
  const both = [
    { treatment: base, pinning: pinnings[0] },
    { treatment: other, pinning: pinnings[1] },
  ] as const;
  // The order is random, because the side that starts second finds less free memory and CPU.
  const [first, second] = random() < 0.5 ? both : [both[1], both[0]];
  await withServers(first.treatment, first.pinning, environment, (one) =>
    withServers(second.treatment, second.pinning, { ...environment, signal: one.signal }, (two) =>
      withSide(first, one, environment, (sideOne) =>
        withSide(second, two, environment, (sideTwo) => measured([sideOne, sideTwo], two.signal)),
      ),
    ),
  );
  return {
    kind: "interleaved",
    round,
    base: base.id,
    other: other.id,
    seconds: (performance.now() - began) / 1000,
    tests,
  };
}

class Side {
  command = "";

  constructor(
    readonly treatment: Treatment,
    private readonly servers: TreatmentServers,
    private readonly session: Session,
    private readonly cpus: readonly number[] | undefined,
    private readonly environment: Pick<StudyEnvironment, "benchmark" | "features">,
  ) {}

  async prepare(test: TestName, signal: AbortSignal): Promise<void> {
    const { keySpace, dataSize } = this.treatment.workload;
    await this.session.prepareKeys(namedTest(test), { keySpace, dataSize, stock: 0 }, signal);
  }

  /** The caller must end these load generators. */
  begin(test: TestName): PausableLoad {
    const { workload, runners } = this.treatment;
    const { deployment, endpoint, user } = this.session;
    const { benchmark, features } = this.environment;
    const tool = {
      mode: deployment.mode,
      endpoint,
      test: namedTest(test),
      workload,
      length: workload.length,
      seed: randomInt(1, 1_000_000_000),
      credentials: user,
      tls: deployment.access.tls,
    };
    const generators = new PausableLoad({
      run: this.servers.host.run,
      benchmark,
      features,
      tool,
      count: runners,
      cpus: this.cpus,
    });
    this.command = generators.command;
    return generators;
  }

  /** @throws Failure that names the node whose counters cannot be read */
  async count(test: TestName): Promise<number> {
    const primaries = this.session.nodes.filter(({ role }) => role === "primary");
    const calls = await Promise.all(
      primaries.map(async ({ name, connection }) => {
        try {
          return parseCounters(
            await readInfoSections(connection, "server", "stats", "commandstats", "cpu"),
            commandsOfTest(namedTest(test)),
            epochMs(),
          ).calls;
        } catch (error) {
          throw new Failure(`the counters of ${name} cannot be read: ${messageOf(error)}`, { cause: error });
        }
      }),
    );
    return calls.reduce((sum, each) => sum + each);
  }

  /** Includes forked processes: one that kept running would use CPU during the slices of the other side. */
  control(generators: PausableLoad): SideControl {
    return {
      resume: () => {
        this.wake();
        generators.resume();
      },
      pause: () => {
        generators.pause();
        this.#signal("SIGSTOP");
      },
    };
  }

  wake(): void {
    this.#signal("SIGCONT");
  }

  #signal(signal: "SIGSTOP" | "SIGCONT"): void {
    for (const { process } of this.servers.host.servers(this.servers.deployment.name))
      signalChildGroup(process, signal);
  }
}

function withSide<T>(
  { treatment, pinning }: { readonly treatment: Treatment; readonly pinning: Pinning | undefined },
  servers: TreatmentServers,
  environment: StudyEnvironment,
  use: (side: Side) => Promise<T>,
): Promise<T> {
  const cpus = pinning === undefined ? undefined : parseCpuList(pinning.clients);
  return withSession(servers, (session) => use(new Side(treatment, servers, session, cpus, environment)));
}

function secondsOf({ base, other }: TreatmentPair): number {
  const wanted = [base, other].map(({ workload: { length } }) => ("seconds" in length ? length.seconds : MAX_SECONDS));
  return Math.min(MAX_SECONDS, Math.max(MIN_SECONDS, ...wanted));
}

async function inSlices(
  test: TestName,
  sides: Pair<Side>,
  seconds: number,
  random: () => number,
  signal: AbortSignal,
): Promise<Pair<SliceCounts>> {
  const running: PausableLoad[] = [];
  try {
    const begin = async (side: Side): Promise<PausableLoad> => {
      await side.prepare(test, signal);
      const before = await side.count(test);
      const generators = side.begin(test);
      running.push(generators);
      await started(side, test, before, AbortSignal.any([signal, generators.failed]));
      generators.pause();
      return generators;
    };
    const generators = [await begin(sides[0]), await begin(sides[1])] as const;
    const controls = [sides[0].control(generators[0]), sides[1].control(generators[1])] as const;
    const any = AbortSignal.any([signal, ...generators.map(({ failed }) => failed)]);
    const alternated = (wanted: number): Promise<Pair<number>> => {
      for (const control of controls) control.pause();
      return interleaveSlices(controls, wanted, random, any);
    };
    await alternated(WARMUP_SECONDS);
    const before = await settled(test, sides);
    const had = await alternated(seconds);
    const after = await settled(test, sides);
    const counts = (which: 0 | 1): SliceCounts => ({ requests: after[which] - before[which], seconds: had[which] });
    const both = [counts(0), counts(1)] as const;
    const silent = sides.filter((_, which) => both[which]?.requests === 0);
    if (silent.length > 0)
      throw new Failure(
        `${namedTest(test).title}: ${silent.map(({ treatment }) => treatment.label).join(" and ")} received no request during ${seconds} s of load`,
      );
    return both;
  } finally {
    for (const side of sides) side.wake();
    await Promise.all(running.map((each) => each.end()));
  }
}

async function settled(test: TestName, sides: Pair<Side>): Promise<Pair<number>> {
  for (const side of sides) side.wake();
  await sleep(SETTLE_MS);
  return [await sides[0].count(test), await sides[1].count(test)];
}

/** @throws Failure if no request arrives; the reason of the signal if the signal is aborted */
async function started(side: Side, test: TestName, before: number, signal: AbortSignal): Promise<void> {
  const began = performance.now();
  while ((await side.count(test)) === before) {
    signal.throwIfAborted();
    if (performance.now() - began > START_TIMEOUT_MS)
      throw new Failure(`${namedTest(test).title}: the load generator sends nothing`);
    await sleep(POLL_MS);
  }
}

/** A fixed length would interfere with periodic noise. */
const MIN_SLICE_MS = 5;
const MAX_SLICE_MS = 15;

export interface SideControl {
  readonly resume: () => void;
  /** First the load generators, so that no request is answered during a slice of the other side. */
  readonly pause: () => void;
}

type Pair<T> = readonly [T, T];

export interface Clock {
  readonly now: () => number;
  readonly sleep: (length: number) => Promise<unknown>;
}

const CLOCK: Clock = { now: () => performance.now(), sleep };

/**
 * With short slices, both sides (servers and load generators of a treatment) have the same conditions: longer noise
 * affects both, and shorter noise averages out over hundreds of slices. Both sides must be paused, and are paused when
 * it returns.
 * @param random from 0 to below 1
 * @returns the exact duration of the slices of each side, seconds
 * @throws the reason of the signal if it is aborted
 */
export async function interleaveSlices(
  sides: Pair<SideControl>,
  seconds: number,
  random: () => number,
  signal: AbortSignal,
  clock = CLOCK,
): Promise<Pair<number>> {
  const had: [number, number] = [0, 0];
  while ((had[0] + had[1]) / 2 < seconds * 1000) {
    const length = MIN_SLICE_MS + random() * (MAX_SLICE_MS - MIN_SLICE_MS);
    for (const side of random() < 0.5 ? ([0, 1] as const) : ([1, 0] as const)) {
      signal.throwIfAborted();
      sides[side].resume();
      const began = clock.now();
      await clock.sleep(length);
      // The measured length of a slice is added, because a late timer makes a slice longer. The time for pausing and
      // resuming is not added.
      had[side] += clock.now() - began;
      sides[side].pause();
    }
  }
  return [had[0] / 1000, had[1] / 1000];
}
