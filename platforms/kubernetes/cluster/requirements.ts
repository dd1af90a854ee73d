import type { Labels, Toleration } from "../pods/running-pods";

interface MachineSelection {
  readonly nodeSelector?: Labels | undefined;
  readonly tolerations?: readonly Toleration[] | undefined;
}

export interface ServerRequirements extends MachineSelection {
  readonly name: string;
  readonly nodes: number;
  /** Whether two servers of the deployment must never share a machine. */
  readonly onePerMachine: boolean;
}

export interface KubernetesRequirements {
  readonly namespace: string;
  /** A namespace that the stack does not create must exist. */
  readonly createsNamespace: boolean;
  readonly zones: readonly string[];
  /** Names of storage classes; null means the cluster's default class. */
  readonly storageClasses: readonly (string | null)[];
  readonly servers: readonly ServerRequirements[];
  /** Undefined if load generators may share machines with servers, or if nothing is measured. */
  readonly runner?: MachineSelection | undefined;
  /** Each controller needs a ClusterRole. */
  readonly controllers: readonly string[];
}

export interface MachineSchedulingFacts {
  readonly name: string;
  readonly zone: string | undefined;
  readonly labels: Labels;
  /** Taints, except taints with the effect PreferNoSchedule. */
  readonly taints: readonly { readonly key: string; readonly value?: string | undefined; readonly effect: string }[];
  readonly unschedulable: boolean;
}

/** A fact that this program may not read is undefined. */
export interface KubernetesFacts {
  readonly context: string;
  /** Null if it does not exist. `ends`: it is being deleted. `keptBy`: the stack that keeps it for its volumes. */
  readonly namespace: { readonly state: "ends" | "lives"; readonly keptBy: string | undefined } | null | undefined;
  readonly machines: readonly MachineSchedulingFacts[] | undefined;
  /** Whether the Kubernetes cluster adds machines for pods that cannot be scheduled. */
  readonly autoscales: boolean;
  readonly storageClasses: readonly { readonly name: string; readonly isDefault: boolean }[] | undefined;
  readonly mayForwardPorts: boolean | undefined;
  readonly mayCreateClusterRoles: boolean | undefined;
}

/** Facts that may not be read are skipped. @param stack may have kept the namespace for its volumes earlier */
export function unmetRequirements(needs: KubernetesRequirements, facts: KubernetesFacts, stack: string): string[] {
  return [
    ...namespaceProblems(needs, facts, stack),
    ...machineProblems(needs, facts),
    ...storageProblems(needs, facts),
    ...rightProblems(needs, facts),
  ];
}

function namespaceProblems(
  { namespace, createsNamespace }: KubernetesRequirements,
  { namespace: found, context }: KubernetesFacts,
  stack: string,
): string[] {
  if (found === undefined) return [];
  const where = `namespace: ${namespace} of context ${context}`;
  if (found === null)
    return createsNamespace ? [] : [`${where} does not exist; create it, or set createNamespace: true`];
  if (found.state === "ends")
    return [`${where} is being deleted; wait until it is gone, or name a different namespace`];
  if (!createsNamespace || found.keptBy === stack) return [];
  return [
    `${where} exists, but this stack did not create it. With createNamespace: true, the stack would change this namespace, and pulumi destroy would delete it with its contents; ` +
      "set createNamespace: false, name a different namespace, or delete this one",
  ];
}

/** None if the cluster autoscales, because the autoscaler adds the missing machines. */
function machineProblems(
  { zones, servers, runner }: KubernetesRequirements,
  { machines, autoscales }: KubernetesFacts,
): string[] {
  if (machines === undefined || autoscales) return [];
  const there = [...new Set(machines.flatMap(({ zone }) => zone ?? []))].sort();
  const missing = zones.filter((zone) => !there.includes(zone));
  if (missing.length > 0) {
    const known =
      there.length === 0
        ? "no machine has the label topology.kubernetes.io/zone"
        : `zones with machines: ${there.join(", ")}`;
    return [`zones: no machine is in ${missing.join(", ")}; ${known}`];
  }
  return servers.flatMap((need) => {
    const own = machines.filter((machine) => isFor(machine, need) && zones.includes(machine.zone ?? ""));
    const empty = zones.filter((zone) => own.every((machine) => machine.zone !== zone));
    const { name, nodes } = need;
    if (empty.length > 0) {
      return [
        `zones: no machine in ${empty.join(", ")} accepts the servers of ${name}; check nodeSelector and tolerations`,
      ];
    }
    if (need.onePerMachine && own.length < nodes) {
      return [
        `hostAntiAffinity: each of the ${nodes} nodes of ${name} needs its own machine, but only ${own.length} machines accept these nodes; ` +
          "add machines, or set hostAntiAffinity: preferred",
      ];
    }
    if (runner === undefined) return [];
    const forRunners = machines.filter((machine) => isFor(machine, runner));
    return runnerProblems(need, own, forRunners, zones);
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
      ? "every machine lacks a required label or has a taint that is not tolerated"
      : `the ${need.nodes} nodes of ${need.name} occupy all ${forRunners.length} machines that a load generator may use`;
  return [
    `clients: no machine is left for a load generator of ${need.name}: ${why}. Add a machine, select other machines ` +
      "(clients.nodeSelector, clients.tolerations), or set clients.shareMachines: true; every result then has a warning",
  ];
}

/** If servers are spread evenly over the zones, each on a machine of its own. */
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
      ? "the cluster has no storage classes"
      : `available: ${storageClasses.map(({ name }) => name).join(", ")}`;
  return wanted.flatMap((each) => {
    if (each === null)
      return storageClasses.some(({ isDefault }) => isDefault)
        ? []
        : [`storage.className: the cluster has no default storage class; name a storage class; ${known}`];
    return storageClasses.some(({ name }) => name === each)
      ? []
      : [`storage.className: the cluster has no storage class ${each}; ${known}`];
  });
}

function rightProblems(
  { namespace, controllers }: KubernetesRequirements,
  { mayForwardPorts, mayCreateClusterRoles, context }: KubernetesFacts,
): string[] {
  const problems: string[] = [];
  if (mayForwardPorts === false)
    problems.push(
      `context: the user of context ${context} may not forward ports to pods, but formation and verification need this; grant this user a Role in ` +
        `namespace ${namespace} with apiGroups [""], resources ["pods/portforward"], verbs ["create", "get"]`,
    );
  if (mayCreateClusterRoles === false && controllers.length > 0)
    problems.push(
      `context: the user of context ${context} may not create ClusterRoles, but each controller (of ${controllers.join(", ")}) needs one to read the zones of machines; ` +
        "remove the key controller of these deployments, or grant this user a ClusterRole with " +
        'apiGroups ["rbac.authorization.k8s.io"], resources ["clusterroles", "clusterrolebindings"], verbs ["create", "get", "patch", "delete"]',
    );
  return problems;
}
