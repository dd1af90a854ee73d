/** Types that the files of the cross-field validation share. */
import type { Label } from "../../../lib/schema/problems";
import type { Sections } from "../sections/section-parser";

/** Cores and memory of this machine. All servers on the platform `host` share them. */
export interface MachineFacts {
  readonly cores: number;
  readonly memoryBytes: number;
}

/** The valid parts of a configuration that cross-field validation compares with each other. */
export type ParsedSections = Pick<
  Sections,
  "platform" | "deployments" | "benchmark" | "workloads" | "capacity" | "failures"
>;

/** Facts that every cross-field check gets: the parsed sections, the resources of this machine, and names for paths. */
export interface ValidationContext {
  readonly sections: ParsedSections;
  readonly machine: MachineFacts;
  /** Returns the name of a value for error messages: a command-line option, or a path in the stack file. */
  readonly label: Label;
}
