/** The order of steps in a study, with measurements that take no time. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Failure, Interrupted } from "../../../../lib/errors";
import type { StudyState } from "../../../../benchmarks/studies/evaluation/evaluate";
import { evaluateStudy, givenUpReason, entryKey } from "../../../../benchmarks/studies/evaluation/evaluate";
import type { Treatment } from "../../../../benchmarks/studies/factors";
import type { StudyLogEntry, SliceCounts, StudyCheckpointLog } from "../../../../benchmarks/studies/checkpoint-log";
import { changedVersions, recordedVersions, studyCheckpointLogs } from "../../../../benchmarks/studies/checkpoint-log";
import { randomFrom } from "../../../../lib/statistics/random";
import { type StepRunner, runStudy } from "../../../../benchmarks/studies/running/run-study";
import { describeEnd } from "../../../../benchmarks/results/formats/study-summary";
import type { Study } from "../../../../benchmarks/studies/study";
import { referenceLoadEntry, treatmentEntry, interleavedEntry, study } from "../../../support/benchmarks/study";
import { temporaryDirectory } from "../../../support/directory";

const never = new AbortController().signal;
const QUIET = { report: () => undefined, round: () => undefined };
const begin = (place: string, of: Study): StudyCheckpointLog =>
  studyCheckpointLogs.create(place, {
    kind: "study",
    name: of.name,
    fingerprint: "x",
    seed: of.seed,
    timestamp: "20261121-090000",
    machine: "here",
  });
const open = (of: Study): StudyCheckpointLog => begin(temporaryDirectory(), of);

/** Rates that depend on treatment and round only. */
function runner(of: Study, spread: number, told: (step: string) => void = () => undefined): StepRunner {
  return {
    referenceLoad: (round, place) => {
      told(`reference load ${round}`);
      return Promise.resolve(referenceLoadEntry(round, place));
    },
    treatment: (treatment, round) => {
      told(`${treatment.id} ${round}`);
      const noise = Math.exp(spread * (randomFrom(round * 1000 + of.treatments.indexOf(treatment))() - 0.5));
      return Promise.resolve(treatmentEntry(treatment, round, 1000 * (1 + of.treatments.indexOf(treatment)) * noise));
    },
    interleaved: (pair, round) => {
      told(`${pair.other.id} beside ${pair.base.id} ${round}`);
      const counts = (treatment: Treatment, salt: number): SliceCounts => ({
        requests:
          2000 * (1 + of.treatments.indexOf(treatment)) * Math.exp(spread * (randomFrom(round * 1000 + salt)() - 0.5)),
        seconds: 2,
        cpuSeconds: 1,
      });
      return Promise.resolve(
        interleavedEntry(
          pair,
          round,
          counts(pair.base, 100),
          counts(pair.other, 101 + of.treatments.indexOf(pair.other)),
        ),
      );
    },
  };
}

/** A runner whose measurements of some treatments fail. */
const failingFor = (good: StepRunner, fails: (id: string, round: number) => boolean, why = "no"): StepRunner => ({
  ...good,
  treatment: (treatment, round, ceiling) =>
    fails(treatment.id, round) ? Promise.reject(new Failure(why)) : good.treatment(treatment, round, ceiling),
});
const run = (of: Study, steps: StepRunner, log = open(of)): Promise<StudyState> =>
  runStudy(of, log, [0, 1], steps, never, QUIET);
/** A study in which measurements of some treatments fail. */
const runFailing = (
  of: Study,
  fails: (id: string, round: number) => boolean,
  why?: string,
  log?: StudyCheckpointLog,
): Promise<StudyState> => run(of, failingFor(runner(of, 0.02), fails, why), log);
const isSecond = (id: string): boolean => id === "io-threads-2";

