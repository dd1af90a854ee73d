/**
 * Options of the command line, and the options of the configuration that they override. The options of the load have
 * the same names as in the published document "Valkey on EKS". `cli/cli.ts` decides the exit status for wrong options.
 */
import type { Command } from "commander";
import { compact } from "../../lib/compact";
import type { OptionOverrides } from "../../stacks/config/sections/option-overrides";

interface BenchmarkOption {
  /** Name of the same option in the configuration. */
  readonly key: string;
  readonly flags: string;
  readonly help: string;
  readonly parse: (text: string) => unknown;
}

/**
 * The number in a text. A text that is not a number is returned unchanged, and the schema then reports the text with
 * its path.
 */
export const parseNumber = (text: string): unknown =>
  text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text;
const text = (value: string): unknown => value;

/** Adds a value to the list of an option's values, because the option may be given several times. */
export const appendValue = (value: string, previous: readonly string[] | undefined): string[] => [
  ...(previous ?? []),
  value,
];

const LOAD_OPTIONS: readonly BenchmarkOption[] = [
  {
    key: "requests",
    flags: "--requests <n>",
    help: "requests per measurement; replaces --duration",
    parse: parseNumber,
  },
  { key: "duration", flags: "--duration <s>", help: "seconds per measurement", parse: parseNumber },
  { key: "warmup", flags: "--warmup <s>", help: "seconds of load before each measurement", parse: parseNumber },
  {
    key: "repeats",
    flags: "--repeats <n>",
    help: "rounds, in each of which every test is measured once; confidence intervals of 95 % need six",
    parse: parseNumber,
  },
  { key: "clients", flags: "--clients <n>", help: "connections", parse: parseNumber },
  { key: "pipeline", flags: "--pipeline <n>", help: "requests in flight per connection", parse: parseNumber },
  { key: "dataSize", flags: "--datasize <bytes>", help: "value size", parse: parseNumber },
  { key: "threads", flags: "--threads <n>", help: "threads of the load generator", parse: parseNumber },
  { key: "tests", flags: "--tests <list>", help: "tests of valkey-benchmark, separated by commas", parse: text },
  { key: "keySpace", flags: "--keyspace-len <n>", help: "distinct keys", parse: parseNumber },
  { key: "rate", flags: "--rate <rps>", help: "offered rate, requests per second", parse: parseNumber },
  { key: "workloadName", flags: "--workload-name <name>", help: "name of the workload in the results", parse: text },
  { key: "output", flags: "--output <dir>", help: "directory of the results (default: results/TIME)", parse: text },
];

/**
 * Options of one mixed workload that is sent instead of the tests. The options of the load also apply to this workload.
 */
const WORKLOAD_OPTIONS: readonly BenchmarkOption[] = [
  {
    key: "loadGenerator",
    flags: "--load-generator <name>",
    help: "valkey-benchmark, open-loop or memtier (default: valkey-benchmark)",
    parse: text,
  },
  {
    key: "reads",
    flags: "--reads <part>",
    help: "part of the requests that read, 0 to 1 (default: 0.9)",
    parse: parseNumber,
  },
  { key: "data", flags: "--data <type>", help: "strings or sorted-sets (default: strings)", parse: text },
  {
    key: "arrivals",
    flags: "--arrivals <spacing>",
    help: "open-loop: poisson or fixed (default: poisson)",
    parse: text,
  },
  {
    key: "keys",
    flags: "--keys <distribution>",
    help: "open-loop: uniform, zipfian or hot-set (default: uniform)",
    parse: (value) => ({ distribution: value }),
  },
  {
    key: "readFrom",
    flags: "--read-from <role>",
    help: "nodes that reads go to: primary, replica or any (default: primary)",
    parse: text,
  },
  {
    key: "timeoutMs",
    flags: "--timeout-ms <ms>",
    help: "open-loop: milliseconds after which a request without a reply counts as unanswered (default: 5000)",
    parse: parseNumber,
  },
];

/** Command-line options by the names that the configuration uses for the same options, for messages about problems. */
const OPTION_NAMES: Readonly<Record<string, string>> = {
  ...Object.fromEntries([...LOAD_OPTIONS, ...WORKLOAD_OPTIONS].map(({ key, flags }) => [key, longName(flags)])),
  workers: "--threads",
  values: "--datasize",
};

