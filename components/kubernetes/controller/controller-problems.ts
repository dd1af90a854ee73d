import { type Problem, problem } from "../../../lib/errors";
import { compact } from "../../../lib/compact";
import { CONTROLLER_FIELDS } from "../../../model/deployment";
import { fieldProblems } from "../../../model/fields";
import type { Mode } from "../../../valkey/node";
import type { ControllerArgs } from "../arguments";

export interface ControlledKind {
  readonly mode: Mode;
  readonly replicasPerPrimary: number;
  /** Whether a server that restarts has data of its own: a volume, and an append-only file or snapshots on it. */
  readonly keepsData: boolean;
}

export function controllerProblems(args: ControllerArgs, kind: ControlledKind): Problem[] {
  return [
    ...fieldProblems(CONTROLLER_FIELDS, args),
    ...settingsProblems(args),
    ...replacementProblems(args, kind),
    ...takeoverProblems(args, kind),
  ];
}

function settingsProblems({ repair = true, repairSettings = false }: ControllerArgs): Problem[] {
  return repairSettings && !repair ? [problem("needs-repair", "repairSettings", "needs repair: true")] : [];
}

/** Replicas are required, because otherwise no other server has the data. Volumes are not. */
function replacementProblems(
  { repair = true, replaceLostMachinesAfterSeconds }: ControllerArgs,
  { replicasPerPrimary }: ControlledKind,
): Problem[] {
  if (replaceLostMachinesAfterSeconds === undefined) return [];
  const path = "replaceLostMachinesAfterSeconds";
  return compact([
    repair ? undefined : problem("needs-repair", path, "needs repair: true"),
    replicasPerPrimary > 0
      ? undefined
      : problem(
          "needs-replicas",
          path,
          "needs replicas: without replicas, no other machine has the data of a lost machine",
        ),
  ]);
}

function takeoverProblems(
  { repair = true, onLostMajority }: ControllerArgs,
  { mode, keepsData }: ControlledKind,
): Problem[] {
  if (onLostMajority !== "takeover") return [];
  const refusal = (code: string, why: string): Problem => problem(code, "onLostMajority", `takeover ${why}`);
  return compact([
    repair ? undefined : refusal("needs-repair", "needs repair: true"),
    mode === "cluster"
      ? undefined
      : refusal("needs-cluster", "is for clusters; in replication mode, Sentinels promote a replica"),
    keepsData
      ? undefined
      : refusal(
          "needs-volumes",
          "needs volumes with an append-only file or snapshots: otherwise a replica that restarts has no data to serve",
        ),
  ]);
}
