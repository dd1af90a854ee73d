import { compact } from "../../lib/compact";
import { COMMAND } from "../../lib/system/package";
import { counted } from "../../lib/units";
import type { Results } from "../results/schema";
import { type MeasuredCapacity, isSimilarSize, measuredCapacities } from "./capacity";
import type { Requirements } from "./recommendation";

/** Undefined if the load does not need it, or if no measurement is suitable. */
export interface Choice {
  readonly get: MeasuredCapacity | undefined;
  readonly set: MeasuredCapacity | undefined;
}

/** Lowest number of rounds that gives a confidence interval. */
const MIN_REPEATS = 3;

/** A load without pipelining does not use capacities that were measured with it. */
export function chooseCapacities(
  need: Requirements,
  all: readonly Results[],
): { readonly choice: Choice; readonly missing: readonly string[] } {
  const { reads } = need;
  const get = reads > 0 ? bestOf(fitting("reads", need, all)) : undefined;
  const isAlike = ({ ioThreads }: MeasuredCapacity): boolean => get === undefined || ioThreads === get.ioThreads;
  const set = reads < 1 ? bestOf(fitting("writes", need, all).filter(isAlike)) : undefined;
  const missing = compact([
    reads > 0 && get === undefined ? missingReads(need, all) : undefined,
    reads < 1 && set === undefined ? missingWrites(need, all, get) : undefined,
    ...compact([get, set]).flatMap((each) => shortcomings(each, need)),
  ]);
  return { choice: { get, set }, missing };
}

/** Only those with enough rounds and values of a similar size, if there are any. */
function fitting(
  kind: "reads" | "writes",
  { pipeline, valueSize }: Requirements,
  all: readonly Results[],
): MeasuredCapacity[] {
  const alike = measuredCapacities(all, kind).filter((each) => each.pipeline === pipeline);
  // Capacities with enough rounds and a similar value size are preferred, even to higher capacities without these
  // properties.
  const fit = alike.filter(({ row }) => row.repeats >= MIN_REPEATS && isSimilarSize(dataSizeOf(row), valueSize));
  return fit.length === 0 ? alike : fit;
}

const dataSizeOf = ({ records: [first] }: MeasuredCapacity["row"]): number => first?.dataSize ?? 0;

/** The fewest io-threads of equally fast ones: idle io-threads spin and need a larger machine. */
function bestOf(capacities: readonly MeasuredCapacity[]): MeasuredCapacity | undefined {
  const most = [...capacities].sort((a, b) => b.perPrimary - a.perPrimary);
  const ladder = [...new Set(most.map(({ ioThreads }) => ioThreads))]
    .sort((a, b) => a - b)
    .flatMap((threads) => most.find(({ ioThreads }) => ioThreads === threads) ?? []);
  return ladder.find((each) => ladder.every((other) => other.perPrimary <= each.perPrimaryHigh));
}

function missingReads({ pipeline }: Requirements, all: readonly Results[]): string {
  const others = otherConditions("reads", pipeline, all);
  return `no measurement of GET at pipeline ${pipeline} ran at full speed, found its keys and had no errors${others} (to measure it: ${commandFor("get", pipeline)})`;
}

function missingWrites({ pipeline }: Requirements, all: readonly Results[], get: MeasuredCapacity | undefined): string {
  const threads = get === undefined ? "" : ` and io-threads ${get.ioThreads}`;
  const others = otherConditions("writes", pipeline, all);
  return `no measurement of SET at pipeline ${pipeline}${threads} ran at full speed and without errors${others} (to measure it: ${commandFor("set", pipeline)})`;
}

const commandFor = (test: string, pipeline: number): string => `${COMMAND} --tests ${test} --pipeline ${pipeline}`;

function otherConditions(kind: "reads" | "writes", pipeline: number, all: readonly Results[]): string {
  const conditions = measuredCapacities(all, kind).map((each) =>
    each.pipeline === pipeline ? `io-threads ${each.ioThreads}` : `pipeline ${each.pipeline}`,
  );
  return conditions.length === 0 ? "" : `; measurements exist at ${[...new Set(conditions)].sort().join(" and ")}`;
}

function shortcomings({ source, row }: MeasuredCapacity, { valueSize }: Requirements): string[] {
  const dataSize = row.records[0]?.dataSize;
  return compact([
    row.repeats < MIN_REPEATS
      ? `${source}: ${counted(row.repeats, "round is", "rounds are")} too few for a confidence interval (measure with --repeats 6)`
      : undefined,
    dataSize === undefined || isSimilarSize(dataSize, valueSize)
      ? undefined
      : `${source} had values of ${dataSize} B, but the load has values of ${valueSize} B: sizes may differ by a factor ` +
        `of four at most (measure with --datasize ${valueSize})`,
  ]);
}
