import type { Labels, Toleration } from "./pods";

/** Which machines pods may be put on. */
export interface MachineSelection {
  readonly nodeSelector?: Labels | undefined;
  readonly tolerations?: readonly Toleration[] | undefined;
}

export interface ServerRequirements extends MachineSelection {
  readonly name: string;
  readonly nodes: number;
  /** Whether never two of them share a machine. */
  readonly onePerMachine: boolean;
}

export interface KubernetesRequirements {
  readonly namespace: string;
  readonly zones: readonly string[];
  /** Null is the cluster's default class. */
  readonly storageClasses: readonly (string | null)[];
  readonly servers: readonly ServerRequirements[];
  /** Of load generators that share no machine with the servers they load; undefined where they may, or there are none. */
  readonly runner?: MachineSelection | undefined;
}

export interface MachineSchedulingFacts {
  readonly name: string;
  readonly zone: string | undefined;
  readonly labels: Labels;
  /** Those that keep pods off. */
  readonly taints: readonly { readonly key: string; readonly value?: string | undefined; readonly effect: string }[];
  readonly unschedulable: boolean;
}

/** What could be learnt; undefined is what may not be read. */
export interface KubernetesFacts {
  readonly context: string;
  /** Null where there is none of that name. */
  readonly namespace: { readonly state: "ends" | "lives"; readonly keptBy: string | undefined } | null | undefined;
  readonly machines: readonly MachineSchedulingFacts[] | undefined;
  /** Whether machines come when pods wait for them. */
  readonly autoscales: boolean;
  readonly storageClasses: readonly { readonly name: string; readonly isDefault: boolean }[] | undefined;
  /** By the API server's own account. */
  readonly mayForwardPorts: boolean | undefined;
}

/**
 * @param stack whose namespace may be there: one that it kept for its volumes
 * @returns a sentence for each thing that cannot be had
 */
export function unmetRequirements(needs: KubernetesRequirements, facts: KubernetesFacts, stack: string): string[] {
  return [
    ...namespaceProblems(needs, facts, stack),
    ...machineProblems(needs, facts),
    ...storageProblems(needs, facts),
    ...rightProblems(needs, facts),
  ];
}

function namespaceProblems(
  { namespace }: KubernetesRequirements,
  { namespace: found, context }: KubernetesFacts,
  stack: string,
): string[] {
  if (found === null || found === undefined) return [];
  if (found.state === "ends")
    return [`namespace: ${namespace} of context ${context} is being deleted; wait until it is gone, or name another`];
  return found.keptBy === stack
    ? []
    : [
        `namespace: ${namespace} of context ${context} exists and is not this stack's, which would change and in the end delete what is in it; name another, or delete that one`,
      ];
}

/** Nothing is said of what a cluster that grows would get machines for. */
function machineProblems(
  { zones, servers, runner }: KubernetesRequirements,
  { machines, autoscales }: KubernetesFacts,
): string[] {
  if (machines === undefined || autoscales) return [];
  const there = [...new Set(machines.flatMap(({ zone }) => zone ?? []))].sort();
  const missing = zones.filter((zone) => !there.includes(zone));
  if (missing.length > 0)
    return [
      `zones: no machine is in ${missing.join(", ")}; ${there.length === 0 ? "none has the label topology.kubernetes.io/zone" : `there are ${there.join(", ")}`}`,
    ];
  return servers.flatMap((need) => {
    const own = machines.filter((machine) => isFor(machine, need) && zones.includes(machine.zone ?? ""));
    const empty = zones.filter((zone) => own.every((machine) => machine.zone !== zone));
    if (empty.length > 0)
      return [
        `zones: no machine in ${empty.join(", ")} takes the servers of ${need.name}: see nodeSelector and tolerations`,
      ];
    if (need.onePerMachine && own.length < need.nodes)
      return [
        `hostAntiAffinity: the ${need.nodes} nodes of ${need.name} never share a machine, and there are ${own.length} for them; add machines, or let them share with preferred`,
      ];
    return runner === undefined
      ? []
      : runnerProblems(
          need,
          own,
          machines.filter((machine) => isFor(machine, runner)),
          zones,
        );
  });
}

function runnerProblems(
  need: ServerRequirements,
  own: readonly MachineSchedulingFacts[],
  forRunners: readonly MachineSchedulingFacts[],
  zones: readonly string[],
): string[] {
  if (freeMachines(need, own, forRunners, zones) > 0) return [];
  const why =
    forRunners.length === 0
      ? "none has the labels and tolerated taints that are asked for"
      : `its ${need.nodes} nodes take every one of the ${forRunners.length} that a load generator may use`;
  return [
    `clients: no machine is left to load ${need.name} from: ${why}; add one, name others (clients.nodeSelector, clients.tolerations), or let it share (clients.sharing: true), which every record will then say`,
  ];
}

/** At most: every zone gets its part of the nodes, which share a machine only where there is no other. */
function freeMachines(
  { nodes }: ServerRequirements,
  own: readonly MachineSchedulingFacts[],
  forRunners: readonly MachineSchedulingFacts[],
  zones: readonly string[],
): number {
  const others = forRunners.filter((machine) => !own.includes(machine)).length;
  const least = Math.floor(nodes / zones.length);
  const left = zones.map((zone) => {
    const ofZone = own.filter((machine) => machine.zone === zone);
    return Math.min(
      ofZone.filter((machine) => forRunners.includes(machine)).length,
      Math.max(0, ofZone.length - least),
    );
  });
  return others + left.reduce((sum, count) => sum + count, 0);
}

function isFor(
  { labels, taints, unschedulable }: MachineSchedulingFacts,
  { nodeSelector = {}, tolerations = [] }: MachineSelection,
): boolean {
  const tolerated = taints.every((taint) =>
    tolerations.some(
      ({ key, operator, value, effect }) =>
        (key === undefined || key === taint.key) &&
        (effect === undefined || effect === taint.effect) &&
        (operator === "Exists" || (value ?? "") === (taint.value ?? "")),
    ),
  );
  return !unschedulable && tolerated && Object.entries(nodeSelector).every(([name, value]) => labels[name] === value);
}

function storageProblems(
  { storageClasses: wanted }: KubernetesRequirements,
  { storageClasses }: KubernetesFacts,
): string[] {
  if (storageClasses === undefined) return [];
  const known =
    storageClasses.length === 0
      ? "there are none"
      : `there ${storageClasses.length === 1 ? "is" : "are"} ${storageClasses.map(({ name }) => name).join(", ")}`;
  return wanted.flatMap((each) => {
    if (each === null)
      return storageClasses.some(({ isDefault }) => isDefault)
        ? []
        : [`storage.className: the cluster has no default storage class, so one must be named; ${known}`];
    return storageClasses.some(({ name }) => name === each)
      ? []
      : [`storage.className: there is no storage class ${each}; ${known}`];
  });
}

function rightProblems({ namespace }: KubernetesRequirements, { mayForwardPorts, context }: KubernetesFacts): string[] {
  if (mayForwardPorts !== false) return [];
  return [
    `context: ${context} may not forward ports to pods, by which nodes are formed and verified; bind its user a Role in namespace ${namespace} with apiGroups [""], resources ["pods/portforward"], verbs ["create", "get"]`,
  ];
}
