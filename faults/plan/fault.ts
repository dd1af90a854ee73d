/** Faults: what is done to a deployment while clients write to it. Plain data. */
import type { Shape } from "../../valkey/topology/placement";

/** `served`: once every slot is served again, or when it is clear that this takes help. */
export type HealTime = "served" | { readonly seconds: number };

export type Fault = { readonly kind: FaultKind } &
  /** SIGKILL of one primary, which is started again with its data. */
  (
    | { readonly kind: "kill-primary"; readonly restart: HealTime }
    /** SIGKILL of a share of the primaries at once. At half or more nobody is left to elect others. */
    | { readonly kind: "kill-primaries"; readonly share: number; readonly restart: HealTime }
    /** SIGKILL of every node of a zone; undefined is that with most primaries. */
    | { readonly kind: "kill-zone"; readonly zone: string | undefined; readonly restart: HealTime }
    /** Loss of the machine with most primaries, and all nodes on it. */
    | { readonly kind: "kill-machine"; readonly restart: HealTime }
    /** SIGKILL of all nodes at once. They come back with their data, at other addresses. */
    | { readonly kind: "kill-all"; readonly newAddresses: boolean }
    /** A primary that stands still (SIGSTOP) and comes back. */
    | { readonly kind: "freeze-primary"; readonly seconds: number }
    /** A zone that is cut off from the others, for clients to be reached all the same; undefined is that with most primaries. */
    | { readonly kind: "cut-zone"; readonly zone: string | undefined; readonly seconds: number }
    /** A primary with an append-only file whose disk is full for a while. */
    | { readonly kind: "full-disk"; readonly seconds: number }
    /** Every node in turn, primaries after an orderly hand-over. `home`: the directory of other programs, an upgrade. */
    | { readonly kind: "rolling-restart"; readonly home: string | undefined }
    /** To another shape and back. */
    | { readonly kind: "scale"; readonly to: Shape }
  );

/** In the order in which a stack that names none suffers them. */
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

/** When a write counts as acknowledged: when the primary says so, or when so many replicas have it as well (WAIT). */
export interface Acknowledgement {
  /** 0: the primary's word will do. */
  readonly replicas: number;
  /** How long those may take, milliseconds. */
  readonly timeoutMs: number;
}

/** The writes that go on all the while. */
export interface WriteLoad {
  /** Writes due per second, evenly spaced, shard after shard. */
  readonly rate: number;
  /** Per value. */
  readonly bytes: number;
  /** Milliseconds after which an answer is given up on. */
  readonly timeoutMs: number;
  readonly acknowledgement: Acknowledgement;
}

export interface Scenario {
  readonly name: string;
  readonly fault: Fault;
  readonly load: WriteLoad;
  /** Directives in force while it lasts, beside the deployment's own. */
  readonly settings: ReadonlyMap<string, string>;
  /** Seconds of undisturbed writes before the fault, and after all is well again. */
  readonly beforeSeconds: number;
  readonly afterSeconds: number;
  /** Seconds until what is not well again is given up on. */
  readonly recoveryTimeoutSeconds: number;
  /** Whether zones are made safe again by orderly hand-overs where a failover left them unsafe. */
  readonly repair: boolean;
}

/** One line for a heading. */
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
      return `SIGKILL of all nodes at once, started again at ${fault.newAddresses ? "other" : "the same"} addresses`;
    case "freeze-primary":
      return `a primary that stands still for ${fault.seconds} s`;
    case "cut-zone":
      return `${fault.zone ?? "a zone"} cut off from the others for ${fault.seconds} s`;
    case "full-disk":
      return `the disk of a primary full for ${fault.seconds} s`;
    case "rolling-restart":
      return fault.home === undefined
        ? "rolling restart with hand-over"
        : `upgrade to the programs in ${fault.home}, node by node with hand-over`;
    case "scale":
      return `to ${fault.to.primaries} primaries with ${fault.to.replicasPerPrimary} replicas each, and back`;
  }
}
