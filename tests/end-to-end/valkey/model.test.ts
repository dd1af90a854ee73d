/** Random sequences of faults on servers that the scripts of pods start, from fixed seeds. `npm run bench -- model` runs more. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Verb } from "../../../bench/model/events";
import { eventsOf, formatEvents } from "../../../bench/model/events";
import { runSequence } from "../../../bench/model/sequence";
import { runsDirectory } from "../../../lib/system/paths";
import { realPrograms } from "../../support/valkey/real";

/** Events that the scripts do not survive yet. */
const LEFT_OUT: readonly Verb[] = ["freeze", "power", "clock", "promote", "all", "fill", "lose"];
const EVENTS = 6;
const SEED = 1;

describe.skipIf(process.platform !== "linux").concurrent("servers that random faults strike", () => {
  it.each([
    ["replication", "append-only"],
    ["sentinels", "snapshots"],
    ["cluster", "none"],
  ] as const)("keep what clients were told: %s, persistence %s", async (mode, persistence) => {
    const [events = []] = fc.sample(eventsOf(mode, persistence, EVENTS, LEFT_OUT), { seed: SEED, numRuns: 1 });
    const here = { runs: runsDirectory(), programs: await realPrograms() };
    const { problems, log } = await runSequence(events, mode, persistence, here);
    expect(problems, `${formatEvents(events)}\n${log.join("\n")}`).toEqual([]);
  });
});