/** Adds the options of the load, for every command that measures. */
export function addBenchmarkOptions(command: Command): Command {
  command.optionsGroup("Load (default: the stack's):");
  for (const { flags, help, parse } of LOAD_OPTIONS) command.option(flags, help, parse);
  command.optionsGroup("Mixed workload instead of tests:");
  for (const { flags, help, parse } of WORKLOAD_OPTIONS) command.option(flags, help, parse);
  return command.optionsGroup("Options:");
}

/** Adds the options that describe existing servers. */
export function addServerOptions(command: Command): Command {
  const described = command
    .optionsGroup("Servers (password in VALKEY_PASSWORD):")
    .option("--mode <mode>", "cluster or replication (required)");
  addNodeOptions(described)
    .option("--primaries <n>", "expected number of primaries (default: any)")
    .option("--replicas <n>", "expected number of replicas per primary (default: any)")
    .option(
      "--without <assertions>",
      "group of assertions to skip: settings (if the servers forbid CONFIG), zones, or writes (the verdict is then never PASS); may be repeated",
      appendValue,
    );
  return addTlsOptions(described).optionsGroup("Options:");
}

/** Adds the options that name existing servers and their user. */
export function addNodeOptions(command: Command): Command {
  return command
    .option("--node <host:port=zone>", "node and its zone; repeat the option for each node", appendValue)
    .option("--nodes <file>", "file with one HOST:PORT=ZONE per line")
    .option("--user <name>", "user name (default: the default user)");
}

/** Adds the options for connections with TLS. */
export function addTlsOptions(command: Command): Command {
  return command
    .option("--tls", "connect with TLS")
    .option("--cacert <file>", "trusted certificates (default: the system's)")
    .option("--cert <file>", "client certificate")
    .option("--key <file>", "private key of the client certificate")
    .option("--sni <name>", "server name for TLS")
    .option("--insecure", "accept any certificate");
}

/** Converts commander's values to overrides of the configuration. */
export function benchmarkOverrides(values: Readonly<Record<string, unknown>>): OptionOverrides {
  const keep = values["keep"] === true || values["keepRunner"] === true;
  const benchmark = { ...givenValues(LOAD_OPTIONS, values), ...(keep ? { keep } : {}) };
  const mixed = givenValues(WORKLOAD_OPTIONS, values);
  const workload = Object.keys(mixed).length === 0 ? undefined : workloadSection(mixed, benchmark);
  return { benchmark, options: OPTION_NAMES, ...(workload === undefined ? {} : { workload }) };
}

/** Converts commander's values to overrides of the section `study`. */
export function studyOverrides(values: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const keys = ["precision", "budget", "seed"];
  return Object.fromEntries(compact(keys.map((key) => (values[key] === undefined ? undefined : [key, values[key]]))));
}

function givenValues(
  options: readonly BenchmarkOption[],
  values: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const entries = options.map(({ key, flags }): [string, unknown] => [key, values[camelCase(longName(flags))]]);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

/** Adds the options of the load to a mixed workload, under the names that its load generator uses for these options. */
function workloadSection(
  mixed: Readonly<Record<string, unknown>>,
  benchmark: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const isOpenLoop = mixed["loadGenerator"] === "open-loop";
  const { clients, pipeline, keySpace, rate, threads, dataSize } = benchmark;
  const shared = {
    clients,
    pipeline,
    keySpace,
    rate,
    ...(isOpenLoop ? { workers: threads } : { threads, dataSize }),
    ...(isOpenLoop && dataSize !== undefined ? { values: { sizes: "fixed", bytes: dataSize } } : {}),
  };
  const there = Object.fromEntries(Object.entries(shared).filter(([, value]) => value !== undefined));
  return { loadGenerator: "valkey-benchmark", ...mixed, ...there };
}

function longName(flags: string): string {
  return flags.split(" ")[0] ?? flags;
}

function camelCase(long: string): string {
  return long.replace(/^--/, "").replace(/-([a-z])/g, (_match, letter: string) => letter.toUpperCase());
}
