/** Clusters of many real nodes on this machine, and whether the model of them predicts the largest. */
import { renameSync, writeFileSync } from "node:fs";
import { forecastCluster } from "../../../valkey/planning/forecast";
import { measureCluster } from "./measure-cluster";
import type { MeasuredCluster, MeasuredClusters } from "../../../valkey/planning/measured-clusters";
import { MEASURED_CLUSTERS_FILE } from "../../../valkey/planning/measured-clusters";
import { availableCores } from "../../../platforms/host/cpu";
import type { Prediction } from "../../../lib/statistics/prediction";
import type { Benchmark, BenchmarkContext } from "../benchmark";
import { singleRow, atMost } from "../row";
import { hostPlan } from "../workbench";

/** Numbers of nodes. The others must predict the largest. */
const SIZES = [12, 24, 48, 72, 96, 144, 200] as const;
const LARGEST = 200;
/** Measurements of each size, for an estimate of their spread. */
const ROUNDS = 2;

const MODEL = "large-model";
const OUTAGE = "outage-large-200";

/** How much longer than the node timeout an outage of the largest cluster may be, seconds. */
const OVER_TIMEOUT = 5;

export const largeClusters: Benchmark = {
  title: "Clusters of many nodes, and the model of them",
  ids: [OUTAGE, MODEL],
  run: async (context) => {
    if (context.wanted.has(MODEL)) await measureModel(context);
    else if (context.wanted.has(OUTAGE)) emitOutage(await measureSize(LARGEST, context), context);
  },
};

function measureSize(
  nodes: number,
  { workbench, report }: BenchmarkContext,
): Promise<MeasuredCluster & { readonly version: string }> {
  const shape = { primaries: nodes / 2, replicasPerPrimary: 1 };
  const base = hostPlan("cluster", "cluster", shape);
  return workbench.withServers(
    [{ ...base, settings: { ...base.settings, "cluster-node-timeout": 15_000, "repl-diskless-sync-delay": 0 } }],
    async ({ host, deployments: [deployment], signal }) => {
      if (deployment === undefined) throw new Error("no deployment was started");
      return {
        ...(await measureCluster(deployment, shape, { host, cores: availableCores(), signal, report })),
        version: host.programs.version,
      };
    },
  );
}

function emitOutage(
  { nodes, outageSeconds, okSeconds, nodeTimeoutMs, residentBytes }: MeasuredCluster,
  { emit }: BenchmarkContext,
): void {
  const gigabytes = ((residentBytes * nodes) / 1e9).toFixed(1);
  const what =
    `SIGKILL of a primary of ${nodes} nodes (${gigabytes} GB resident) at a node timeout of ` +
    `${nodeTimeoutMs / 1000} s: outage of its slots; every node reports all slots as served after ${okSeconds.toFixed(2)} s`;
  emit(singleRow({ id: OUTAGE, what, unit: "s" }, outageSeconds, atMost(nodeTimeoutMs / 1000 + OVER_TIMEOUT)));
}

/**
 * Writes the measured points for previews, and compares the largest cluster with the prediction from the smaller ones.
 */
async function measureModel(context: BenchmarkContext): Promise<void> {
  const points: MeasuredCluster[] = [];
  let version = "";
  for (let round = 1; round <= ROUNDS; round++) {
    for (const nodes of SIZES) {
      const { version: served, ...point } = await measureSize(nodes, context);
      version = served;
      points.push(point);
      // Written after each point, because the next cluster may not fit the machine.
      write({ version, cores: availableCores(), points: points.map(rounded) });
      if (context.wanted.has(OUTAGE) && nodes === LARGEST && round === 1) emitOutage(point, context);
    }
  }
  const [largest] = points.filter(({ nodes }) => nodes === LARGEST);
  const predicted =
    largest === undefined
      ? undefined
      : forecastCluster(
          points.filter(({ nodes }) => nodes < LARGEST),
          LARGEST,
          { nodeTimeoutMs: largest.bus.nodeTimeoutMs, announceHostNames: false },
        );
  if (largest === undefined || predicted === undefined) throw new Error("there is no prediction");
  const outage =
    forecastCluster(
      points.filter(({ nodes }) => nodes < LARGEST),
      LARGEST,
      { nodeTimeoutMs: largest.nodeTimeoutMs, announceHostNames: false },
    )?.outageSeconds ?? predicted.outageSeconds;
  const figures: readonly (readonly [name: string, seen: number, predicted: Prediction])[] = [
    ["bus", largest.bus.bytesPerNode, predicted.busBytesPerNode],
    ["descriptors", largest.descriptors, predicted.descriptors],
    ["memory", largest.residentBytes, predicted.residentBytes],
    ["formation", largest.formationSeconds, predicted.formationSeconds],
    ["verification", largest.verificationSeconds, predicted.verificationSeconds],
    ["outage", largest.outageSeconds, outage],
  ];
  const off = figures.filter(([, seen, { low, high }]) => seen < low || seen > high);
  const ratios = figures.map(([name, seen, { estimate }]) => `${name} ${(seen / estimate).toFixed(2)}`).join(", ");
  const outside = off.length === 0 ? "" : `; outside: ${off.map(([name]) => name).join(", ")}`;
  const what =
    `of 6 figures of ${LARGEST} nodes those outside the 95 % prediction interval from ` +
    `${SIZES.slice(0, -1).join(", ")} nodes (measured / predicted: ${ratios}${outside})`;
  context.emit(singleRow({ id: MODEL, what, unit: "figures" }, off.length, atMost(1)));
}

function write(measured: MeasuredClusters): void {
  const temporary = `${MEASURED_CLUSTERS_FILE}.${process.pid}`;
  writeFileSync(temporary, `${JSON.stringify(measured, null, 1)}\n`);
  renameSync(temporary, MEASURED_CLUSTERS_FILE);
}

/** Rounds to the precision of the measurement. */
function rounded(point: MeasuredCluster): MeasuredCluster {
  const digits = (value: number): number => Number(value.toPrecision(4));
  return {
    ...point,
    formationSeconds: digits(point.formationSeconds),
    verificationSeconds: digits(point.verificationSeconds),
    outageSeconds: digits(point.outageSeconds),
    okSeconds: digits(point.okSeconds),
    residentBytes: Math.round(point.residentBytes),
    bus: { ...point.bus, bytesPerNode: Math.round(point.bus.bytesPerNode) },
  };
}
