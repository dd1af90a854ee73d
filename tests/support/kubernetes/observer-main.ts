/**
 * The client of the failure tests as a program for a pod: writes to every shard at a steady rate until a file appears,
 * then reads every key back and prints what became of the writes as JSON. Environment: ORDER, an `ObserverOrder`.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "../../../lib/errors";
import { accountForWrites } from "../../../faults/writes/accounting";
import type { Dialer } from "../../../faults/writes/connection-pool";
import { WriteClient } from "../../../faults/writes/write-client";
import { type Write, isAcknowledged } from "../../../faults/writes/write-history";
import { countWriteErrors } from "../../../faults/scenarios/scenario-record";
import { connect } from "../../../valkey/connection";
import { type Endpoint, type Mode, formatEndpoint } from "../../../valkey/node";
import { ViewParser } from "../../../valkey/topology/cluster-view";
import type { SlotRange } from "../../../valkey/topology/slots";

export interface ObserverOrder {
  readonly mode: Mode;
  /** Host names stay when pods get other addresses. In replication mode the Service of the primary alone. */
  readonly endpoints: readonly Endpoint[];
  /** Certificate of the servers' authority, PEM. @default plain TCP */
  readonly ca?: string | undefined;
  /** Read again for every connection. @default no password */
  readonly passwordFile?: string | undefined;
  /** Writes per second. */
  readonly rate: number;
  /** Replicas that must have received a write before it counts as acknowledged (WAIT). @default 0 */
  readonly replicas?: number | undefined;
  /** Time after which a write without an answer has failed, milliseconds. @default 2000 */
  readonly timeoutMs?: number | undefined;
  /** The file that appears after some writes. */
  readonly begun: string;
  /** The file that ends the writes. */
  readonly until: string;
}

export interface ObservedWrites {
  readonly acknowledged: number;
  /** Without an acknowledgement: refused, not sent, or not answered. */
  readonly failed: number;
  readonly errors: Readonly<Record<string, number>>;
  readonly lost: number;
  /** The longest time in which a shard acknowledged no write, milliseconds. */
  readonly pauseMs: number;
  /** Latency of acknowledged writes, from their due time, milliseconds; null where none was acknowledged. */
  readonly p999Ms: number | null;
  /** Failed writes by shard and error, with their times, and connections that could not be opened. */
  readonly log: readonly string[];
}

const TIMEOUT_MS = 2000;
const WAIT_MS = 1000;
/** Time from the moment in which a write is due to its failure without an answer, milliseconds. */
const SHORTLY_MS = 1000;
/** Time for which writes go on before a change may begin, milliseconds. */
const BEGUN_AFTER_MS = 1000;

