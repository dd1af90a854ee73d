/** Values of command-line options that replace those of the stack file. Pure. */
import { isMap } from "../../../lib/schema/json-schema";

type Values = Readonly<Record<string, unknown>>;

/** Values that replace the stack file's. Problems with them name the option instead of the file's path. */
export interface OptionOverrides {
  /** By key of the section `benchmark`. */
  readonly benchmark: Values;
  /**
   * The one mixed workload of the command line: it replaces the stack's workloads, and its tests unless options name
   * tests.
   */
  readonly workload?: Values;
  /** Configuration key to option: `dataSize` → `--datasize`. */
  readonly options: Readonly<Record<string, string>>;
}

/** No options. */
export const NO_OVERRIDES: OptionOverrides = { benchmark: {}, options: {} };

/**
 * The section `benchmark` with the options' values. A duration replaces the file's number of requests, and vice versa.
 */
export function withBenchmarkOptions(section: Values, overrides: Values): Record<string, unknown> {
  const merged = { ...section, ...overrides };
  if ("duration" in overrides && !("requests" in overrides)) delete merged["requests"];
  if ("requests" in overrides && !("duration" in overrides)) delete merged["duration"];
  return merged;
}

/**
 * The sections with the options' workload, named after its load generator. Key space and value size are the file's
 * unless
 * options set them: its servers have room for that much.
 */
export function withWorkloadOption(raw: Values, workload: Values): Record<string, unknown> {
  const { benchmark } = raw;
  const name = String(workload["loadGenerator"]);
  const rest = { ...(isMap(benchmark) ? benchmark : {}) };
  delete rest["tests"];
  const { keySpace, dataSize } = rest;
  const isOpenLoop = name === "open-loop";
  const sizes = isOpenLoop ? { values: { sizes: "fixed", bytes: dataSize } } : { dataSize };
  const data = { ...(keySpace === undefined ? {} : { keySpace }), ...(dataSize === undefined ? {} : sizes) };
  const sections = { ...raw, workloads: { [name]: { ...data, ...workload } } };
  if (benchmark === undefined) return sections;
  return { ...sections, benchmark: isMap(benchmark) ? rest : benchmark };
}
