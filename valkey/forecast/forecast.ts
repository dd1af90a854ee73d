/** What a cluster of many nodes will be like, from clusters that were measured. Pure. */
import type { Prediction } from "../../lib/statistics/prediction";
import { mapPrediction, predictLine, predictPowerLaw, predictRelativeLine } from "../../lib/statistics/prediction";
import { busTraffic } from "../topology/bus-traffic";
import type { MeasuredCluster } from "./measured-clusters";

/** Of the intervals. */
const CONFIDENCE = 0.95;

export interface ClusterForecast {
  readonly nodes: number;
  readonly nodeTimeoutMs: number;
  /** What each node sends per second at rest. */
  readonly busBytesPerNode: Prediction;
  /** Open files of each node, clients' connections apart. */
  readonly descriptors: Prediction;
  /** Of each node without data. */
  readonly residentBytes: Prediction;
  /** With all nodes on the cores of the machine that was measured: on machines of their own they are no slower. */
  readonly formationSeconds: Prediction;
  readonly verificationSeconds: Prediction;
  /** Of writes, after SIGKILL of a primary. */
  readonly outageSeconds: Prediction;
}

/** What a cluster to be is told. */
export interface ForecastInput {
  readonly nodeTimeoutMs: number;
  readonly pingTimeoutMs?: number;
  readonly announceHostNames: boolean;
}

/**
 * Formation is taken to be a time of its own and one for each link, of which there are nodes², when all nodes share the cores; verification to grow
 * by a power law; descriptors and memory by a line, for every node has two connections and an entry for each other; the bus by the part of its upper bound that was seen, which falls by a power
 * law; an outage is the node timeout and what it takes to agree, which is up to half of that again, for nodes tell each other by pings whom they
 * suspect, and to elect: a line in the node timeout.
 * @param pingedMs the node timeout at whose half nodes ping each other, where that is another: `pingedAsAt`
 * @param named whether nodes announce host names
 * @returns undefined where too few sizes were measured
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
  )
    return undefined;
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
