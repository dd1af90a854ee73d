import { z } from "zod";
import { compact } from "../../lib/compact";
import { BadInput, problem } from "../../lib/errors";
import { wholeNumber, fraction } from "../../lib/schema/fields";
import { describeIssues } from "../../lib/schema/problems";
import { parseSize } from "../../lib/units";
import { formatRecommendation, recommend } from "../../benchmarks/recommend/recommend";
import type { PricedMachine, Requirements } from "../../benchmarks/recommend/recommendation";
import { readResultFiles } from "../../benchmarks/results/read";
import { MACHINE_TYPES, machineType } from "../../platforms/eks/offers/machine-types";
import { type PriceTable, PRICED_REGIONS, pricesOf } from "../../platforms/eks/offers/prices";
import { type OptionValues, optionName, parseNumber } from "../running/options";
import { print } from "../terminal/terminal";

const MIB = 1024 ** 2;

const workingSet = z.unknown().transform((text, context) => {
  const bytes = typeof text === "string" ? (parseSize(text) ?? 0) : 0;
  if (bytes > 0) return bytes;
  const found = text === undefined ? "missing" : JSON.stringify(text);
  context.addIssue({ code: "custom", message: `${found}; expected a size such as 40gb` });
  return z.NEVER;
});

function positive(unit: string): z.ZodNumber {
  const expected = `expected ${unit}, above 0`;
  return z.number(expected).gt(0, expected);
}

/** The help texts in `cli/program.ts` must name the same defaults. */
export const recommendSchema = z.strictObject({
  rate: positive("requests per second at the peak"),
  reads: fraction.default(0.9),
  workingSet,
  valueSize: positive("bytes").default(256),
  pipeline: wholeNumber(1).default(1),
  p99: positive("milliseconds").optional(),
  replicas: wholeNumber(0, 10).default(1),
  region: z.enum(PRICED_REGIONS).default("us-west-2"),
});

const TEXTS: readonly string[] = ["workingSet", "region"];

export function recommendDeployment(paths: readonly string[], values: OptionValues): number {
  const { need, prices } = readNeed(paths, values);
  const results = readResultFiles(paths).map((each) => each.results);
  const recommendation = recommend(need, results, pricedMachines(prices));
  print(...formatRecommendation(recommendation));
  if (recommendation.options.length === 0) return 1;
  print("", `Prices of ${prices.region}, ${prices.date}.`);
  return 0;
}

function readNeed(
  paths: readonly string[],
  values: OptionValues,
): { readonly need: Requirements; readonly prices: PriceTable } {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined);
  const input = Object.fromEntries(
    entries.map(([key, value]) => [key, TEXTS.includes(key) ? value : parseNumber(String(value))]),
  );
  const parsed = recommendSchema.safeParse(input);
  const noResults = "expected results with measured capacity: results.json files, or their directories";
  const problems = compact([
    paths.length > 0 ? undefined : problem("no-results", "", noResults),
    ...(parsed.success ? [] : describeIssues(recommendSchema, input, parsed.error.issues, ([key]) => optionName(key))),
  ]);
  const prices = parsed.success ? pricesOf(parsed.data.region) : undefined;
  if (!parsed.success || prices === undefined || problems.length > 0) throw new BadInput("recommend", problems);
  const { p99, region: _, ...load } = parsed.data;
  return { need: { ...load, p99Ms: p99 }, prices };
}

function pricedMachines({ machines }: PriceTable): PricedMachine[] {
  return MACHINE_TYPES.flatMap((type): PricedMachine[] => {
    const facts = machineType(type);
    const price = machines[type];
    if (facts === undefined || price === undefined) return [];
    const { architecture, vcpus, allocatableMemoryMiB } = facts;
    const memoryBytes = allocatableMemoryMiB * MIB;
    return [{ type, architecture, vcpus, memoryBytes, usdPerHour: price.usdPerHour }];
  });
}
