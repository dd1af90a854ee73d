/**
 * `npm start -- recommend`: mode, primaries, machine type and io-threads for a load, from measured capacity and prices.
 */
import { BadInput } from "../../lib/errors";
import { formatRecommendation } from "../../benchmarks/recommend/format";
import type { Requirements, PricedMachine } from "../../benchmarks/recommend/recommend";
import { recommend } from "../../benchmarks/recommend/recommend";
import { parseSize } from "../../lib/units";
import { MACHINE_TYPES, machineType } from "../../platforms/eks/offers/machines";
import { PRICED_REGIONS, pricesOf } from "../../platforms/eks/offers/prices";
import { print } from "../terminal/terminal";
import { readResultFiles } from "../../benchmarks/results/read";

const MIB = 1024 ** 2;
const DEFAULT_REGION = "us-west-2";

/**
 * @param values commander's
 * @returns 0 with a recommendation, 1 where there is not enough data
 * @throws BadInput with every option that cannot be used
 */
export function recommendDeployment(paths: readonly string[], values: Readonly<Record<string, unknown>>): number {
  const { need, offers, region, date } = readNeed(paths, values);
  const recommendation = recommend(
    need,
    readResultFiles(paths).map(({ results }) => results),
    offers,
  );
  print(...formatRecommendation(recommendation));
  if (recommendation.options.length > 0) print("", `Prices of ${region}, ${date}.`);
  return recommendation.options.length > 0 ? 0 : 1;
}

function readNeed(
  paths: readonly string[],
  values: Readonly<Record<string, unknown>>,
): {
  readonly need: Requirements;
  readonly offers: readonly PricedMachine[];
  readonly region: string;
  readonly date: string;
} {
  const problems =
    paths.length > 0 ? [] : ["expected results with measured capacity: results.json files, or their directories"];
  const number = (
    key: string,
    option: string,
    fallback: number | undefined,
    holds: (value: number) => boolean,
    expected: string,
  ): number => {
    const value = values[key] ?? fallback;
    const parsed = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
    if (typeof parsed === "number" && holds(parsed)) return parsed;
    problems.push(
      value === undefined
        ? `${option} is missing: expected ${expected}`
        : `${option} is ${JSON.stringify(value)}: expected ${expected}`,
    );
    return NaN;
  };
  const text = values["workingSet"];
  const workingSet = typeof text === "string" ? parseSize(text) : undefined;
  if (workingSet === undefined || workingSet === 0)
    problems.push(
      `--working-set is ${typeof text === "string" ? JSON.stringify(text) : "missing"}: expected a size such as 40gb`,
    );
  const region = typeof values["region"] === "string" ? values["region"] : DEFAULT_REGION;
  const prices = pricesOf(region);
  if (prices === undefined)
    problems.push(`--region is ${region}, of which there are no prices; there are of ${PRICED_REGIONS.join(", ")}`);
  const need: Requirements = {
    rate: number("rate", "--rate", undefined, (value) => value > 0, "requests per second at the busiest"),
    reads: number("reads", "--reads", 0.9, (value) => value >= 0 && value <= 1, "a part from 0 to 1"),
    workingSet: workingSet ?? NaN,
    valueSize: number("valueSize", "--value-size", 256, (value) => value >= 1, "bytes"),
    pipeline: number(
      "pipeline",
      "--pipeline",
      1,
      (value) => Number.isInteger(value) && value >= 1,
      "a whole number from 1",
    ),
    p99Ms:
      values["p99"] === undefined ? undefined : number("p99", "--p99", undefined, (value) => value > 0, "milliseconds"),
    replicas: number(
      "replicas",
      "--replicas",
      1,
      (value) => Number.isInteger(value) && value >= 0 && value <= 10,
      "a whole number from 0 to 10",
    ),
  };
  if (problems.length > 0 || prices === undefined) throw new BadInput("recommend", problems);
  const offers = MACHINE_TYPES.flatMap((type): PricedMachine[] => {
    const facts = machineType(type);
    const price = prices.machines[type];
    return facts === undefined || price === undefined
      ? []
      : [
          {
            type,
            architecture: facts.architecture,
            vcpus: facts.vcpus,
            memoryBytes: facts.allocatableMemoryMiB * MIB,
            usdPerHour: price.usdPerHour,
          },
        ];
  });
  return { need, offers, region, date: prices.date };
}
