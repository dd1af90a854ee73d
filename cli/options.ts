/** Options of the command line: S1's flags by S1's names, and what they stand for in a stack's benchmark section. */
import type { Command } from "commander";
import type { OptionOverrides } from "../stacks/config/parse";

interface BenchmarkOption {
  readonly key: string;
  readonly flags: string;
  readonly long: string;
  readonly help: string;
  readonly parse: (text: string) => unknown;
}

/** What is no number stays text, for the schema to refuse with its path. */
export const parseNumber = (text: string): unknown =>
  text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text;
const text = (value: string): unknown => value;

const OPTIONS: readonly BenchmarkOption[] = [
  {
    key: "requests",
    long: "--requests",
    flags: "--requests <n>",
    help: "requests per measurement, instead of a duration",
    parse: parseNumber,
  },
  { key: "duration", long: "--duration", flags: "--duration <s>", help: "seconds per measurement", parse: parseNumber },
  {
    key: "warmup",
    long: "--warmup",
    flags: "--warmup <s>",
    help: "seconds before each measurement counts",
    parse: parseNumber,
  },
  {
    key: "repeats",
    long: "--repeats",
    flags: "--repeats <n>",
    help: "rounds; intervals of 95 % take six",
    parse: parseNumber,
  },
  { key: "clients", long: "--clients", flags: "--clients <n>", help: "parallel connections", parse: parseNumber },
  {
    key: "pipeline",
    long: "--pipeline",
    flags: "--pipeline <n>",
    help: "requests in flight per connection",
    parse: parseNumber,
  },
  { key: "dataSize", long: "--datasize", flags: "--datasize <bytes>", help: "value size", parse: parseNumber },
  {
    key: "threads",
    long: "--threads",
    flags: "--threads <n>",
    help: "threads of the load generator",
    parse: parseNumber,
  },
  { key: "tests", long: "--tests", flags: "--tests <csv>", help: "any of valkey-benchmark's tests", parse: text },
  { key: "keySpace", long: "--keyspace-len", flags: "--keyspace-len <n>", help: "distinct keys", parse: parseNumber },
  { key: "rate", long: "--rate", flags: "--rate <rps>", help: "requests offered per second", parse: parseNumber },
  {
    key: "workloadName",
    long: "--workload-name",
    flags: "--workload-name <name>",
    help: "tag of the results",
    parse: text,
  },
  { key: "output", long: "--output", flags: "--output <dir>", help: "directory for the results", parse: text },
];

/** A mixed workload on the command line: what of the section `workloads` they set, beside the flags above that mean the same there. */
const WORKLOAD_OPTIONS: readonly BenchmarkOption[] = [
  {
    key: "loadGenerator",
    long: "--load-generator",
    flags: "--load-generator <name>",
    help: "a mixed workload instead of tests, sent by valkey-benchmark, open-loop or memtier",
    parse: text,
  },
  {
    key: "reads",
    long: "--reads",
    flags: "--reads <part>",
    help: "part of a mixed workload that reads, 0 to 1",
    parse: parseNumber,
  },
  { key: "data", long: "--data", flags: "--data <kind>", help: "strings or sorted-sets", parse: text },
  { key: "arrivals", long: "--arrivals", flags: "--arrivals <kind>", help: "open-loop: poisson or fixed", parse: text },
  {
    key: "keys",
    long: "--keys",
    flags: "--keys <distribution>",
    help: "open-loop: uniform, zipfian or hot-set",
    parse: (value) => ({ distribution: value }),
  },
  {
    key: "readFrom",
    long: "--read-from",
    flags: "--read-from <role>",
    help: "open-loop, or valkey-benchmark with --reads 1: primary, replica or any",
    parse: text,
  },
  {
    key: "timeout",
    long: "--timeout",
    flags: "--timeout <ms>",
    help: "open-loop: when a request is given up on",
    parse: parseNumber,
  },
];

const OPTION_NAMES: Readonly<Record<string, string>> = {
  ...Object.fromEntries([...OPTIONS, ...WORKLOAD_OPTIONS].map(({ key, long }) => [key, long])),
  workers: "--threads",
  values: "--datasize",
};

export function addBenchmarkOptions(command: Command): Command {
  for (const { flags, help, parse } of [...OPTIONS, ...WORKLOAD_OPTIONS]) command.option(flags, help, parse);
  return command;
}

