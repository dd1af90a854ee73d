import { describe, expect, it } from "vitest";
import { type LoadOutcome, type LoadDriver, LoadGeneratorFailure } from "../../../benchmarks/load/load-driver";
import { LoadSender } from "../../../benchmarks/measuring/load-sender";
import type { LoadDrivers } from "../../../benchmarks/measuring/measurement-series";
import type { Session } from "../../../benchmarks/measuring/session";
import type { MeasuredLoad } from "../../../benchmarks/measuring/measure";

const INTERRUPTED = new LoadGeneratorFailure(
  "runner 1 on spot-a was interrupted: EvictionByEvictionAPI",
  "runner 1: …",
  { interrupted: true },
);
const BROKEN = new LoadGeneratorFailure("runner 0 failed: exit status 1", "runner 0: …");
const SESSION = { deployment: undefined, primary: undefined } as unknown as Session;
const OUTCOME = { outputs: [] } as unknown as LoadOutcome;

/** Sends one load whose runs end as given, one after the other. */
async function send(...ends: readonly (LoadGeneratorFailure | LoadOutcome)[]): Promise<{
  readonly result: MeasuredLoad | LoadGeneratorFailure;
  readonly runs: number;
  readonly progress: readonly string[];
}> {
  let runs = 0;
  const progress: string[] = [];
  const runner: LoadDriver<null> = {
    count: 2,
    run: () => {
      const end = ends[runs++];
      if (end === undefined) throw new Error("ran once too often");
      return end instanceof Error ? Promise.reject(end) : Promise.resolve(end);
    },
  };
  const runners = { signal: new AbortController().signal } as LoadDrivers;
  const sender = new LoadSender(runners, { progress: (line) => progress.push(line), raw: () => undefined });
  const sending = { run: null, warmUp: undefined, commands: { primary: [], replica: [] }, runner, nodes: [] };
  const result = await sender
    .send("SET on cluster", SESSION, sending as unknown as Parameters<typeof sender.send<null>>[2])
    .catch((error: unknown) => error as LoadGeneratorFailure);
  return { result, runs, progress };
}

describe("a load whose load generators are interrupted", () => {
  it("is sent once more, from its beginning", async () => {
    const { result, runs, progress } = await send(INTERRUPTED, OUTCOME);
    expect(result).toMatchObject({ outputs: [] });
    expect(runs).toBe(2);
    expect(progress).toEqual([
      "SET on cluster: runner 1 on spot-a was interrupted: EvictionByEvictionAPI; measuring it again",
    ]);
  });

  it("fails with the interruption where it is interrupted again", async () => {
    expect(await send(INTERRUPTED, INTERRUPTED)).toMatchObject({ result: INTERRUPTED, runs: 2 });
  });

  it("is not sent again where its load generator fails", async () => {
    expect(await send(BROKEN)).toMatchObject({ result: BROKEN, runs: 1, progress: [] });
  });
});