async function observe({
  replicas = 0,
  mode,
  endpoints,
  ca,
  passwordFile,
  rate,
  timeoutMs = TIMEOUT_MS,
  begun,
  until,
}: ObserverOrder): Promise<ObservedWrites> {
  // Nodes of a cluster name each other by addresses, which no certificate has.
  const tls = ca === undefined ? undefined : { ca, insecure: mode === "cluster" };
  const refused: Refused[] = [];
  const dial: Dialer = async (endpoint) => {
    const password = passwordFile === undefined ? undefined : readFileSync(passwordFile, "utf8").trim();
    const from = performance.now();
    const connection = await connect(formatEndpoint(endpoint), endpoint, { password, tls }, timeoutMs).catch(
      (error: unknown) => {
        refused.push({ from, to: performance.now(), error: messageOf(error) });
        throw error;
      },
    );
    if (mode === "replication") await connection.call("CLIENT", "CAPA", "redirect").catch(() => undefined);
    return connection;
  };
  const nodes = endpoints.map((endpoint, index) => ({
    name: `node-${index}`,
    endpoint,
    zone: undefined,
    machine: "",
  }));
  const shards = mode === "cluster" ? await slotsOfShards(dial, endpoints) : [[]];
  const load = {
    rate,
    bytes: 64,
    timeoutMs,
    acknowledgement: { replicas, timeoutMs: replicas > 0 ? WAIT_MS : 0 },
  };
  // A name leads to a pod that is new only some seconds after the pod has its address, which other clients take at once.
  const target = { mode, shards, nodes: () => nodes, dial, followsAnnounced: true };
  const client = new WriteClient(target, load, `observed:${Date.now()}:`);
  await client.start();
  await sleep(BEGUN_AFTER_MS);
  writeFileSync(begun, "");
  while (!existsSync(until)) await sleep(50);
  await client.stop();
  const { writes } = client.history;
  const { lost, acknowledged, failed, unknown } = accountForWrites(client.history.byKey(), await client.readBack());
  client.close();
  const errors = countWriteErrors(writes).map(({ error, count }) => [error, count] as const);
  const latencies = writes.filter(isAcknowledged).map(({ dueMs, endedMs }) => endedMs - dueMs);
  latencies.sort((a, b) => a - b);
  return {
    acknowledged,
    failed: failed + unknown,
    errors: Object.fromEntries(errors),
    lost: lost.length,
    pauseMs: Math.max(...shards.map((_slots, shard) => longestGap(writes.filter((write) => write.shard === shard)))),
    p999Ms: latencies[Math.ceil(latencies.length * 0.999) - 1] ?? null,
    log: failures(writes, refused),
  };
}

/** A connection that could not be opened, with times of this process. */
interface Refused {
  readonly from: number;
  readonly to: number;
  readonly error: string;
}

/** A line for each shard and error: when it was met first and last; and the connections that failed at that time. */
function failures(writes: readonly Write[], refused: readonly Refused[]): string[] {
  const spans = new Map<string, { from: number; to: number; count: number }>();
  for (const { outcome, shard, dueMs } of writes) {
    if (outcome.kind === "acknowledged") continue;
    const name = `shard ${shard}: ${outcome.kind} ${outcome.error}`;
    const span = spans.get(name) ?? { from: dueMs, to: dueMs, count: 0 };
    spans.set(name, { from: span.from, to: dueMs, count: span.count + 1 });
  }
  const at = (ms: number): string => new Date(performance.timeOrigin + ms).toISOString();
  const isMeanwhile = (each: Refused): boolean =>
    [...spans.values()].some(({ from, to }) => each.to >= from && each.from <= to + SHORTLY_MS);
  return [
    ...[...spans].map(([name, { from, to, count }]) => `${at(from)} to ${at(to)} ${name}, ${count} times`),
    ...refused.filter(isMeanwhile).map(({ from, to, error }) => `${at(from)} to ${at(to)} ${error}`),
  ];
}

async function slotsOfShards(dial: Dialer, [first]: readonly Endpoint[]): Promise<SlotRange[][]> {
  if (first === undefined) throw new Error("there is no endpoint");
  const connection = await dial(first);
  const { topology } = new ViewParser().parse(String(await connection.cluster("NODES")));
  connection.disconnect();
  return [...topology.nodes.values()].map(({ slots }) => [...slots]).filter((slots) => slots.length > 0);
}

/** The time before the first and after the last acknowledgement counts, too. */
function longestGap(writes: readonly Write[]): number {
  const ends = writes.map(({ endedMs }) => endedMs);
  let last = ends[0] ?? 0;
  let longest = 0;
  for (const write of writes) {
    if (!isAcknowledged(write)) continue;
    longest = Math.max(longest, write.endedMs - last);
    last = write.endedMs;
  }
  return Math.max(longest, (ends.at(-1) ?? last) - last);
}

void observe(JSON.parse(process.env["ORDER"] ?? "") as ObserverOrder).then((observed) => {
  // Without waiting, what does not fit into the pipe at once would be lost.
  process.stdout.write(JSON.stringify(observed), () => process.exit());
});
