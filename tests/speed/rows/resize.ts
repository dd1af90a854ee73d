/** Primaries of a running cluster come and go by `pulumi up`, while clients write as fast as they are answered. */
import { messageOf } from "../../../lib/errors";
import { median } from "../../../lib/statistics/median";
import type { Benchmark, BenchmarkContext } from "../benchmark";
import { atLeast, atMost, singleRow } from "../row";
import type { ObservedChange } from "./change-stack";
import { ChangingStack, describeChange, whyNoStack } from "./change-stack";

const METRICS = ["ended", "lost", "failed", "pause"] as const;
const idOf = (metric: (typeof METRICS)[number]): string => `change-resize-${metric}`;
const IDS = METRICS.map(idOf);

/** Primaries after each `up`, over and over. */
const SIZES = [6, 3] as const;
const RESIZES = 20;
/** Writes per second of the client whose writes are accounted for; the others use what the machine has. */
const RATE = 500;
const IN_FLIGHT = 64;

export const resize: Benchmark = {
  title: "Primaries come and go while clients write at full speed",
  ids: IDS,
  run: async (context) => {
    const missing = whyNoStack();
    if (missing === undefined) await measure(context);
    else for (const id of IDS) if (context.wanted.has(id)) context.skip(id, missing);
  },
};

async function measure({ wanted, report, emit, workbench: { signal } }: BenchmarkContext): Promise<void> {
  const seen: ObservedChange[] = [];
  let tried = 0;
  const stack = await ChangingStack.deploy(["cluster"], RATE, {}, { tls: false });
  try {
    await stack.flood(IN_FLIGHT);
    while (tried < RESIZES && !signal.aborted) {
      const primaries = SIZES[tried++ % SIZES.length] ?? 3;
      try {
        for (const changed of (await stack.change({ primaries })).values()) {
          seen.push(changed);
          report(`resize ${tried}, to ${primaries} primaries: ${describeChange(changed)}`);
        }
      } catch (error) {
        report(`resize ${tried}, to ${primaries} primaries, did not end: ${messageOf(error)}`);
      }
    }
  } finally {
    await stack.destroy();
  }
  const acknowledged = seen.reduce((sum, { writes }) => sum + writes.acknowledged, 0);
  const total = (of: "lost" | "failed"): number => seen.reduce((sum, { writes }) => sum + writes[of], 0);
  const rates = seen.map(({ flooded }) => (flooded === undefined ? 0 : flooded.acknowledged / flooded.seconds));
  const times = `${median(seen.map(({ seconds }) => seconds)).toFixed(0)} s for all of pulumi up`;
  const rows = [
    singleRow(
      {
        id: idOf("ended"),
        what: `of ${tried} resizes 3 → 6 → 3 ended well, under ${Math.round(median(rates))} writes/s; ${times}`,
        unit: "resizes",
      },
      seen.length,
      atLeast(RESIZES),
    ),
    singleRow(
      { id: idOf("lost"), what: `lost of ${acknowledged} acknowledged writes beside them`, unit: "writes" },
      total("lost"),
      atMost(0),
    ),
    singleRow(
      { id: idOf("failed"), what: `failed of ${acknowledged + total("failed")} writes beside them`, unit: "writes" },
      total("failed"),
      atMost(0),
    ),
    singleRow(
      { id: idOf("pause"), what: "longest time in which a shard acknowledged nothing, median", unit: "s" },
      median(seen.map(({ writes }) => writes.pauseMs)) / 1000,
      atMost(1),
    ),
  ];
  for (const row of rows) if (wanted.has(row.id)) emit(row);
}
