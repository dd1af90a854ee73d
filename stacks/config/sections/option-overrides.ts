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
  /** Whether `workload` changes the stack's open-loop workload of a search for a capacity. @default false */
  readonly isSearched?: boolean;
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

/**
 * The sections of the stack file, with the workload from the command line. The workload gets its name from the command
 * line, or the name of its load generator. The number of keys and the value size of the stack file still apply unless
 * command-line options set them, because the servers have room for this amount of data.
 */
export function withWorkloadOption(raw: Values, { workload = {}, isSearched }: OptionOverrides): Values {
  const { tests: _, requests, ...benchmark } = isMap(raw["benchmark"]) ? raw["benchmark"] : {};
  const { keySpace, dataSize, clients } = benchmark;
  const values = dataSize === undefined ? undefined : { sizes: "fixed", bytes: dataSize };
  const data = workload["loadGenerator"] === "open-loop" ? { keySpace, values } : { keySpace, dataSize };
  const [former, searched] = (isSearched ? searchedWorkload(raw) : undefined) ?? [workload["loadGenerator"], {}];
  const { name = former, ...own } = workload;
  const workloads = {
    [String(name)]: { ...data, ...(isSearched ? { rate: 1, clients } : {}), ...searched, ...own },
  };
  const section = { ...benchmark, requests: isSearched ? undefined : requests };
  return { ...raw, workloads, ...(isMap(raw["benchmark"]) ? { benchmark: section } : {}) };
}

function searchedWorkload({ workloads, capacity }: Values): [name: string, workload: Values] | undefined {
  const wanted = isMap(capacity) ? capacity["workload"] : undefined;
  return Object.entries(isMap(workloads) ? workloads : {}).find(
    (entry): entry is [string, Values] =>
      isMap(entry[1]) && entry[1]["loadGenerator"] === "open-loop" && entry[0] === (wanted ?? entry[0]),
  );
}
