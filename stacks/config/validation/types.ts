/** Types that the validations share. */
import type { Label } from "../../../lib/schema/problems";
import type { Sections } from "../sections/section-parser";

/** Cores and memory of the machine that servers of the platform `host` share. */
export interface MachineFacts {
  readonly cores: number;
  readonly memoryBytes: number;
}

/** The valid parts of a configuration that are held against each other. */
export type ParsedSections = Pick<
  Sections,
  "platform" | "deployments" | "benchmark" | "workloads" | "capacity" | "failures"
>;

/** Context that every validation is given. */
export interface ValidationContext {
  readonly sections: ParsedSections;
  readonly machine: MachineFacts;
  /** A path as the user wrote it. */
  readonly label: Label;
}
