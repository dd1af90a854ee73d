/** Problems of a controller's arguments. Pure. */
import { LOOK_SECONDS } from "../../../controller/pod-settings";
import type { Mode } from "../../../valkey/node";
import type { ControllerArgs } from "../arguments";

/** Properties of a deployment that decide what its controller may do. */
export interface ControlledKind {
  readonly mode: Mode;
  /** Whether a server that restarts has data of its own: a volume, and an append-only file or snapshots on it. */
  readonly keepsData: boolean;
}

/** Problems of a controller's arguments, each with the name of the argument. */
export function controllerProblems(
  { everySeconds = LOOK_SECONDS.default, repair = true, onLostMajority = "report" }: ControllerArgs,
  { mode, keepsData }: ControlledKind,
): { readonly field: keyof ControllerArgs; readonly reason: string }[] {
  const { min, max } = LOOK_SECONDS;
  const problems: { readonly field: keyof ControllerArgs; readonly reason: string }[] = [];
  if (everySeconds < min || everySeconds > max)
    problems.push({ field: "everySeconds", reason: `it is ${everySeconds}; expected ${min} to ${max} seconds` });
  const refuse = (reason: string): void => {
    problems.push({ field: "onLostMajority", reason: `takeover ${reason}` });
  };
  if (onLostMajority !== "takeover") return problems;
  if (!repair) refuse("needs repair: true");
  if (mode !== "cluster") refuse("is for clusters; in replication mode, Sentinels promote a replica");
  else if (!keepsData)
    refuse(
      "needs volumes with an append-only file or snapshots: otherwise a replica that restarts has no data to serve",
    );
  return problems;
}
