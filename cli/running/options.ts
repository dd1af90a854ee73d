import type { Command } from "commander";
import { type Problem, BadInput, problem, problemText } from "../../lib/errors";
import type { OptionOverrides } from "../../stacks/config/sections/option-overrides";

export type OptionValues = Readonly<Record<string, unknown>>;

export function givenValues(values: OptionValues, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(names.flatMap((name) => (values[name] === undefined ? [] : [[name, values[name]]])));
}

export function textOption(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

export function optionName(name: PropertyKey | undefined): string {
  return `--${String(name).replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

export function wrongValue(option: string, value: unknown, expected: string, code = "wrong-value"): Problem {
  return problem(code, option, ` is ${JSON.stringify(value)}: expected ${expected}`);
}

/** @param path option with the wrong input @throws any other error */
export function problemsOf(error: unknown, path?: string): Problem[] {
  if (!(error instanceof BadInput)) throw error;
  return error.problems.map((each) => problem(each.code, path ?? error.subject, problemText(each)));
}

interface BenchmarkOption {
  readonly key: string;
  readonly flags: string;
  readonly help: string;
  readonly parse: (text: string) => unknown;
}

/** A text that is not a number is returned unchanged: the schema then reports it with its path. */
export const parseNumber = (text: string): unknown =>
  text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text;
const text = (value: string): unknown => value;

/** Adds a value to the list of an option's values, because the option may be given several times. */
export const appendValue = (value: string, previous: readonly string[] | undefined): string[] => [
  ...(previous ?? []),
  value,
];

function option(
  flags: string,
  help: string,
  parse: BenchmarkOption["parse"] = parseNumber,
  key = commanderName(flags),
): BenchmarkOption {
  return { key, flags, help, parse };
}

const LOAD_OPTIONS: readonly BenchmarkOption[] = [
  option("--requests <n>", "requests per measurement; replaces --duration"),
  option("--duration <s>", "seconds per measurement"),
  option("--warmup <s>", "seconds of load before each measurement"),
  option(
    "--repeats <n>",
    "rounds, in each of which every test is measured once; confidence intervals of 95 % need six",
  ),
  option("--clients <n>", "connections"),
  option("--pipeline <n>", "requests in flight per connection"),
  option("--datasize <bytes>", "value size", parseNumber, "dataSize"),
  option("--threads <n>", "threads of the load generator"),
  option("--tests <list>", "tests of valkey-benchmark, separated by commas", text),
  option("--keyspace-len <n>", "distinct keys", parseNumber, "keySpace"),
  option("--rate <rps>", "offered rate, requests per second"),
  option("--workload-name <name>", "name of the workload in the results", text),
  option("--output <dir>", "directory of the results (default: results/TIME)", text),
];

/** One mixed workload instead of the tests; the options of the load also apply to it. */
const WORKLOAD_OPTIONS: readonly BenchmarkOption[] = [
  option("--load-generator <name>", "valkey-benchmark, open-loop or memtier (default: valkey-benchmark)", text),
  option("--reads <part>", "part of the requests that read, 0 to 1 (default: 0.9)"),
  option("--data <type>", "strings or sorted-sets (default: strings)", text),
  option("--arrivals <spacing>", "open-loop: poisson or fixed (default: poisson)", text),
  option("--keys <distribution>", "open-loop: uniform, zipfian or hot-set (default: uniform)", (value) => ({
    distribution: value,
  })),
  option("--read-from <role>", "nodes that reads go to: primary, replica or any (default: primary)", text),
  option(
    "--timeout-ms <ms>",
    "open-loop: milliseconds after which a request without a reply counts as unanswered (default: 5000)",
  ),
];

const OPTION_NAMES: Readonly<Record<string, string>> = {
  ...Object.fromEntries([...LOAD_OPTIONS, ...WORKLOAD_OPTIONS].map(({ key, flags }) => [key, longName(flags)])),
  workers: "--threads",
  values: "--datasize",
};

export function addBenchmarkOptions(command: Command): Command {
  addOptions(command, "Load (default: the stack's):", LOAD_OPTIONS);
  return addOptions(command, "Mixed workload instead of tests:", WORKLOAD_OPTIONS).optionsGroup("Options:");
}

/** A study measures the tests of its treatments, and repeats them until their comparisons are precise enough. */
export function addStudyOptions(command: Command): Command {
  const options = LOAD_OPTIONS.filter(({ key }) => key !== "repeats");
  return addOptions(command, "Load (default: the stack's):", options).optionsGroup("Options:");
}

/** Options that a search for a capacity decides itself: it offers one open-loop workload at rates of its own. */
const DECIDED_BY_SEARCH = ["requests", "repeats", "tests", "rate", "loadGenerator"];
const isSearchable = ({ key }: BenchmarkOption): boolean => !DECIDED_BY_SEARCH.includes(key);

export function addSearchOptions(command: Command): Command {
  const options = [...LOAD_OPTIONS, ...WORKLOAD_OPTIONS].filter(isSearchable);
  return addOptions(command, "Open-loop workload (default: the stack's):", options).optionsGroup("Options:");
}

function addOptions(command: Command, title: string, options: readonly BenchmarkOption[]): Command {
  command.optionsGroup(title);
  for (const { flags, help, parse } of options) command.option(flags, help, parse);
  return command;
}

export function addServerOptions(command: Command): Command {
  addUnverifiedServerOptions(command)
    .option("--primaries <n>", "expected number of primaries of a cluster (default: 3 or more)")
    .option(
      "--replicas <n>",
      "expected number of replicas per primary (default: any; in a cluster at least 1, and the same for each primary)",
    )
    .option(
      "--without <assertions>",
      "group of assertions to skip: settings (if the servers forbid CONFIG), zones, or writes (the verdict is then never PASS); may be repeated",
      appendValue,
    );
  return addTlsOptions(command).optionsGroup("Options:");
}

/** Options that name servers, without those of a verification. The caller adds the options of TLS. */
export function addUnverifiedServerOptions(command: Command): Command {
  const described = command
    .optionsGroup("Servers (password in VALKEY_PASSWORD):")
    .option("--mode <mode>", "cluster or replication (required)");
  return addNodeOptions(described);
}

export function addNodeOptions(command: Command): Command {
  return command
    .option("--node <host:port=zone>", "node and its zone; repeat the option for each node", appendValue)
    .option("--nodes <file>", "file with one HOST:PORT=ZONE per line")
    .option("--user <name>", "user name (default: the default user)");
}

export function addTlsOptions(command: Command): Command {
  return command
    .option("--tls", "connect with TLS")
    .option("--cacert <file>", "trusted certificates (default: the system's)")
    .option("--cert <file>", "client certificate")
    .option("--key <file>", "private key of the client certificate")
    .option("--sni <name>", "server name for TLS")
    .option("--insecure", "accept any certificate");
}

export function benchmarkOverrides(values: OptionValues): OptionOverrides {
  const keep = values["keep"] === true || values["keepRunner"] === true;
  const benchmark = { ...configuredValues(LOAD_OPTIONS, values), ...(keep ? { keep } : {}) };
  const mixed = configuredValues(WORKLOAD_OPTIONS, values);
  const workload = Object.keys(mixed).length === 0 ? undefined : workloadSection(mixed, benchmark);
  return { benchmark, options: OPTION_NAMES, ...(workload === undefined ? {} : { workload }) };
}

export function searchOverrides(values: OptionValues): OptionOverrides {
  return { ...benchmarkOverrides({ ...values, loadGenerator: "open-loop" }), isSearched: true };
}

function configuredValues(options: readonly BenchmarkOption[], values: OptionValues): Record<string, unknown> {
  const entries = options.map(({ key, flags }): [string, unknown] => [key, values[commanderName(flags)]]);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

function workloadSection(
  mixed: Readonly<Record<string, unknown>>,
  benchmark: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const isOpenLoop = mixed["loadGenerator"] === "open-loop";
  const { clients, pipeline, keySpace, rate, threads, dataSize, workloadName: name } = benchmark;
  const values = dataSize === undefined ? undefined : { sizes: "fixed", bytes: dataSize };
  const own = isOpenLoop ? { workers: threads, values } : { threads, dataSize };
  const shared = { name, clients, pipeline, keySpace, rate, ...own };
  return { loadGenerator: "valkey-benchmark", ...mixed, ...givenValues(shared, Object.keys(shared)) };
}

function longName(flags: string): string {
  return flags.split(" ")[0] ?? flags;
}

function commanderName(flags: string): string {
  return longName(flags)
    .replace(/^--/, "")
    .replace(/-([a-z])/g, (_match, letter: string) => letter.toUpperCase());
}
