import type { Endpoint, Mode, TlsFiles } from "../../../valkey/node";
import { BadInput } from "../../../lib/errors";
import type { MemtierWorkload } from "../../workloads/mixed-workload";
import { zsetMember } from "../../workloads/key-space";
import { MEMTIER_FAMILY } from "../../workloads/mixed-workload";
import { wholeRatio } from "../../workloads/mixed-workload-tests";

export interface MemtierRun {
  readonly mix: MemtierWorkload;
  readonly mode: Mode;
  /** Any node of the cluster, or the primary. */
  readonly endpoint: Endpoint;
  readonly primaries: number;
  readonly credentials: { readonly username: string; readonly password: string } | undefined;
  readonly tls: TlsFiles | undefined;
}

/**
 * Arguments in order; credentials stand behind `-a`, which takes them from nowhere else, so they are those of a user made for the
 * run. Its keys are numbered from 1 behind a prefix and carry no tag: it routes by the slot of the key itself.
 * @param json the file for its results
 * @param word in place of the credentials
 * @throws BadInput where a rate cannot be shared by the connections
 */
export function memtierArguments(
  { mix, mode, endpoint, primaries, credentials, tls }: MemtierRun,
  json: string,
  word = credentials === undefined ? undefined : `${credentials.username}:${credentials.password}`,
): string[] {
  const isCluster = mode === "cluster";
  // Each of its clients has a connection to every primary.
  const perThread = mix.clients / mix.threads / (isCluster ? primaries : 1);
  return [
    "-s",
    endpoint.host,
    "-p",
    String(endpoint.port),
    ...(word === undefined ? [] : ["-a", word]),
    ...tlsArguments(tls),
    ...(isCluster ? ["--cluster-mode"] : []),
    "-t",
    String(mix.threads),
    "-c",
    String(perThread),
    `--pipeline=${mix.pipeline}`,
    `--test-time=${Math.max(1, Math.round(mix.length.seconds))}`,
    ...(mix.rate === undefined ? [] : [`--rate-limiting=${rateOf(mix, mix.rate)}`]),
    `--key-prefix=${MEMTIER_FAMILY}`,
    "--key-minimum=1",
    `--key-maximum=${mix.keySpace}`,
    "--distinct-client-seed",
    "--randomize",
    ...commandArguments(mix),
    "--hide-histogram",
    `--json-out-file=${json}`,
  ];
}

function commandArguments(mix: MemtierWorkload): string[] {
  const { reads, writes } = wholeRatio(mix.reads);
  if (mix.data === "strings") return [`--ratio=${writes}:${reads}`, "--key-pattern=R:R", `--data-size=${mix.dataSize}`];
  // It has no random numbers for scores: the first write of a member changes its score, and all later ones find it so.
  const commands = [
    { times: reads, text: "ZRANGE __key__ 0 -1" },
    { times: writes, text: `ZADD __key__ 0.5 ${zsetMember(0)}` },
  ];
  return commands.flatMap(({ times, text }) =>
    times === 0 ? [] : [`--command=${text}`, `--command-ratio=${times}`, "--command-key-pattern=R"],
  );
}

/** It is told a rate for each connection, in whole requests per second. */
function rateOf({ name, clients }: MemtierWorkload, rate: number): number {
  const each = rate / clients;
  if (Number.isInteger(each) && each >= 1) return each;
  const nearest = [Math.floor(each), Math.ceil(each)].filter((part) => part >= 1).map((part) => part * clients);
  throw new BadInput(`workload ${name}`, [
    `rate: memtier offers whole numbers of requests per second on each of ${clients} connections; the nearest to ${rate} that can be: ${nearest.join(" or ")}`,
  ]);
}

function tlsArguments(tls: TlsFiles | undefined): string[] {
  if (tls === undefined) return [];
  const files = (["cacert", "cert", "key", "sni"] as const).flatMap((name) =>
    tls[name] === undefined ? [] : [`--${name}=${tls[name]}`],
  );
  return ["--tls", ...(tls.insecure ? ["--tls-skip-verify"] : []), ...files];
}

/** The same arguments for records and people. */
export function withoutCredentials(args: readonly string[]): string[] {
  return args.map((arg, index) => (args[index - 1] === "-a" ? "***" : arg));
}
