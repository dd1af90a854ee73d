/** Problems of a controller's arguments. Pure. */
import { LOOK_SECONDS, LOST_MACHINE_SECONDS } from "../../../controller/pod-settings";
import { compact } from "../../../lib/compact";
import type { Mode } from "../../../valkey/node";
import type { ControllerArgs } from "../arguments";

/** Properties of a deployment that decide what its controller may do. */
export interface ControlledKind {
  readonly mode: Mode;
  readonly replicasPerPrimary: number;
  /** Whether a server that restarts has data of its own: a volume, and an append-only file or snapshots on it. */
  readonly keepsData: boolean;
}

/** Problem of one argument of a controller, with the name of the argument. */
interface ControllerProblem {
  readonly field: keyof ControllerArgs;
  readonly reason: string;
}

/** Problems of a controller's arguments, each with the name of the argument. */
export function controllerProblems(args: ControllerArgs, kind: ControlledKind): ControllerProblem[] {
  const { everySeconds, replaceLostMachinesAfterSeconds } = args;
  return [
    ...rangeProblems("everySeconds", everySeconds, LOOK_SECONDS),
    ...rangeProblems("replaceLostMachinesAfterSeconds", replaceLostMachinesAfterSeconds, LOST_MACHINE_SECONDS),
    ...settingsProblems(args),
    ...replacementProblems(args, kind),
    ...takeoverProblems(args, kind),
  ];
}

function rangeProblems(
  field: ControllerProblem["field"],
  value: number | undefined,
  { min, max }: { readonly min: number; readonly max: number },
): ControllerProblem[] {
  if (value === undefined || (value >= min && value <= max)) return [];
  return [{ field, reason: `it is ${value}; expected ${min} to ${max} seconds` }];
}

function settingsProblems({ repair = true, repairSettings = false }: ControllerArgs): ControllerProblem[] {
  return repairSettings && !repair ? [{ field: "repairSettings", reason: "needs repair: true" }] : [];
}

/**
 * Problems of `replaceLostMachinesAfterSeconds`. Volumes are not required, because a pod is replaced only while the
 * other servers have all data. Replicas are required, because without replicas no other server has the data.
 */
function replacementProblems(
  { repair = true, replaceLostMachinesAfterSeconds }: ControllerArgs,
  { replicasPerPrimary }: ControlledKind,
): ControllerProblem[] {
  if (replaceLostMachinesAfterSeconds === undefined) return [];
  const reasons = compact([
    repair ? undefined : "needs repair: true",
    replicasPerPrimary > 0
      ? undefined
      : "needs replicas: without replicas, no other machine has the data of a lost machine",
  ]);
  return reasons.map((reason) => ({ field: "replaceLostMachinesAfterSeconds", reason }));
}

function takeoverProblems(
  { repair = true, onLostMajority }: ControllerArgs,
  { mode, keepsData }: ControlledKind,
): ControllerProblem[] {
  if (onLostMajority !== "takeover") return [];
  const reasons = compact([
    repair ? undefined : "needs repair: true",
    mode === "cluster" ? undefined : "is for clusters; in replication mode, Sentinels promote a replica",
    keepsData
      ? undefined
      : "needs volumes with an append-only file or snapshots: otherwise a replica that restarts has no data to serve",
  ]);
  return reasons.map((reason) => ({ field: "onLostMajority", reason: `takeover ${reason}` }));
}