describe("a study", () => {
  it("stops after six rounds when all ratios are precise, and measures every treatment in each", async () => {
    const of = study({ "io-threads": [1, 2, 3] });
    const state = await run(of, runner(of, 0.02));
    expect(state).toMatchObject({ rounds: 6, ended: "precise" });
    expect(state.entries.filter(({ kind }) => kind === "treatment")).toHaveLength(18);
    expect(state.entries.filter(({ kind }) => kind === "interleaved")).toHaveLength(12);
    expect(state.entries.filter(({ kind }) => kind === "reference-load")).toHaveLength(12);
  });

  it("goes on within the budget until the ratios are precise", async () => {
    const of = study({ "io-threads": [1, 2] }, { budget: 290 });
    // Two treatments of 10 s, a pair of 5 s and two reference loads of 2 s make a round.
    const state = await run(of, runner(of, 2));
    expect(state).toMatchObject({ rounds: 10, ended: "budget" });
  });

  it("has the same entries when it is interrupted at any step, any number of times", async () => {
    const of = study({ "io-threads": [1, 2, 3] });
    const whole = await run(of, runner(of, 0.1));
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 6 }),
        async (interruptions) => {
          const place = temporaryDirectory();
          let log = begin(place, of);
          let state: StudyState | undefined;
          const measured: string[] = [];
          for (const after of [...interruptions, Infinity]) {
            const controller = new AbortController();
            let left = after;
            const stopping = runner(of, 0.1, (step) => {
              measured.push(step);
              if (--left === 0) controller.abort(new Interrupted("SIGINT"));
            });
            state = await runStudy(of, log, [0, 1], stopping, controller.signal, QUIET).catch((error: unknown) => {
              expect(error).toBeInstanceOf(Interrupted);
              return undefined;
            });
            log.close();
            log = studyCheckpointLogs.resume(place);
            if (state !== undefined) break;
          }
          log.close();
          expect(state?.entries).toEqual(whole.entries);
          expect(measured).toHaveLength(whole.entries.length);
        },
      ),
      { numRuns: 25 },
    );
  });

  it("gives up a treatment that fails twice in succession, and goes on with the others", async () => {
    const of = study({ "io-threads": [1, 2, 3] });
    const state = await runFailing(of, isSecond, "it does not start");
    expect(state).toMatchObject({ rounds: 6, ended: "precise" });
    expect(of.treatments.map((treatment) => givenUpReason(treatment, state.entries))).toEqual([
      undefined,
      "it does not start",
      undefined,
    ]);
    expect(state.entries.filter(({ kind }) => kind === "failure")).toHaveLength(2);
  });

  it("reports that no comparison was possible when the baseline is given up", async () => {
    const of = study({ "io-threads": [1, 2, 3] });
    const state = await runFailing(of, (id) => id === "io-threads-1");
    expect(state).toMatchObject({ rounds: 6, ended: "precise" });
    expect(describeEnd(evaluateStudy(state))).toBe("no comparison was possible, because treatments failed");
    const partly = await runFailing(of, (id) => id === "io-threads-3");
    expect(describeEnd(evaluateStudy(partly))).toBe(
      "every required comparison has a precision of 5 %, except comparisons with treatments that failed",
    );
  });

  it("reports rounds as new only when they were measured after the resumption", async () => {
    const of = study({ "io-threads": [1, 2] });
    const place = temporaryDirectory();
    const toldBy = async (log: StudyCheckpointLog): Promise<boolean[]> => {
      const told: boolean[] = [];
      const round = (_state: StudyState, isNew: boolean): unknown => told.push(isNew);
      expect(await runStudy(of, log, [0, 1], runner(of, 0.02), never, { ...QUIET, round })).toMatchObject({
        rounds: 6,
        ended: "precise",
      });
      log.close();
      return told;
    };
    expect(await toldBy(begin(place, of))).toEqual(Array.from({ length: 6 }, () => true));
    expect(await toldBy(studyCheckpointLogs.resume(place))).toEqual(Array.from({ length: 6 }, () => false));
  });

  it("resumes only with the versions that it began with", () => {
    const found = (versions: Record<string, string>): Map<string | undefined, { version: string }> =>
      new Map(Object.entries(versions).map(([engine, version]) => [engine === "" ? undefined : engine, { version }]));
    const entries: StudyLogEntry[] = [
      { ...referenceLoadEntry(1, 1), versions: recordedVersions(found({ "": "9.1.2", "redis-7": "7.0.15" })) },
    ];
    expect(changedVersions(entries, found({ "": "9.1.2", "redis-7": "7.0.15" }))).toEqual([]);
    // The load generator's and the reference load's, though no treatment may run it.
    expect(changedVersions(entries, found({ "": "8.1.1", "redis-7": "7.0.15" }))).toEqual([
      expect.stringContaining("the study began with Valkey 9.1.2, and now finds 8.1.1"),
    ]);
    expect(changedVersions(entries, found({ "": "9.1.2", "redis-7": "7.2.4" }))).toEqual([
      expect.stringContaining("the study began with redis-7 7.0.15"),
    ]);
    expect(changedVersions([referenceLoadEntry(1, 1)], found({ "": "9.1.2" }))).toEqual([]);
  });

  it("keeps the ratios of a treatment from before it was given up", async () => {
    const of = study({ "io-threads": [1, 2] }, { precision: 0.0001, budget: 300 });
    const state = await runFailing(of, (id, round) => isSecond(id) && round > 7);
    expect(state.ended).toBe("precise");
    expect(describeEnd(evaluateStudy(state))).toBe(
      "every required comparison has a precision of 0 %, except comparisons with treatments that failed",
    );
  });

  it("tries given-up treatments again after resumption, in new rounds only", async () => {
    const of = study({ "io-threads": [1, 2, 3] }, { precision: 0.0001, budget: 100_000 });
    const good = runner(of, 0.02);
    const failing = (which: (id: string) => boolean, from: number, to: number): StepRunner =>
      failingFor(good, (id, round) => which(id) && round >= from && round <= to, "the disk is full");
    const place = temporaryDirectory();
    const log = begin(place, of);
    const failed = failing(() => true, 4, 5);
    await expect(run(of, failed, log)).rejects.toThrow(/all treatments failed: .*the disk is full/);
    log.close();

    const goOn = async (with_: StepRunner, until: number): Promise<readonly StudyLogEntry[]> => {
      const resumed = studyCheckpointLogs.resume(place);
      const stopping = new AbortController();
      const referenceLoad: StepRunner["referenceLoad"] = (round, step) => {
        if (round === until) stopping.abort();
        return with_.referenceLoad(round, step);
      };
      await expect(
        runStudy(of, resumed, [0, 1], { ...with_, referenceLoad }, stopping.signal, QUIET),
      ).rejects.toThrow();
      resumed.close();
      return resumed.entries;
    };
    await goOn(
      failing((id) => id === "io-threads-3", 7, 8),
      11,
    );
    const entries = await goOn(good, 14);
    const roundsOf = (id: string): number[] =>
      entries.flatMap((entry) => (entry.kind === "treatment" && entry.treatment === id ? [entry.round] : []));
    expect(roundsOf("io-threads-1").slice(0, 9)).toEqual([1, 2, 3, 6, 7, 8, 9, 10, 11]);
    // Given up after 8, not made up for in 9 and 10 nor in 11, which was under way, and tried again from 12 on.
    expect(roundsOf("io-threads-3").slice(0, 6)).toEqual([1, 2, 3, 6, 12, 13]);
    expect(new Set(entries.map(entryKey)).size).toBe(entries.length);
  });

  it("does not end after resumption without the given-up treatment", async () => {
    const of = study({ "io-threads": [1, 2] });
    const place = temporaryDirectory();
    const log = begin(place, of);
    const lost = await runFailing(of, isSecond, "no", log);
    log.close();
    expect(lost).toMatchObject({ rounds: 6, ended: "precise" });
    const resumed = studyCheckpointLogs.resume(place);
    const state = await run(of, runner(of, 0.02), resumed);
    resumed.close();
    expect(state.rounds).toBeGreaterThan(6);
    expect(evaluateStudy(state).comparisons.find(({ metric }) => metric === "throughput")).toMatchObject({
      verdict: "greater",
      ratio: expect.closeTo(2, 1) as number,
    });
    expect(of.treatments.map((treatment) => givenUpReason(treatment, state.entries))).toEqual([undefined, undefined]);
  });

  it("gives up a pair that fails twice in succession, and uses separate measurements", async () => {
    const of = study({ "io-threads": [1, 2] });
    const tooLittle = (): Promise<never> => Promise.reject(new Failure("too little memory for both"));
    const state = await run(of, { ...runner(of, 0.02), interleaved: tooLittle });
    expect(state).toMatchObject({ rounds: 6, ended: "precise" });
    expect(of.treatments.map((treatment) => givenUpReason(treatment, state.entries))).toEqual([undefined, undefined]);
    expect(state.entries.filter(({ kind }) => kind === "failure")).toHaveLength(2);
  });

  it("measures no pair with a given-up treatment", async () => {
    const of = study({ "io-threads": [1, 2] });
    const told: string[] = [];
    const good = runner(of, 0.02, (step) => told.push(step));
    await run(of, failingFor(good, isSecond));
    expect(told.filter((step) => step.includes("beside")).every((step) => / [12]$/.test(step))).toBe(true);
  });

  it("fails when all treatments fail, and on an internal error", async () => {
    const of = study({ "io-threads": [1, 2] });
    const failing = (error: Error): StepRunner => ({ ...runner(of, 0), treatment: () => Promise.reject(error) });
    await expect(run(of, failing(new Failure("no")))).rejects.toThrow(/all treatments failed: io-threads 1: no/);
    await expect(run(of, failing(new TypeError("defect")))).rejects.toThrow(TypeError);
  });
});
