/** Planning and verifying a cluster far larger than this machine could run. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { z } from "zod";
import { median } from "../../../lib/statistics/median";
import type { Benchmark } from "../benchmark";
import { singleRow, atMost } from "../row";

const TIME = "plan-2000";
const MEMORY = "plan-2000-memory";
const REPEATS = 3;
const SECONDS = atMost(1);
const MEGABYTES = atMost(300);

const outputSchema = z.strictObject({ planSeconds: z.number(), verdictSeconds: z.number(), peakBytes: z.number() });

export const plan: Benchmark = {
  title: "Plan and verdict for 2,000 nodes",
  ids: [TIME, MEMORY],
  run: async ({ workbench, wanted, report, emit }) => {
    const runs: z.infer<typeof outputSchema>[] = [];
    for (let repeat = 0; repeat < REPEATS; repeat++) {
      const { stdout } = await promisify(execFile)(
        process.execPath,
        ["--import", "tsx", join(__dirname, "..", "processes", "plan-2000.ts")],
        { signal: workbench.signal },
      );
      runs.push(outputSchema.parse(JSON.parse(stdout)));
    }
    const seconds = median(runs.map(({ planSeconds, verdictSeconds }) => planSeconds + verdictSeconds));
    const peak = Math.max(...runs.map(({ peakBytes }) => peakBytes)) / 1e6;
    report(`${seconds.toFixed(3)} s, ${peak.toFixed(0)} MB`);
    if (wanted.has(TIME)) {
      const planSeconds = median(runs.map((each) => each.planSeconds)).toFixed(3);
      const verdictSeconds = median(runs.map((each) => each.verdictSeconds)).toFixed(3);
      const parts = `plan ${planSeconds} s, verdict ${verdictSeconds} s`;
      const how = `in a fresh process, median of ${REPEATS}`;
      const what = `plan and verdict for 2,000 nodes with synthetic facts, ${how}: ${parts}`;
      emit(singleRow({ id: TIME, what, unit: "s" }, seconds, SECONDS));
    }
    if (wanted.has(MEMORY)) {
      const what = `highest resident memory of that process with its runtime and the facts, highest of ${REPEATS}`;
      emit(singleRow({ id: MEMORY, what, unit: "MB" }, peak, MEGABYTES));
    }
  },
};
