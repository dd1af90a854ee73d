/** All benchmarks, and the rows that a command line selects. Pure. */
import { BadInput } from "../../lib/errors";
import { didYouMean } from "../../lib/did-you-mean";
import type { Benchmark } from "./benchmark";
import { backupEqual } from "./rows/backup/equal";
import { backupHidden } from "./rows/backup/hidden";
import { backupKills } from "./rows/backup/kills";
import { backupP99 } from "./rows/backup/p99";
import { backupRestore } from "./rows/backup/restore";
import { backupRpo } from "./rows/backup/rpo";
import { change } from "./rows/change";
import { controlledSoak } from "./rows/controlled-soak";
import { controllerDeleted } from "./rows/controller-deleted";
import { crash } from "./rows/crash";
import { drain } from "./rows/drain";
import { failure } from "./rows/failure";
import { spuriousFailovers } from "./rows/spurious-failovers";
import { formation } from "./rows/formation";
import { heal } from "./rows/heal";
import { kubernetes } from "./rows/kubernetes";
import { largeClusters } from "./rows/large-clusters";
import { leftAlone } from "./rows/left-alone";
import { largeLimit } from "./rows/large-limit";
import { lookCost } from "./rows/look-cost";
import { lostMachines } from "./rows/lost-machines";
import { memory } from "./rows/memory";
import { openLoop } from "./rows/open-loop";
import { partitions } from "./rows/partitions";
import { plan } from "./rows/plan";
import { programEvaluation } from "./rows/program";
import { resize } from "./rows/resize";
import { studies } from "./rows/studies";
import { throughput } from "./rows/throughput";
import { verification } from "./rows/verification";

/** All benchmarks, in the order in which they run. */
export const BENCHMARKS: readonly Benchmark[] = [
  formation,
  verification,
  kubernetes,
  change,
  resize,
  plan,
  programEvaluation,
  throughput,
  openLoop,
  failure,
  crash,
  heal,
  controllerDeleted,
  lostMachines,
  leftAlone,
  controlledSoak,
  partitions,
  lookCost,
  drain,
  memory,
  spuriousFailovers,
  largeClusters,
  largeLimit,
  studies,
  backupEqual,
  backupHidden,
  backupRpo,
  backupP99,
  backupRestore,
  backupKills,
];

/** The ids of all rows, in the order of the table. */
export const ALL_IDS: readonly string[] = BENCHMARKS.flatMap(({ ids }) => ids);

/**
 * The rows that names select: ids, or the beginnings of ids (`formation`). Without names, all rows.
 * @throws BadInput with every unknown name, and all ids
 */
export function selectIds(names: readonly string[]): Set<string> {
  const matching = (name: string): string[] => ALL_IDS.filter((id) => id === name || id.startsWith(`${name}-`));
  const unknown = names.filter((name) => matching(name).length === 0);
  if (unknown.length > 0)
    throw new BadInput("npm run bench", [
      ...unknown.map((name) => `there is no benchmark ${name};${didYouMean(name, ALL_IDS)}`.replace(/;$/, "")),
      `there are: ${ALL_IDS.join(", ")}`,
    ]);
  return new Set(names.length === 0 ? ALL_IDS : names.flatMap(matching));
}

/** For `--list`. */
export function listRows(): string[] {
  return BENCHMARKS.flatMap(({ title, ids }) => [title, ...ids.map((id) => `  ${id}`)]);
}
