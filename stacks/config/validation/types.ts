import type { Label } from "../../../lib/schema/problems";
import type { Sections } from "../sections/section-parser";

/** Cores and memory of this machine. All servers on the platform `host` share them. */
export interface MachineFacts {
  readonly cores: number;
  readonly memoryBytes: number;
}

export type ParsedSections = Pick<
  Sections,
  "platform" | "deployments" | "benchmark" | "workloads" | "capacity" | "failures"
>;

export interface ValidationContext {
  readonly sections: ParsedSections;
  readonly machine: MachineFacts;
  readonly label: Label;
}
