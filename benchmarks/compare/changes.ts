import { compact } from "../../lib/compact";
import type { CapacityLoad, Environment, MeasurementRecord, Results, MeasuredTopology } from "../results/schema";
import { describeShape } from "../results/formats/summary";
import { formatBytes, formatPercent } from "../../lib/units";

/** One difference, with both values as text. */
export interface Change {
  /** Name of the value, such as `machine`, `version of cluster` or `cluster maxmemory`. */
  readonly what: string;
  readonly before: string;
  readonly after: string;
}

export function describeChange({ what, before, after }: Change): string {
  return `${what}: ${before} → ${after}`;
}

function factsOf(environment: Environment): [string, string][] {
  const {
    cpuModel,
    cores,
    coresAvailable,
    memoryBytes,
    platform,
    kernel,
    governor,
    transparentHugePages,
    overcommitMemory,
    somaxconn,
    node,
    machines,
    hostname,
  } = environment;
  return [
    ["machine", `${hostname}: ${cpuModel}, ${coresAvailable} of ${cores} cores, ${formatBytes(memoryBytes)}`],
    ["system", `${platform}, kernel ${kernel}`],
    [
      "kernel settings",
      [
        `huge pages ${transparentHugePages ?? "unknown"}`,
        `overcommit ${overcommitMemory ?? "unknown"}`,
        `somaxconn ${somaxconn ?? "unknown"}`,
        `governor ${governor ?? "unknown"}`,
      ].join(", "),
    ],
    [
      "machines of the cluster",
      machines.length === 0
        ? "none"
        : [
            ...new Set(
              machines.map(
                ({ instanceType, cores: each, kernel: its }) =>
                  `${instanceType ?? "machine"}, ${each} cores, kernel ${its}`,
              ),
            ),
          ]
            .sort()
            .join("; "),
    ],
    ["Node", node],
    [
      "load generator",
      environment.programs === null ? "on a different machine" : `valkey-benchmark ${environment.programs.version}`,
    ],
  ];
}

export function environmentChanges(before: Environment, after: Environment): Change[] {
  const now = new Map(factsOf(after));
  return factsOf(before).flatMap(([what, was]) =>
    now.get(what) === was ? [] : [{ what, before: was, after: now.get(what) ?? "unknown" }],
  );
}

/** If the machines differ, ratios include the difference between the machines. */
export function isSameMachine(before: Environment, after: Environment): boolean {
  return !environmentChanges(before, after).some(
    ({ what }) => what === "machine" || what === "machines of the cluster",
  );
}

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|::1)$/;

/** Servers of others run on hosts about which nothing else is known. Machines of a Kubernetes cluster have types. */
export function hostChanges(before: Results, after: Results): Change[] {
  if ([before, after].some(({ environment }) => environment.machines.length > 0)) return [];
  const hosts = ({ nodes }: MeasuredTopology, { environment }: Results): string => {
    const isHere = (machine: string): boolean => machine === environment.hostname || LOOPBACK.test(machine);
    return [...new Set(nodes.map(({ machine }) => (isHere(machine) ? "this machine" : machine)))].sort().join(", ");
  };
  return matchDeployments(before, after).flatMap((pair) =>
    differing(`hosts of ${pair.before.deployment}`, hosts(pair.before, before), hosts(pair.after, after)),
  );
}

export function topologyChanges(before: MeasuredTopology, after: MeasuredTopology): Change[] {
  const of = before.deployment === after.deployment ? before.deployment : `${before.deployment} → ${after.deployment}`;
  const settings = [...new Set([...Object.keys(before.settings), ...Object.keys(after.settings)])].sort();
  const all: Change[] = [
    { what: `version of ${of}`, before: before.version, after: after.version },
    { what: `primaries and replicas of ${of}`, before: describeShape(before), after: describeShape(after) },
    ...settings.map((name) => ({
      what: `${name} of ${of}`,
      before: valueOf(before, name),
      after: valueOf(after, name),
    })),
  ];
  return all.filter((change) => change.before !== change.after);
}

function valueOf({ settings }: MeasuredTopology, name: string): string {
  const value = settings[name];
  return value === undefined ? "unknown" : value === "" ? '""' : value;
}

/** Greatest difference between two hit ratios with which two measurements still count as the same work. */
const HIT_LIMIT = 0.001;
/** Greatest relative difference between two offered rates with which two measurements still count as the same work. */
const RATE_LIMIT = 0.01;

