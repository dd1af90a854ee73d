import type { Endpoint, Mode, TlsFiles } from "../../../valkey/node";
import type { NamedTest } from "../../workloads/named-tests";
import { keysPerInfix } from "../../workloads/key-space";
import type { ReadFrom } from "../../workloads/mixed-workload";
import type { Workload } from "../../workloads/workload";
import type { ValkeyBenchmarkFeatures } from "./features";

/** The tool looks at the clock every 250 ms when it has threads, so a count of requests ends up to that late. */
export const CLOCK_TICK_SECONDS = 0.25;
/** A tick must be at most 1 % of what is measured. */
export const MIN_SECONDS_WITH_TICK = 100 * CLOCK_TICK_SECONDS;

export interface ValkeyBenchmarkRun {
  readonly mode: Mode;
  /** Any node of the cluster, or the primary. */
  readonly endpoint: Endpoint;
  readonly test: NamedTest;
  readonly workload: Workload;
  /** Requests where the tool has no `--duration` or requests are wanted; else seconds. */
  readonly length: Workload["length"];
  /** Distinct for every run, or runners that start in one second draw the same keys. */
  readonly seed: number;
  /** Of a cluster's nodes, who is asked. @default "primary" */
  readonly readFrom?: ReadFrom | undefined;
  readonly credentials: { readonly username: string; readonly password: string } | undefined;
  readonly tls: TlsFiles | undefined;
}

/** Words in place of a run's figures, where each of several load generators fills in its own. */
export interface RunnerPlaceholders {
  readonly seed: string;
  readonly rate: string;
  readonly requests: string;
}

/**
 * Arguments in order; the password stands behind `-a`, which takes it from nowhere else. `--warmup` is not among
 * them: 9.1 then clears its histogram while its threads go on counting into it, and in about one run of thirty
 * loops forever over the result. A run of its own before the measured one warms up as well.
 */
export function valkeyBenchmarkArguments(run: ValkeyBenchmarkRun, own?: RunnerPlaceholders): string[] {
  const { workload, test } = run;
  const isCluster = run.mode === "cluster";
  return [
    "-h",
    run.endpoint.host,
    "-p",
    String(run.endpoint.port),
    ...(run.credentials === undefined ? [] : ["--user", run.credentials.username, "-a", run.credentials.password]),
    ...tlsArguments(run.tls),
    ...(isCluster ? ["--cluster"] : []),
    ...(run.readFrom === undefined || run.readFrom === "primary"
      ? []
      : ["--rfr", run.readFrom === "replica" ? "yes" : "all"]),
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
    own?.seed ?? String(run.seed),
    ...(workload.rate === undefined ? [] : ["--rps", own?.rate ?? String(workload.rate)]),
    ...("seconds" in run.length
      ? ["--duration", String(run.length.seconds)]
      : ["-n", own?.requests ?? String(run.length.requests)]),
    ...testArguments(test, isCluster),
  ];
}

/**
 * Whether the tool runs threads, and so looks at the clock in ticks. A cluster always has them. One thread is
 * as good as none except that a count of requests then ends exactly.
 */
export function usesThreads({
  mode,
  workload,
  length,
}: Pick<ValkeyBenchmarkRun, "mode" | "workload" | "length">): boolean {
  return mode === "cluster" || workload.threads > 1 || "seconds" in length;
}

/** In a cluster a command's key must carry `{tag}`, or it is not routed. */
function testArguments(test: NamedTest, isCluster: boolean): string[] {
  if ("named" in test.send) return ["-t", test.send.named];
  if ("sequence" in test.send) return ["--", ...test.send.sequence];
  const keyAt = test.command === "fcall" ? 3 : 1;
  return test.send.words.map((word, index) => (isCluster && index === keyAt ? `${word}:{tag}` : word));
}

function tlsArguments(tls: TlsFiles | undefined): string[] {
  if (tls === undefined) return [];
  const files = (["cacert", "cert", "key", "sni"] as const).flatMap((name) =>
    tls[name] === undefined ? [] : [`--${name}`, tls[name]],
  );
  return ["--tls", ...(tls.insecure ? ["--insecure"] : []), ...files];
}

/** The same arguments for records and people: what stands behind `-a` is not shown. */
export function withoutSecrets(args: readonly string[]): string[] {
  return args.map((arg, index) => (args[index - 1] === "-a" ? "***" : arg));
}

/**
 * How long a measurement is with this tool. Without `--duration` a count of requests stands in for seconds,
 * from the rate at which the servers answer, and long enough that the tick does not matter.
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
  // A trial's rate is itself read in ticks and may be too low by half.
  const seconds = ticks ? 1.5 * Math.max(workload.length.seconds, MIN_SECONDS_WITH_TICK) : workload.length.seconds;
  return { requests: Math.ceil(seconds * Math.min(expectedRate, workload.rate ?? Infinity)) };
}