/** Which servers, for the platform `external`. */
export function addServerOptions(command: Command): Command {
  const collect = (value: string, previous: string[] | undefined): string[] => [...(previous ?? []), value];
  return command
    .option("--mode <mode>", "cluster or replication")
    .option("--node <host:port=zone>", "a node and its zone; once per node", collect)
    .option("--nodes <file>", "a file with a node per line")
    .option("--user <name>", "user name, where it is not the default one")
    .option("--primaries <n>", "how many there should be")
    .option("--replicas <n>", "how many each primary should have")
    .option("--without <assertion>", "leave an assertion out: settings (where CONFIG is forbidden)", collect)
    .option("--tls", "by TLS")
    .option("--cacert <file>", "trusted certificates")
    .option("--cert <file>", "client certificate")
    .option("--key <file>", "its private key")
    .option("--sni <name>", "server name")
    .option("--insecure", "accept any certificate");
}

/** From commander's values to the benchmark section. */
export function benchmarkOverrides(values: Readonly<Record<string, unknown>>): OptionOverrides {
  const entries = given(OPTIONS, values);
  const keep = values["keep"] === true || values["keepRunner"] === true ? [["keep", true] as [string, unknown]] : [];
  const benchmark = Object.fromEntries([...entries, ...keep]);
  const mixed = Object.fromEntries(given(WORKLOAD_OPTIONS, values));
  return {
    benchmark,
    options: OPTION_NAMES,
    ...(Object.keys(mixed).length === 0 ? {} : { workload: workloadOf(mixed, benchmark) }),
  };
}

function given(options: readonly BenchmarkOption[], values: Readonly<Record<string, unknown>>): [string, unknown][] {
  return options.flatMap(({ key, long }): [string, unknown][] => {
    const value = values[camelCase(long)];
    return value === undefined ? [] : [[key, value]];
  });
}

/** With what the other flags say: the open loop has workers for threads, and sizes of values for one size. */
function workloadOf(
  mixed: Readonly<Record<string, unknown>>,
  benchmark: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const isOpen = mixed["loadGenerator"] === "open-loop";
  const keys: Readonly<Record<string, string>> = {
    clients: "clients",
    pipeline: "pipeline",
    keySpace: "keySpace",
    rate: "rate",
    threads: isOpen ? "workers" : "threads",
    ...(isOpen ? {} : { dataSize: "dataSize" }),
  };
  const shared = Object.entries(keys).flatMap(([from, to]): [string, unknown][] =>
    benchmark[from] === undefined ? [] : [[to, benchmark[from]]],
  );
  const values =
    isOpen && benchmark["dataSize"] !== undefined ? { values: { sizes: "fixed", bytes: benchmark["dataSize"] } } : {};
  return { loadGenerator: "valkey-benchmark", ...mixed, ...Object.fromEntries(shared), ...values };
}

/** Likewise to the section `experiment`. */
export function studyOverrides(values: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    ["precision", "budget", "seed"].flatMap((key) => (values[key] === undefined ? [] : [[key, values[key]]])),
  );
}

function camelCase(long: string): string {
  return long.replace(/^--/, "").replace(/-([a-z])/g, (_match, letter: string) => letter.toUpperCase());
}

/** What `break` can be told beside the stack. */
export interface BreakOptions {
  /** Names; undefined is all. */
  readonly scenarios: readonly string[] | undefined;
  /** In place of the stack's; as typed, to be checked with the rest. */
  readonly overrides: Readonly<Record<string, unknown>>;
  readonly output: string | undefined;
  /** Print what would be done, and do nothing. */
  readonly plan: boolean;
}

export function addBreakOptions(command: Command): Command {
  const collect = (value: string, previous: string[] | undefined): string[] => [
    ...(previous ?? []),
    ...value.split(","),
  ];
  return command
    .option("--scenario <name>", "only this one; several times or comma-separated", collect)
    .option("--repeats <n>", "how often each", parseNumber)
    .option("--rate <n>", "writes per second", parseNumber)
    .option("--output <dir>", "directory for the results")
    .option("--plan", "say what would be done, and do nothing");
}

export function breakOptions(values: Readonly<Record<string, unknown>>): BreakOptions {
  const overrides = Object.fromEntries(
    ["repeats", "rate"].flatMap((key) => (values[key] === undefined ? [] : [[key, values[key]]])),
  );
  const { scenario, output, plan } = values;
  return {
    scenarios: Array.isArray(scenario) ? scenario.map(String) : undefined,
    overrides,
    output: typeof output === "string" ? output : undefined,
    plan: plan === true,
  };
}