/** Work: test, requests, values, keys, rate and hit ratio. If the list is not empty, no ratio is computed. */
export function workChanges(before: readonly MeasurementRecord[], after: readonly MeasurementRecord[]): Change[] {
  const [a, b] = [before[0], after[0]];
  if (a === undefined || b === undefined) return [];
  const hits = (records: readonly MeasurementRecord[]): number | null => {
    const known = records.flatMap(({ servers }) => servers?.hitRatio ?? []);
    return known.length === 0 ? null : known.reduce((sum, ratio) => sum + ratio, 0) / known.length;
  };
  const [hitsBefore, hitsAfter] = [hits(before), hits(after)];
  const isOffered = (record: MeasurementRecord): string =>
    record.rate === null ? "full speed" : `${record.rate}/s offered`;
  return compact([
    ...differing("test", a.title, b.title),
    ...mixChanges(a.requestMix, b.requestMix),
    ...differing("value size", `${a.dataSize} B`, `${b.dataSize} B`),
    ...differing("keys", String(a.keySpace), String(b.keySpace)),
    ...(a.rate !== null && b.rate !== null && Math.abs(a.rate / b.rate - 1) <= RATE_LIMIT
      ? []
      : differing("rate", isOffered(a), isOffered(b))),
    hitsBefore !== null && hitsAfter !== null && Math.abs(hitsBefore - hitsAfter) > HIT_LIMIT
      ? { what: "hit ratio", before: formatPercent(hitsBefore), after: formatPercent(hitsAfter) }
      : undefined,
  ]);
}

/** Work: requests, arrivals, values and keys. If the list is not empty, the capacities are not compared. */
export function capacityWorkChanges(before: CapacityLoad, after: CapacityLoad): Change[] {
  return [
    ...mixChanges(before.requestMix, after.requestMix),
    ...differing("arrivals", before.arrivals, after.arrivals),
    ...differing("value size", `${before.dataSize} B`, `${after.dataSize} B`),
    ...differing("keys", String(before.keySpace), String(after.keySpace)),
  ];
}

export function capacityGeneratorChanges(before: CapacityLoad, after: CapacityLoad): Change[] {
  return (["clients", "pipeline", "workers", "runners"] as const).flatMap((what) =>
    differing(what === "runners" ? "load generators" : what, String(before[what]), String(after[what])),
  );
}

function mixChanges(before: MeasurementRecord["requestMix"], after: MeasurementRecord["requestMix"]): Change[] {
  if (before === null || after === null) return [];
  return [
    ...differing("data", before.data, after.data),
    ...differing("reads", formatPercent(before.reads), formatPercent(after.reads)),
    ...differing("read from", before.readFrom, after.readFrom),
    ...differing("keys drawn", before.keys, after.keys),
    ...differing("values", before.values, after.values),
  ];
}

/** A ratio of the two results also contains the effect of these differences. */
export function generatorChanges(before: MeasurementRecord, after: MeasurementRecord): Change[] {
  return [
    ...differing("load generator", before.loadGenerator, after.loadGenerator),
    ...differing("clients", String(before.clients), String(after.clients)),
    ...differing("pipeline", String(before.pipeline), String(after.pipeline)),
    ...differing("threads", String(before.threads), String(after.threads)),
    ...differing(
      "load generators",
      String(Math.max(1, before.runners.length)),
      String(Math.max(1, after.runners.length)),
    ),
  ];
}

function differing(what: string, before: string, after: string): Change[] {
  return before === after ? [] : [{ what, before, after }];
}

/** By name, or by mode if each run has only one deployment with it. */
export function matchDeployments(
  before: Results,
  after: Results,
): { readonly before: MeasuredTopology; readonly after: MeasuredTopology }[] {
  const only = (results: Results, mode: MeasuredTopology["mode"]): MeasuredTopology | undefined => {
    const [one, other] = results.topologies.filter((each) => each.mode === mode);
    return other === undefined ? one : undefined;
  };
  return before.topologies.flatMap((topology) => {
    const same =
      after.topologies.find(({ deployment }) => deployment === topology.deployment) ??
      (only(before, topology.mode) === topology ? only(after, topology.mode) : undefined);
    return same === undefined ? [] : [{ before: topology, after: same }];
  });
}
