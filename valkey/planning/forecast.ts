/** Predicts how a cluster of many nodes behaves, from measurements of clusters. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import {
  type Prediction,
  mapPrediction,
  predictLine,
  predictPowerLaw,
  predictRelativeLine,
} from "../../lib/statistics/prediction";
import { busTraffic } from "../topology/bus-traffic";

const CONFIDENCE = 0.95;

/** Predictions for a cluster of a certain size. */
export interface ClusterForecast {
  readonly nodes: number;
  readonly nodeTimeoutMs: number;
  /** Bytes that each node sends per second over the cluster bus, without load. */
  readonly busBytesPerNode: Prediction;
  /** Number of open files of each node, without client connections. */
  readonly descriptors: Prediction;
  /** Resident memory of each node without keys, bytes. */
  readonly residentBytes: Prediction;
  /**
   * Seconds to form the cluster when all nodes share the cores of the measured machine. If the nodes have separate
   * machines, formation takes at most this time.
   */
  readonly formationSeconds: Prediction;
  readonly verificationSeconds: Prediction;
  /** Seconds without writes to a shard after SIGKILL of its primary. */
  readonly outageSeconds: Prediction;
}

interface ForecastInput {
  readonly nodeTimeoutMs: number;
  /** Twice the interval between pings, milliseconds (`pingEquivalentTimeoutMs`). @default nodeTimeoutMs */
  readonly pingTimeoutMs?: number;
  readonly announceHostNames: boolean;
}

/**
 * Predicts a cluster of a given size. The models:
 *
 * - formation: a constant plus a time for each of the nodes² links, because all nodes share the cores;
 * - verification: a power law of the number of nodes;
 * - descriptors and memory: linear in the number of nodes, because every node has two connections to each other node
 * and an entry for it;
 * - bus: measured traffic as a part of its upper bound, by a power law of the number of nodes;
 * - outage: the node timeout, plus the time to agree on the failure and to elect a new primary. That time grows
 * linearly with the node timeout, because nodes report suspicions by pings, which are half a node timeout apart.
 * @returns undefined when too few sizes were measured
 */
export function forecastCluster(
  points: readonly MeasuredCluster[],
  nodes: number,
  { nodeTimeoutMs, pingTimeoutMs = nodeTimeoutMs, announceHostNames }: ForecastInput,
): ClusterForecast | undefined {
  const of = (figure: (point: MeasuredCluster) => number): { x: number; y: number }[] =>
    points.map((point) => ({ x: point.nodes, y: figure(point) }));
  const bound = busTraffic(nodes, pingTimeoutMs, announceHostNames).bytesPerNode;
  const part = predictPowerLaw(
    of(({ nodes: n, bus }) => bus.bytesPerNode / busTraffic(n, bus.nodeTimeoutMs, false).bytesPerNode),
    nodes,
    CONFIDENCE,
  );
  const descriptors = predictLine(
    of((point) => point.descriptors),
    nodes,
    CONFIDENCE,
  );
  const residentBytes = predictLine(
    of((point) => point.residentBytes),
    nodes,
    CONFIDENCE,
  );
  const formationSeconds = predictRelativeLine(
    points.map((point) => ({ x: point.nodes ** 2, y: point.formationSeconds })),
    nodes ** 2,
    CONFIDENCE,
  );
  const verificationSeconds = predictPowerLaw(
    of((point) => point.verificationSeconds),
    nodes,
    CONFIDENCE,
  );
  const agreeing = predictLine(
    points.map((point) => ({ x: point.nodeTimeoutMs / 1000, y: point.outageSeconds - point.nodeTimeoutMs / 1000 })),
    pingTimeoutMs / 1000,
    CONFIDENCE,
  );
  if (
    part === undefined ||
    descriptors === undefined ||
    residentBytes === undefined ||
    formationSeconds === undefined ||
    verificationSeconds === undefined ||
    agreeing === undefined
  ) {
    return undefined;
  }
  return {
    nodes,
    nodeTimeoutMs,
    busBytesPerNode: mapPrediction(part, (value) => Math.min(1, value) * bound),
    descriptors,
    residentBytes,
    formationSeconds,
    verificationSeconds,
    outageSeconds: mapPrediction(agreeing, (seconds) => Math.max(0, seconds) + nodeTimeoutMs / 1000),
  };
}

const pointSchema = z.strictObject({
  nodes: z.int().positive(),
  /** Duration of formation, seconds. All nodes run at its start, and report a healthy cluster at its end. */
  formationSeconds: z.number().positive(),
  /** Seconds to read the facts of all nodes and to compute the verdict. */
  verificationSeconds: z.number().positive(),
  /** Seconds without writes to a shard after SIGKILL of its primary, with the node timeout of this measurement. */
  outageSeconds: z.number().positive(),
  /** Seconds from the SIGKILL of a primary until every node sees that all slots are served again. */
  okSeconds: z.number().positive(),
  nodeTimeoutMs: z.number().positive(),
  /** Number of open files without load. The number is from the node with the most open files. */
  descriptors: z.int().positive(),
  /** Mean resident memory of a node, bytes. */
  residentBytes: z.number().positive(),
  /** Mean number of bytes that a node writes per second without load, with the given node timeout. */
  bus: z.strictObject({ nodeTimeoutMs: z.number().positive(), bytesPerNode: z.number().positive() }),
});
export type MeasuredCluster = z.infer<typeof pointSchema>;

const measuredClustersSchema = z.strictObject({
  /** The version of the servers. */
  version: z.string(),
  /** Number of cores that all nodes shared. */
  cores: z.int().positive(),
  points: z.array(pointSchema),
});
export type MeasuredClusters = z.infer<typeof measuredClustersSchema>;

/** `npm run bench -- large-model` writes it. */
export const MEASURED_CLUSTERS_FILE = join(__dirname, "measured.json");

let read: MeasuredClusters | undefined;

/** Undefined if the file does not exist. */
export function measuredClusters(): MeasuredClusters | undefined {
  if (read === undefined && existsSync(MEASURED_CLUSTERS_FILE)) {
    read = measuredClustersSchema.parse(JSON.parse(readFileSync(MEASURED_CLUSTERS_FILE, "utf8")));
  }
  return read;
}
