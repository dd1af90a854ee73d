import { compact } from "../../../lib/compact";
import type { Endpoint, Mode, TlsFiles } from "../../../valkey/node";
import { BadInput } from "../../../lib/errors";
import { type MemtierWorkload, MEMTIER_FAMILY } from "../../workloads/mixed-workload";
import { zsetMember } from "../../workloads/key-slices";
import { wholeRatio } from "../../workloads/mixed-workload-tests";
import { TLS_NAMES } from "../valkey-benchmark/arguments";

export interface MemtierRun {
  readonly mix: MemtierWorkload;
  readonly mode: Mode;
  readonly endpoint: Endpoint;
  readonly primaries: number;
  readonly credentials: { readonly username: string; readonly password: string } | undefined;
  readonly tls: TlsFiles | undefined;
}

/**
 * After `-a`, because memtier_benchmark accepts credentials only there: every user of the machine can read them, so
 * they belong to a user of the run. Keys are a prefix and a number from 1, without a hash tag: commands are routed by
 * the slot of the key.
 * @param word `user:password`, or a placeholder
 * @throws BadInput for a fractional rate of a connection
 */
export function memtierArguments(
  { mix, mode, endpoint, primaries, credentials, tls }: MemtierRun,
  json: string,
  word = credentials === undefined ? undefined : `${credentials.username}:${credentials.password}`,
): string[] {
  const isCluster = mode === "cluster";
  // Each client of memtier_benchmark has one connection to every primary.
  const perThread = mix.clients / mix.threads / (isCluster ? primaries : 1);
  return compact([
    "-s",
    endpoint.host,
    "-p",
    String(endpoint.port),
    ...(word === undefined ? [] : ["-a", word]),
    ...tlsArguments(tls),
    isCluster ? "--cluster-mode" : undefined,
    "-t",
    String(mix.threads),
    "-c",
    String(perThread),
    `--pipeline=${mix.pipeline}`,
    `--test-time=${Math.max(1, Math.round(mix.length.seconds))}`,
    ...compact([mix.rate === undefined ? undefined : `--rate-limiting=${ratePerConnection(mix, mix.rate)}`]),
    `--key-prefix=${MEMTIER_FAMILY}`,
    "--key-minimum=1",
    `--key-maximum=${mix.keySpace}`,
    "--distinct-client-seed",
    "--randomize",
    ...commandArguments(mix),
    "--hide-histogram",
    `--json-out-file=${json}`,
  ]);
}

function commandArguments(mix: MemtierWorkload): string[] {
  const { reads, writes } = wholeRatio(mix.reads);
  if (mix.data === "strings") return [`--ratio=${writes}:${reads}`, "--key-pattern=R:R", `--data-size=${mix.dataSize}`];
  // memtier_benchmark does not generate random scores. So the first write of a member changes its score, but later
  // writes do not.
  const commands = [
    { times: reads, text: "ZRANGE __key__ 0 -1" },
    { times: writes, text: `ZADD __key__ 0.5 ${zsetMember(0)}` },
  ];
  return commands.flatMap(({ times, text }) =>
    times === 0 ? [] : [`--command=${text}`, `--command-ratio=${times}`, "--command-key-pattern=R"],
  );
}

/** Requests per second for each connection. memtier_benchmark accepts only whole numbers. */
function ratePerConnection({ name, clients }: MemtierWorkload, rate: number): number {
  const each = rate / clients;
  if (Number.isInteger(each) && each >= 1) return each;
  const nearest = [Math.floor(each), Math.ceil(each)].filter((part) => part >= 1).map((part) => part * clients);
  const reason = `memtier cannot share rate ${rate} evenly over ${clients} connections`;
  const rule = "each connection needs a whole number of requests per second";
  throw BadInput.of(`workload ${name}`, "uneven-rate", `${reason}: ${rule}; nearest rates: ${nearest.join(" or ")}`);
}

function tlsArguments(tls: TlsFiles | undefined): string[] {
  if (tls === undefined) return [];
  const files = TLS_NAMES.map((name) => (tls[name] === undefined ? undefined : `--${name}=${tls[name]}`));
  return compact(["--tls", tls.insecure ? "--tls-skip-verify" : undefined, ...files]);
}
