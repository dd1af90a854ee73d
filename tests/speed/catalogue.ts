/** Which benchmarks there are, and which of them a command line asks for. Pure. */
import { BadInput } from "../../lib/errors";
import { didYouMean } from "../../lib/did-you-mean";
import type { Benchmark } from "./benchmark";
import { failure } from "./failure";
import { spuriousFailovers } from "./spurious-failovers";
import { formation } from "./formation";
import { kubernetes } from "./kubernetes";
import { largeClusters } from "./large-clusters";
import { largeLimit } from "./large-limit";
import { lostWrites } from "./lost-writes";
import { merging } from "./merging";
import { openLoop } from "./open-loop";
import { plan } from "./plan";
import { programEvaluation } from "./program";
import { valkeyOnEksFlags } from "./valkey-on-eks-flags";
import { studies } from "./studies";
import { throughput } from "./throughput";
import { verification } from "./verification";

/** In the order in which they run. */
export const BENCHMARKS: readonly Benchmark[] = [
  formation,
  verification,
  kubernetes,
  plan,
  programEvaluation,
  throughput,
  valkeyOnEksFlags,
  openLoop,
  merging,
  failure,
  lostWrites,
  spuriousFailovers,
  largeClusters,
  largeLimit,
  studies,
];

/** Of every row, in the order of the table. */
export const ALL_IDS: readonly string[] = BENCHMARKS.flatMap(({ ids }) => ids);

/**
 * The rows that names ask for: ids, or what ids begin with (`formation`, `throughput-cluster`); all without any.
 * @throws BadInput naming every name that is none, and those there are
 */
export function selectIds(names: readonly string[]): Set<string> {
  const meant = (name: string): string[] => ALL_IDS.filter((id) => id === name || id.startsWith(`${name}-`));
  const unknown = names.filter((name) => meant(name).length === 0);
  if (unknown.length > 0)
    throw new BadInput("npm run bench", [
      ...unknown.map((name) => `there is no benchmark ${name};${didYouMean(name, ALL_IDS)}`.replace(/;$/, "")),
      `there are: ${ALL_IDS.join(", ")}`,
    ]);
  return new Set(names.length === 0 ? ALL_IDS : names.flatMap(meant));
}

/** For `--list`. */
export function listRows(): string[] {
  return BENCHMARKS.flatMap(({ title, ids }) => [title, ...ids.map((id) => `  ${id}`)]);
}
