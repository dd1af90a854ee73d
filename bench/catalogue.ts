/** All benchmarks, and the rows that a command line selects. Pure. */
import { didYouMean } from "../lib/did-you-mean";
import { BadInput } from "../lib/errors";
import type { Benchmark } from "./workbench";
import { backupEqual } from "./rows/backup/equal";
import { backupHidden } from "./rows/backup/hidden";
import { backupKills } from "./rows/backup/kills";
import { backupP99, backupRpo } from "./rows/backup/load";
import { backupRestore } from "./rows/backup/restore";
import { change, resize } from "./rows/change";
import { crash } from "./rows/crash";
import { drain } from "./rows/drain";
import { failure } from "./rows/failure";
import { formation, kubernetes, verification } from "./rows/formation";
import { controllerDeleted, heal } from "./rows/heal";
import { largeClusters, largeLimit } from "./rows/large-clusters";
import { controlledSoak, leftAlone } from "./rows/left-alone";
import { lookCost } from "./rows/look-cost";
import { lostMachines } from "./rows/lost-machines";
import { memory } from "./rows/memory";
import { model } from "./rows/model";
import { openLoop } from "./rows/open-loop";
import { partitions } from "./rows/partitions";
import { plan, programEvaluation } from "./rows/plan";
import { spuriousFailovers } from "./rows/spurious-failovers";
import { studies } from "./rows/studies";
import { throughput } from "./rows/throughput";

/** All benchmarks, in the order in which they run. */
export const BENCHMARKS: readonly Benchmark[] = [
  ...[...formation, ...verification, ...kubernetes, change, resize, plan, programEvaluation, throughput, openLoop],
  ...[...failure, crash, ...model, ...heal, controllerDeleted, ...lostMachines, leftAlone, controlledSoak, partitions],
  ...[...lookCost, drain, memory, ...spuriousFailovers, largeClusters, largeLimit, studies],
  ...[backupEqual, backupHidden, backupRpo, backupP99, backupRestore, backupKills],
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
    throw BadInput.of("npm run bench", "no-such-benchmark", [
      ...unknown.map((name) => `there is no benchmark ${name};${didYouMean(name, ALL_IDS)}`.replace(/;$/, "")),
      `there are: ${ALL_IDS.join(", ")}`,
    ]);
  return new Set(names.length === 0 ? ALL_IDS : names.flatMap(matching));
}

/** For `--list`: each title once, above the ids of its rows. */
export function listRows(): string[] {
  return BENCHMARKS.flatMap(({ title, ids }, index) => [
    ...(title === BENCHMARKS[index - 1]?.title ? [] : [title]),
    ...ids.map((id) => `  ${id}`),
  ]);
}
