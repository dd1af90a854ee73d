/** Clusters of many real nodes on this machine, and whether the model of them foretells the largest. */
import { renameSync, writeFileSync } from "node:fs";
import { forecastCluster } from "../../valkey/forecast/forecast";
import { measureCluster } from "./measure-cluster";
import type { MeasuredCluster, MeasuredClusters } from "../../valkey/forecast/measured-clusters";
import { MEASURED_CLUSTERS_FILE } from "../../valkey/forecast/measured-clusters";
import { availableCores } from "../../platforms/host/cpu";
import type { Prediction } from "../../lib/statistics/prediction";
import type { Benchmark, BenchmarkContext } from "./benchmark";
import { singleRow, atMost } from "./row";
import { hostPlan } from "./workbench";

/** Nodes; the last is the one that the others must foretell. */
const SIZES = [12, 24, 48, 72, 96, 144, 200] as const;
const LARGEST = 200;
/** Of each, for a scatter to tell from. */
const ROUNDS = 2;

const MODEL = "large-model";
const OUTAGE = "outage-large-200";

/** For `large-200`: its outage may take so much longer than the node timeout, seconds. */
const OVER_TIMEOUT = 5;

export const largeClusters: Benchmark = {
  title: "Clusters of many nodes, and the model of them",
  ids: [OUTAGE, MODEL],
  run: async (order) => {
    if (order.wanted.has(MODEL)) await measureModel(order);
    else if (order.wanted.has(OUTAGE)) emitOutage(await measureSize(LARGEST, order), order);
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
  const what = `SIGKILL of a primary of ${nodes} nodes (${((residentBytes * nodes) / 1e9).toFixed(1)} GB resident) at a node timeout of ${nodeTimeoutMs / 1000} s: writes of its slots are acknowledged again after; every node says that all is served after ${okSeconds.toFixed(2)} s`;
  emit(singleRow({ id: OUTAGE, what, unit: "s" }, outageSeconds, atMost(nodeTimeoutMs / 1000 + OVER_TIMEOUT)));
}

/** Writes the points down for previews, and holds the largest against what the smaller ones foretell. */
async function measureModel(order: BenchmarkContext): Promise<void> {
  const points: MeasuredCluster[] = [];
  let version = "";
  for (let round = 1; round <= ROUNDS; round++) {
    for (const nodes of SIZES) {
      const { version: served, ...point } = await measureSize(nodes, order);
      version = served;
      points.push(point);
      // Each is worth something by itself, and the next may not fit the machine.
      write({ version, cores: availableCores(), points: points.map(rounded) });
      if (order.wanted.has(OUTAGE) && nodes === LARGEST && round === 1) emitOutage(point, order);
    }
  }
  const [largest] = points.filter(({ nodes }) => nodes === LARGEST);
  const foretold =
    largest === undefined
      ? undefined
      : forecastCluster(
          points.filter(({ nodes }) => nodes < LARGEST),
          LARGEST,
          { nodeTimeoutMs: largest.bus.nodeTimeoutMs, announceHostNames: false },
        );
  if (largest === undefined || foretold === undefined) throw new Error("nothing was foretold");
  const outage =
    forecastCluster(
      points.filter(({ nodes }) => nodes < LARGEST),
      LARGEST,
      { nodeTimeoutMs: largest.nodeTimeoutMs, announceHostNames: false },
    )?.outageSeconds ?? foretold.outageSeconds;
  const figures: readonly (readonly [name: string, seen: number, foretold: Prediction])[] = [
    ["bus", largest.bus.bytesPerNode, foretold.busBytesPerNode],
    ["descriptors", largest.descriptors, foretold.descriptors],
    ["memory", largest.residentBytes, foretold.residentBytes],
    ["formation", largest.formationSeconds, foretold.formationSeconds],
    ["verification", largest.verificationSeconds, foretold.verificationSeconds],
    ["outage", largest.outageSeconds, outage],
  ];
  const off = figures.filter(([, seen, { low, high }]) => seen < low || seen > high);
  const said = figures.map(([name, seen, { estimate }]) => `${name} ${(seen / estimate).toFixed(2)}`).join(", ");
  const what = `of 6 figures of ${LARGEST} nodes those outside of the 95 % interval that the model gives from ${SIZES.slice(0, -1).join(", ")} nodes (seen / foretold: ${said}${off.length === 0 ? "" : `; outside: ${off.map(([name]) => name).join(", ")}`})`;
  order.emit(singleRow({ id: MODEL, what, unit: "figures" }, off.length, atMost(1)));
}

function write(measured: MeasuredClusters): void {
  const temporary = `${MEASURED_CLUSTERS_FILE}.${process.pid}`;
  writeFileSync(temporary, `${JSON.stringify(measured, null, 1)}\n`);
  renameSync(temporary, MEASURED_CLUSTERS_FILE);
}

/** To what they are worth. */
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
