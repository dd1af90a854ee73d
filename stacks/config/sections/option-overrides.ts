/** Values of command-line options that replace values of the stack file. */
import { isMap } from "../../../lib/schema/json-schema";

type Values = Readonly<Record<string, unknown>>;

/**
 * Values of command-line options that replace values of the stack file. Error messages about such a value name the
 * command-line option instead of the path in the file.
 */
export interface OptionOverrides {
  /** Values for the section `benchmark`, by name of the section's option. */
  readonly benchmark: Values;
  /**
   * Mixed workload from the command line. It replaces all workloads of the stack. It also replaces the stack's tests,
   * unless command-line options name tests.
   */
  readonly workload?: Values;
  /** Command-line option for each option of the configuration, such as `--datasize` for `dataSize`. */
  readonly options: Readonly<Record<string, string>>;
}

export const NO_OVERRIDES: OptionOverrides = { benchmark: {}, options: {} };

/** A duration on the command line removes the number of requests of the file, and the reverse. */
export function withBenchmarkOptions(section: Values, overrides: Values): Record<string, unknown> {
  const merged = { ...section, ...overrides };
  if ("duration" in overrides && !("requests" in overrides)) delete merged["requests"];
  if ("requests" in overrides && !("duration" in overrides)) delete merged["duration"];
  return merged;
}

/** The file's number of keys and value size apply by default, because the servers have room for them. */
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
