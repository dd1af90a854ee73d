import type { Shape } from "../../valkey/topology/placement";

/** `served`: when all slots are served again, or after a time limit and an assisting action. */
export type HealTime = "served" | { readonly seconds: number };

export type Fault = { readonly kind: FaultKind } &
  /** SIGKILL of one primary, which later restarts with its data. */
  (
    | { readonly kind: "kill-primary"; readonly restart: HealTime }
    /** SIGKILL of a part of the primaries (`share`, 0 to 1). Without a majority, none are left to elect replicas. */
    | { readonly kind: "kill-primaries"; readonly share: number; readonly restart: HealTime }
    /** If the zone is undefined, it is the zone with the most primaries. */
    | { readonly kind: "kill-zone"; readonly zone: string | undefined; readonly restart: HealTime }
    /** Loss of the machine with the most primaries, and of all nodes on it. */
    | { readonly kind: "kill-machine"; readonly restart: HealTime }
    /** The nodes restart with their data. */
    | { readonly kind: "kill-all"; readonly newAddresses: boolean }
    /** Pause of one primary (SIGSTOP), which is later resumed. */
    | { readonly kind: "freeze-primary"; readonly seconds: number }
    /** Between one zone and all others, with clients on both sides. Default: the zone with the most primaries. */
    | { readonly kind: "cut-zone"; readonly zone: string | undefined; readonly seconds: number }
    /** The disk of a primary with an append-only file is full for some time. */
    | { readonly kind: "full-disk"; readonly seconds: number }
    /** In turn; a primary hands its role over before. `home`: directory of the new programs, for an upgrade. */
    | { readonly kind: "rolling-restart"; readonly home: string | undefined }
    /** A resize to a different shape, and back to the first shape. */
    | { readonly kind: "scale"; readonly to: Shape }
  );

/** Kinds of faults, in the order in which a stack that names no scenario runs them. */
export const FAULT_KINDS = [
  "kill-primary",
  "kill-primaries",
  "kill-zone",
  "kill-machine",
  "freeze-primary",
  "cut-zone",
  "full-disk",
  "rolling-restart",
  "scale",
  "kill-all",
] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

export function describeFault(fault: Fault): string {
  switch (fault.kind) {
    case "kill-primary":
      return "SIGKILL of a primary";
    case "kill-primaries":
      return `SIGKILL of ${Math.round(fault.share * 100)} % of the primaries at once`;
    case "kill-zone":
      return `SIGKILL of every node of ${fault.zone ?? "a zone"}`;
    case "kill-machine":
      return "loss of a machine";
    case "kill-all":
      return `SIGKILL of all nodes at once, restart at ${fault.newAddresses ? "new" : "the same"} addresses`;
    case "freeze-primary":
      return `a primary paused for ${fault.seconds} s`;
    case "cut-zone":
      return `${fault.zone ?? "a zone"} cut off from the other zones for ${fault.seconds} s`;
    case "full-disk":
      return `the disk of a primary full for ${fault.seconds} s`;
    case "rolling-restart":
      return fault.home === undefined
        ? "rolling restart with hand-over"
        : `upgrade to the programs in ${fault.home}, node by node with hand-over`;
    case "scale":
      return `resize to ${fault.to.primaries} primaries with ${fault.to.replicasPerPrimary} replicas each, and back`;
  }
}
