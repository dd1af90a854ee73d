/** Sequences of faults on servers that the scripts of pods start. `npm run bench -- model` runs many at random. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Event, ModelMode, Persistence } from "../../../bench/model/events";
import { eventsOf, formatEvents, parseEvents } from "../../../bench/model/events";
import { runSequence } from "../../../bench/model/sequence";
import { runsDirectory } from "../../../lib/system/paths";
import { realPrograms } from "../../support/valkey/real";

const EVENTS = 6;
const SEED = 1;
/** Many processes start at the same time. */
const TIMEOUT_MS = 240_000;

async function expectKept(events: readonly Event[], mode: ModelMode, persistence: Persistence): Promise<void> {
  const here = { runs: runsDirectory(), programs: await realPrograms() };
  const { problems, log } = await runSequence(events, mode, persistence, here);
  expect(problems, `${formatEvents(events)}\n${log.join("\n")}`).toEqual([]);
}

describe.skipIf(process.platform !== "linux").concurrent("servers keep what clients were told", () => {
  it.each([
    [
      "the primary was away while another led, and then all lose power and Sentinels their memory",
      ...(["sentinels", "append-only"] as const),
      "write 5 2, freeze primary 10, wait 3, wait 3, wait 1, write 5 1, wait 1, all replace 0",
    ],
    [
      "a power loss with silent replicas and a clock that steps",
      ...(["replication", "append-only"] as const),
      "write 5 2, clock primary 2, freeze first 6, freeze second 6, power primary 0, wait 3, wait 3, write 5 1",
    ],
    [
      "an old snapshot and silent replicas",
      ...(["cluster", "snapshots"] as const),
      "write 5 1, save primary, write 5 2, freeze first 3, freeze second 3, kill primary 0, wait 3, wait 1",
    ],
  ])(
    "after %s (%s, %s)",
    (_what, mode, persistence, events) => expectKept(parseEvents(events), mode, persistence),
    TIMEOUT_MS,
  );

  it.each([
    ["replication", "append-only"],
    ["sentinels", "snapshots"],
    ["cluster", "none"],
  ] as const)(
    "after random faults: %s, persistence %s",
    (mode, persistence) => {
      const [events = []] = fc.sample(eventsOf(mode, persistence, EVENTS), { seed: SEED, numRuns: 1 });
      return expectKept(events, mode, persistence);
    },
    TIMEOUT_MS,
  );
});
