/** Latencies of clients with and without an archive, and the memory of the server that the archive follows. */
import { Failure } from "../../../../lib/errors";
import { median } from "../../../../lib/statistics/median";
import type { Benchmark, BenchmarkContext } from "../../benchmark";
import type { BenchRow, RowTarget } from "../../row";
import { atMost, singleRow } from "../../row";
import { alternatingSides } from "../../workbench";
import type { MeasuredLoad } from "./archived-load";
import { ArchivedLoad, stopArchive } from "./archived-load";

const KINDS = [
  { id: "backup-p99-stream", what: "while the archive follows the stream", begins: "before", seconds: 8 },
  // The command needs some seconds before it asks for its base.
  {
    ...{ id: "backup-p99-base", what: "of seconds in which an archive begins and takes its base" },
    ...{ begins: "meanwhile", seconds: 16 },
  },
] as const;
type Kind = (typeof KINDS)[number];
const MEMORY = "backup-memory";
const PAIRS = 8;
const RATIO: RowTarget = { text: "≤ 1.2", holds: (ratio) => ratio <= 1.2 };
/** Highest number of bytes of a shard that wait in the spool. */
const SPOOL_MIB = 1024;

interface Measured {
  readonly p99Ms: number;
  readonly memoryMiB: number;
}

export const backupP99: Benchmark = {
  title: "Latencies of clients with and without an archive",
  ids: [...KINDS.map(({ id }) => id), MEMORY],
  run: (context) =>
    ArchivedLoad.use(context, async (load) => {
      const growths: number[] = [];
      for (const kind of KINDS) {
        if (!context.wanted.has(kind.id) && !context.wanted.has(MEMORY)) continue;
        const { ours, reference } = await measurePairs(load, kind, context);
        growths.push(highest(ours) - highest(reference));
        if (context.wanted.has(kind.id)) context.emit(p99Row(load, kind, ours, reference));
      }
      const what =
        `highest used_memory of the followed server with an archive less the highest without, stream or base, ` +
        `at ${load.text}`;
      const growth = Math.max(0, ...growths);
      if (context.wanted.has(MEMORY))
        context.emit(singleRow({ id: MEMORY, what, unit: "MiB" }, growth, atMost(SPOOL_MIB)));
    }),
};

const highest = (runs: readonly Measured[]): number => Math.max(...runs.map(({ memoryMiB }) => memoryMiB));

async function measurePairs(
  load: ArchivedLoad,
  { id, begins, seconds }: Kind,
  { report }: BenchmarkContext,
): Promise<Record<"ours" | "reference", Measured[]>> {
  const runs = { ours: [] as Measured[], reference: [] as Measured[] };
  for (const side of alternatingSides(PAIRS)) {
    const { tally, memoryBytes } = await (side === "ours" ? runArchived(load, begins, seconds) : load.run(seconds));
    const measured = { p99Ms: tally.latencies().percentileMs(0.99), memoryMiB: memoryBytes / 2 ** 20 };
    runs[side].push(measured);
    report(
      `${id} ${side}: p99 ${measured.p99Ms.toFixed(2)} ms, used_memory ${measured.memoryMiB.toFixed(1)} MiB, ` +
        `${((100 * tally.acknowledgedInTime) / tally.offered).toFixed(1)} % answered in time`,
    );
  }
  return runs;
}

/** @throws Failure if a base that begins with the load takes longer than the load */
async function runArchived(load: ArchivedLoad, begins: Kind["begins"], seconds: number): Promise<MeasuredLoad> {
  const archiving = load.archive();
  if (begins === "before") await archiving;
  const running = load.run(seconds).then((measured) => ({ measured, endedAt: performance.now() }));
  const command = await archiving;
  const basedAt = performance.now();
  const { measured, endedAt } = await running;
  await stopArchive(command);
  if (basedAt > endedAt) throw new Failure(`the archive took more than ${seconds} s for its base`);
  return measured;
}

/** The ratio is the median of the ratios of the pairs. */
function p99Row(
  load: ArchivedLoad,
  { id, what, seconds }: Kind,
  ours: readonly Measured[],
  reference: readonly Measured[],
): BenchRow {
  const ratios = ours.map(({ p99Ms }, index) => p99Ms / (reference[index]?.p99Ms ?? NaN)).toSorted((a, b) => a - b);
  const ratio = median(ratios);
  const spread = `${ratios[0]?.toFixed(2)} to ${ratios.at(-1)?.toFixed(2)}`;
  return {
    id,
    what:
      `p99 ${what} beside p99 without an archive, medians of ${PAIRS} interleaved pairs of ${seconds} s, at ${load.text}; ` +
      `the ratio is the median of the ratios of the pairs, which are ${spread}`,
    unit: "ms",
    ours: median(ours.map(({ p99Ms }) => p99Ms)),
    reference: median(reference.map(({ p99Ms }) => p99Ms)),
    ratio,
    target: RATIO.text,
    met: RATIO.holds(ratio),
  };
}
