/** When looks come: by the clock, and early when something has changed. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { watch } from "../../../operations/inspection/watch";
import type { Inspection } from "../../../operations/inspection/drift";

const passing = (pass: boolean): Inspection =>
  ({
    verification: { facts: { nodes: [] }, verdict: { pass, assertions: [], shards: [] } },
    drift: [],
  }) as unknown as Inspection;

/** Times of the looks within 500 ms, milliseconds since the first. */
async function looks(pass: boolean, changesAfterMs?: number): Promise<number[]> {
  const stop = AbortSignal.timeout(500);
  const times: number[] = [];
  const untilChange =
    changesAfterMs === undefined
      ? undefined
      : (signal: AbortSignal) => sleep(changesAfterMs, undefined, { signal }).catch(() => undefined);
  await watch(
    { name: "orders", inspect: () => Promise.resolve(passing(pass)) },
    {
      everyMs: 10_000,
      failingEveryMs: 200,
      untilChange,
      signal: stop,
      onLook: () => void times.push(performance.now()),
    },
  );
  return times.map((each) => each - (times[0] ?? 0));
}

it("come more often while the deployment does not pass", async () => {
  expect(await looks(true)).toHaveLength(1);
  expect((await looks(false)).length).toBeGreaterThan(1);
});

it("come early when something has changed, but not more often than while the deployment does not pass", async () => {
  const [, second, ...others] = await looks(true, 0);
  expect(second).toBeGreaterThan(150);
  expect(others.length).toBeLessThanOrEqual(1);
  // The change comes after the shortest time.
  const [, late] = await looks(true, 100);
  expect(late).toBeGreaterThan(250);
});

it("compare with the data of the last look that saw some", async () => {
  const data = { seenAt: "2026-01-01T00:00:00Z", shards: [] };
  const given: unknown[] = [];
  const stop = new AbortController();
  await watch(
    {
      name: "orders",
      inspect: (_signal, former) => {
        given.push(former);
        if (given.length === 3) stop.abort();
        return Promise.resolve(given.length === 1 ? { ...passing(false), data } : passing(false));
      },
    },
    { everyMs: 10, signal: stop.signal, onLook: () => undefined },
  );
  expect(given).toEqual([undefined, data, data]);
});

it("fail and go on when a verification does not end in time", async () => {
  const stop = new AbortController();
  const seen: [boolean, string][] = [];
  let count = 0;
  await watch(
    {
      name: "orders",
      inspect: (limited) =>
        count++ === 0
          ? new Promise(() => undefined)
          : Promise.resolve(limited.aborted ? passing(false) : passing(true)),
    },
    {
      ...{ everyMs: 10, longestMs: 50, signal: stop.signal },
      onLook: ({ pass, assertions }) => {
        seen.push([pass, assertions[0]?.found ?? ""]);
        if (seen.length === 2) stop.abort();
      },
    },
  );
  expect(seen).toEqual([
    [false, expect.stringContaining("the verification did not end within 0.05 s")],
    [true, ""],
  ]);
});
