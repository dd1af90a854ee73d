/** Predicts how a cluster of many nodes behaves, from measurements of clusters. */
import type { Prediction } from "../../lib/statistics/prediction";
import { mapPrediction, predictLine, predictPowerLaw, predictRelativeLine } from "../../lib/statistics/prediction";
import { busTraffic } from "../topology/bus-traffic";
import type { MeasuredCluster } from "./measured-clusters";

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
