/** Options of the command line: S1's flags by S1's names, and what they stand for in a stack's benchmark section. */
import type { Command } from "commander";
import type { Overrides } from "./config";

interface BenchmarkOption {
  readonly key: string;
  readonly flags: string;
  readonly long: string;
  readonly help: string;
  readonly parse: (text: string) => unknown;
}

/** What is no number stays text, for the schema to refuse with its path. */
const number = (text: string): unknown => (text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text);
const text = (value: string): unknown => value;

const OPTIONS: readonly BenchmarkOption[] = [
  { key: "requests", long: "--requests", flags: "--requests <n>", help: "requests per measurement, instead of a duration", parse: number },
  { key: "duration", long: "--duration", flags: "--duration <s>", help: "seconds per measurement", parse: number },
  { key: "warmup", long: "--warmup", flags: "--warmup <s>", help: "seconds before each measurement counts", parse: number },
  { key: "repeats", long: "--repeats", flags: "--repeats <n>", help: "rounds; intervals of 95 % take six", parse: number },
  { key: "clients", long: "--clients", flags: "--clients <n>", help: "parallel connections", parse: number },
  { key: "pipeline", long: "--pipeline", flags: "--pipeline <n>", help: "requests in flight per connection", parse: number },
  { key: "dataSize", long: "--datasize", flags: "--datasize <bytes>", help: "value size", parse: number },
  { key: "threads", long: "--threads", flags: "--threads <n>", help: "threads of the load generator", parse: number },
  { key: "tests", long: "--tests", flags: "--tests <csv>", help: "any of valkey-benchmark's tests", parse: text },
  { key: "keySpace", long: "--keyspace-len", flags: "--keyspace-len <n>", help: "distinct keys", parse: number },
  { key: "rate", long: "--rate", flags: "--rate <rps>", help: "requests offered per second", parse: number },
  { key: "workloadName", long: "--workload-name", flags: "--workload-name <name>", help: "tag of the results", parse: text },
  { key: "output", long: "--output", flags: "--output <dir>", help: "directory for the results", parse: text },
];

const OPTION_NAMES: Readonly<Record<string, string>> = Object.fromEntries(OPTIONS.map(({ key, long }) => [key, long]));

export function addBenchmarkOptions(command: Command): Command {
  for (const { flags, help, parse } of OPTIONS) command.option(flags, help, parse);
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
export function benchmarkOverrides(values: Readonly<Record<string, unknown>>): Overrides {
  const entries = OPTIONS.flatMap(({ key, long }): [string, unknown][] => {
    const value = values[camelCase(long)];
    return value === undefined ? [] : [[key, value]];
  });
  const keep = values["keep"] === true || values["keepRunner"] === true ? [["keep", true] as [string, unknown]] : [];
  return { benchmark: Object.fromEntries([...entries, ...keep]), options: OPTION_NAMES };
}

/** Likewise to the section `experiment`. */
export function experimentOverrides(values: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(["precision", "budget", "seed"].flatMap((key) => (values[key] === undefined ? [] : [[key, values[key]]])));
}

function camelCase(long: string): string {
  return long.replace(/^--/, "").replace(/-([a-z])/g, (_match, letter: string) => letter.toUpperCase());
}
