import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { compact } from "../../../lib/compact";
import type { Endpoint, Mode, TlsFiles } from "../../../valkey/node";
import type { NamedTest } from "../../workloads/named-tests";
import { keysPerInfix } from "../../workloads/key-slices";
import type { ReadFrom } from "../../workloads/mixed-workload";
import type { Workload } from "../../workloads/workload";
import { Failure, messageOf } from "../../../lib/errors";

/** With threads, valkey-benchmark reads its clock only at each tick, so a run of requests ends up to 250 ms late. */
export const CLOCK_TICK_SECONDS = 0.25;
/** Duration of the shortest measurement in which one tick (250 ms) is at most 1 % of the duration, seconds. */
export const MIN_SECONDS_WITH_TICK = 100 * CLOCK_TICK_SECONDS;

export interface ValkeyBenchmarkRun {
  readonly mode: Mode;
  /** Endpoint of any node of a cluster, or of the primary in replication mode. */
  readonly endpoint: Endpoint;
  readonly test: NamedTest;
  readonly workload: Workload;
  /** Requests if the workload sets them or valkey-benchmark lacks `--duration`, otherwise seconds. */
  readonly length: Workload["length"];
  /** Without a seed, runners that start in the same second would draw the same keys. */
  readonly seed: number;
  readonly readFrom?: ReadFrom | undefined;
  readonly credentials: { readonly username: string; readonly password: string } | undefined;
  readonly tls: TlsFiles | undefined;
}

interface RunnerPlaceholders {
  readonly seed: string;
  readonly rate: string;
  readonly requests: string;
}

/**
 * The password follows `-a`, because valkey-benchmark accepts it only there. The warm-up is a separate run: with
 * `--warmup`, version 9.1 clears its histogram while its threads add to it, and about one run in thirty never ends.
 */
export function valkeyBenchmarkArguments(run: ValkeyBenchmarkRun, placeholders?: RunnerPlaceholders): string[] {
  const { workload, test, credentials, readFrom = "primary", length } = run;
  const isCluster = run.mode === "cluster";
  const seed = placeholders?.seed ?? String(run.seed);
  const rate = workload.rate === undefined ? undefined : (placeholders?.rate ?? String(workload.rate));
  return compact([
    "-h",
    run.endpoint.host,
    "-p",
    String(run.endpoint.port),
    ...(credentials === undefined ? [] : ["--user", credentials.username, "-a", credentials.password]),
    ...tlsArguments(run.tls),
    isCluster ? "--cluster" : undefined,
    ...READ_FROM_ARGUMENTS[readFrom],
    "-c",
    String(workload.clients),
    "-P",
    String(workload.pipeline),
    "-d",
    String(workload.dataSize),
    ...(usesThreads(run) ? ["--threads", String(workload.threads)] : []),
    "-r",
    String(keysPerInfix(workload.keySpace, isCluster)),
    "--seed",
    seed,
    ...(rate === undefined ? [] : ["--rps", rate]),
    ...("seconds" in length
      ? ["--duration", String(length.seconds)]
      : ["-n", placeholders?.requests ?? String(length.requests)]),
    ...testArguments(test, isCluster),
  ]);
}

/** Each name in `TlsFiles` is also the name of the option in all load generators. */
export const TLS_NAMES = ["cacert", "cert", "key", "sni"] as const;

const READ_FROM_ARGUMENTS: Readonly<Record<ReadFrom, readonly string[]>> = {
  primary: [],
  replica: ["--rfr", "yes"],
  any: ["--rfr", "all"],
};

/**
 * With threads, the clock is read only at intervals. In replication mode, one thread is as fast without threads, and a
 * run of requests then ends exactly.
 */
export function usesThreads({
  mode,
  workload,
  length,
}: Pick<ValkeyBenchmarkRun, "mode" | "workload" | "length">): boolean {
  return mode === "cluster" || workload.threads > 1 || "seconds" in length;
}

/** In a cluster, valkey-benchmark routes a command by the `{tag}` in its key. */
function testArguments(test: NamedTest, isCluster: boolean): string[] {
  if ("named" in test.send) return ["-t", test.send.named];
  if ("sequence" in test.send) return ["--", ...test.send.sequence];
  const keyAt = test.command === "fcall" ? 3 : 1;
  return test.send.words.map((word, index) => (isCluster && index === keyAt ? `${word}:{tag}` : word));
}

export function tlsArguments(tls: TlsFiles | undefined): string[] {
  if (tls === undefined) return [];
  const files = TLS_NAMES.flatMap((name) => (tls[name] === undefined ? [] : [`--${name}`, tls[name]]));
  return compact(["--tls", tls.insecure ? "--insecure" : undefined, ...files]);
}

/** The arguments for records and messages, with `***` in place of the word after `-a`. */
export function withoutSecrets(args: readonly string[]): string[] {
  return args.map((arg, index) => (args[index - 1] === "-a" ? "***" : arg));
}

/**
 * Without `--duration`, seconds become requests, enough that one tick of the clock is at most 1 % of the duration.
 * @param expectedRate requests per second
 */
export function effectiveLength(
  workload: Workload,
  mode: Mode,
  features: ValkeyBenchmarkFeatures,
  expectedRate: number,
): Workload["length"] {
  if ("requests" in workload.length || features.duration) return workload.length;
  const ticks = mode === "cluster" || workload.threads > 1;
  // The expected rate was measured with the same coarse clock, so the real rate can be up to 1.5 times as high.
  const seconds = ticks ? 1.5 * Math.max(workload.length.seconds, MIN_SECONDS_WITH_TICK) : workload.length.seconds;
  return { requests: Math.ceil(seconds * Math.min(expectedRate, workload.rate ?? Infinity)) };
}

export interface ValkeyBenchmarkFeatures {
  /** `--duration`: a run ends after the given time, at most some milliseconds late. */
  readonly duration: boolean;
  /** `--rps`: requests are sent at an offered rate. */
  readonly rate: boolean;
  /** `--rfr`: reads go to the replicas of a cluster. */
  readonly readFrom: boolean;
}

export async function detectFeatures(benchmark: string): Promise<ValkeyBenchmarkFeatures> {
  try {
    const { stdout } = await promisify(execFile)(benchmark, ["--help"], { encoding: "utf8" });
    return parseFeatures(stdout);
  } catch (error) {
    throw new Failure(`${benchmark} --help failed: ${messageOf(error)}`, { cause: error });
  }
}

export function parseFeatures(help: string): ValkeyBenchmarkFeatures {
  const has = (option: string): boolean => new RegExp(`^\\s*${option}\\b`, "m").test(help);
  return { duration: has("--duration"), rate: has("--rps"), readFrom: has("--rfr") };
}
