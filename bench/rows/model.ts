/** Random sequences of faults on servers that the scripts of pods start, and what must never follow from them. */
import fc from "fast-check";
import { printError } from "../../cli/terminal/terminal";
import { packagesDirectory } from "../../lib/system/paths";
import { Semaphore } from "../../lib/semaphore";
import { findPrograms } from "../../platforms/host/programs/programs";
import type { Event, ModelMode, Persistence } from "../model/events";
import { eventsOf, formatEvents, MODES, PERSISTENCES } from "../model/events";
import { type SequenceResult, runSequence } from "../model/sequence";
import { atMost, singleRow } from "../row";
import type { Benchmark, BenchmarkContext } from "../workbench";

/** Events of a sequence, at most. */
const EVENTS = 20;
/** Sequences at the same time: they wait most of the time. */
const AT_ONCE = 4;
/** Time for shorter sequences that show the same, milliseconds. */
const SHRINK_MS = 300_000;

interface Failure {
  readonly events: readonly Event[];
  readonly result: SequenceResult;
}

/** Runs the sequence of a seed. If it fails, runs shorter ones. @returns the shortest that failed, and all that ran */
async function runSeed(
  events: fc.Arbitrary<readonly Event[]>,
  seed: number,
  run: (events: readonly Event[]) => Promise<SequenceResult>,
): Promise<{ readonly first: SequenceResult | undefined; readonly failure: Failure | undefined }> {
  let first: SequenceResult | undefined;
  let failure: Failure | undefined;
  let until = Infinity;
  const holds = async (drawn: readonly Event[]): Promise<boolean> => {
    if (performance.now() > until) return true;
    const result = await run(drawn);
    first ??= result;
    if (result.problems.length === 0) return true;
    if (failure === undefined) until = performance.now() + SHRINK_MS;
    failure = { events: drawn, result };
    return false;
  };
  await fc.check(fc.asyncProperty(events, holds), { seed, numRuns: 1 });
  return { first, failure };
}

async function measure(
  mode: ModelMode,
  persistence: Persistence,
  { workbench, signal, model, report, emit }: BenchmarkContext,
): Promise<void> {
  const id = `model-${mode}-${persistence}`;
  const here = { runs: workbench.runs, programs: await findPrograms(packagesDirectory(), () => undefined, signal) };
  const run = (events: readonly Event[]): Promise<SequenceResult> => {
    signal.throwIfAborted();
    return runSequence(events, mode, persistence, here);
  };
  const drawn = model.events === undefined ? eventsOf(mode, persistence, EVENTS) : fc.constant(model.events);
  const turns = new Semaphore(AT_ONCE);
  let [failed, done, acknowledged, confirmed, seconds] = [0, 0, 0, 0, 0];
  const one = async (_: unknown, index: number): Promise<void> => {
    const seed = model.seed + index;
    const { first, failure } = await turns.run(() => runSeed(drawn, seed, run));
    done++;
    acknowledged += first?.acknowledged ?? 0;
    confirmed += first?.confirmed ?? 0;
    seconds += first?.seconds ?? 0;
    if (failure !== undefined) {
      failed++;
      const again = `npm run bench -- ${id} --sequences 1 --events "${formatEvents(failure.events)}"`;
      printError(`${id}, seed ${seed}: ${failure.result.problems.join("; ")}`, `  ${again}`);
    }
    // One that was asked for is shown in any case.
    const shown = failure?.result ?? (model.events === undefined ? undefined : first);
    if (shown !== undefined) printError(...shown.log.map((line) => `  ${line}`), "");
    report(`${id}: ${failed} of ${done} sequences failed`);
  };
  await Promise.all(Array.from({ length: model.sequences }, one));
  const kind = `${persistence === "none" ? "no persistence" : persistence}, seeds from ${model.seed}`;
  const writes = `${acknowledged} writes acknowledged, ${confirmed} confirmed by WAIT`;
  const what = `${done} sequences of up to ${EVENTS} events, ${mode}, ${kind}; ${writes}; ${(seconds / done).toFixed(0)} s each`;
  emit(singleRow({ id, what, unit: "sequences" }, failed, atMost(0)));
}

export const model: readonly Benchmark[] = MODES.flatMap((mode) =>
  PERSISTENCES.map((persistence) => ({
    title: "Random sequences of faults, beside what clients were told",
    ids: [`model-${mode}-${persistence}`],
    missing: process.platform === "linux" ? undefined : "needs Linux, for an address of each pod",
    run: (context: BenchmarkContext) => measure(mode, persistence, context),
  })),
);
