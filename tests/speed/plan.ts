/** Planning and judging a cluster far larger than this machine could run. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { z } from "zod";
import { median } from "../../lib/statistics/median";
import type { Benchmark } from "./benchmark";
import { singleRow, atMost } from "./row";

const REPEATS = 3;
const SECONDS = atMost(1);
const MEGABYTES = atMost(300);

const outputSchema = z.strictObject({ planSeconds: z.number(), verdictSeconds: z.number(), peakBytes: z.number() });

export const plan: Benchmark = {
  title: "Plan and verdict for 2,000 nodes",
  ids: ["plan-2000", "plan-2000-memory"],
  run: async ({ workbench, wanted, report, emit }) => {
    const runs: z.infer<typeof outputSchema>[] = [];
    for (let repeat = 0; repeat < REPEATS; repeat++) {
      const { stdout } = await promisify(execFile)(
        process.execPath,
        ["--import", "tsx", join(__dirname, "plan-2000.ts")],
        { signal: workbench.signal },
      );
      runs.push(outputSchema.parse(JSON.parse(stdout)));
    }
    const seconds = median(runs.map(({ planSeconds, verdictSeconds }) => planSeconds + verdictSeconds));
    const peak = Math.max(...runs.map(({ peakBytes }) => peakBytes)) / 1e6;
    report(`${seconds.toFixed(3)} s, ${peak.toFixed(0)} MB`);
    const parts = `plan ${median(runs.map(({ planSeconds }) => planSeconds)).toFixed(3)} s, verdict ${median(runs.map(({ verdictSeconds }) => verdictSeconds)).toFixed(3)} s`;
    if (wanted.has("plan-2000"))
      emit(
        singleRow(
          {
            id: "plan-2000",
            what: `plan and verdict for 2,000 nodes from synthetic facts in a fresh process, median of ${REPEATS}: ${parts}`,
            unit: "s",
          },
          seconds,
          SECONDS,
        ),
      );
    if (wanted.has("plan-2000-memory"))
      emit(
        singleRow(
          {
            id: "plan-2000-memory",
            what: `greatest resident memory of that process, its runtime and the facts included, the most of ${REPEATS}`,
            unit: "MB",
          },
          peak,
          MEGABYTES,
        ),
      );
  },
};
