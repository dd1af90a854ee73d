import { describe, expect, it } from "vitest";
import type {
  KubernetesFacts,
  KubernetesRequirements,
  MachineSchedulingFacts,
  ServerRequirements,
} from "../../../../platforms/kubernetes/cluster/requirements";
import { unmetRequirements } from "../../../../platforms/kubernetes/cluster/requirements";

const machine = (
  name: string,
  zone: string | undefined,
  changes: Partial<MachineSchedulingFacts> = {},
): MachineSchedulingFacts => ({ name, zone, labels: {}, taints: [], unschedulable: false, ...changes });
/** Four machines in three zones, as a small cluster has them. */
const FOUR = [machine("m0", "a"), machine("m1", "b"), machine("m2", "c"), machine("m3", "a")];

const servers = (changes: Partial<ServerRequirements> = {}): ServerRequirements => ({
  name: "cluster",
  nodes: 6,
  onePerMachine: false,
  ...changes,
});
const needs: KubernetesRequirements = {
  namespace: "valkey",
  createsNamespace: true,
  zones: ["a", "b", "c"],
  storageClasses: [null],
  servers: [servers()],
  controllers: [],
};
const facts: KubernetesFacts = {
  context: "kind",
  namespace: null,
  machines: FOUR,
  autoscales: false,
  storageClasses: [
    { name: "gp3", isDefault: true },
    { name: "standard", isDefault: false },
  ],
  mayForwardPorts: true,
  mayCreateClusterRoles: true,
};
const problems = (
  changedNeeds: Partial<KubernetesRequirements>,
  changedFacts: Partial<KubernetesFacts> = {},
): string[] => unmetRequirements({ ...needs, ...changedNeeds }, { ...facts, ...changedFacts }, "valkey/kind");

describe("requirements of a Kubernetes cluster", () => {
  it("are met where the cluster has everything, or it may not be read", () => {
    expect(problems({})).toEqual([]);
    expect(
      problems(
        { runner: {}, controllers: ["cluster"] },
        {
          namespace: undefined,
          machines: undefined,
          storageClasses: undefined,
          mayForwardPorts: undefined,
          mayCreateClusterRoles: undefined,
        },
      ),
    ).toEqual([]);
  });

  it("are met by a namespace of others if the stack does not create its own", () => {
    expect(problems({ createsNamespace: false }, { namespace: { state: "lives", keptBy: undefined } })).toEqual([]);
  });

  it.each<[string, Partial<KubernetesRequirements>, Partial<KubernetesFacts>, RegExp]>([
    [
      "a namespace of somebody's",
      {},
      { namespace: { state: "lives", keptBy: undefined } },
      /^namespace: valkey of context kind exists, but this stack did not create it\. .*; set createNamespace: false, name a different namespace, or delete this one$/,
    ],
    [
      "a namespace that another stack keeps",
      {},
      { namespace: { state: "lives", keptBy: "valkey/other" } },
      /this stack did not create it/,
    ],
    [
      "a namespace that the stack does not create and nobody has created",
      { createsNamespace: false },
      { namespace: null },
      /^namespace: valkey of context kind does not exist; create it, or set createNamespace: true$/,
    ],
    ["a namespace on its way out", {}, { namespace: { state: "ends", keptBy: undefined } }, /being deleted; wait/],
    ["a zone without machines", { zones: ["a", "d"] }, {}, /^zones: no machine is in d; zones with machines: a, b, c$/],
    [
      "machines without zones",
      { zones: ["a", "b"] },
      { machines: [machine("m", undefined)] },
      /no machine is in a, b; no machine has the label topology\.kubernetes\.io\/zone/,
    ],
    [
      "no machine of a zone for the servers",
      { servers: [servers({ nodeSelector: { pool: "servers" } })] },
      { machines: [...FOUR, machine("m4", "a", { labels: { pool: "servers" } })] },
      /^zones: no machine in b, c accepts the servers of cluster/,
    ],
    [
      "a taint that servers do not tolerate",
      {},
      {
        machines: FOUR.map((each) =>
          each.zone === "b" ? { ...each, taints: [{ key: "dedicated", value: "x", effect: "NoSchedule" }] } : each,
        ),
      },
      /^zones: no machine in b accepts/,
    ],
    [
      "a zone whose machine takes nobody",
      {},
      { machines: FOUR.map((each) => ({ ...each, unschedulable: each.name === "m2" })) },
      /^zones: no machine in c accepts/,
    ],
    [
      "too few machines for nodes that never share one",
      { servers: [servers({ onePerMachine: true })] },
      {},
      /^hostAntiAffinity: each of the 6 nodes of cluster needs its own machine, but only 4 machines accept these nodes/,
    ],
    [
      "no such storage class",
      { storageClasses: ["nope"] },
      {},
      /^storage\.className: the cluster has no storage class nope; available: gp3, standard$/,
    ],
    [
      "no default storage class",
      {},
      { storageClasses: [{ name: "gp3", isDefault: false }] },
      /no default storage class; name a storage class; available: gp3/,
    ],
    [
      "no right to forward ports",
      {},
      { mayForwardPorts: false },
      /^context: the user of context kind may not forward ports .* grant this user a Role in namespace valkey with .*pods\/portforward/,
    ],
    [
      "no right to create the ClusterRole of a controller",
      { controllers: ["cluster", "cache"] },
      { mayCreateClusterRoles: false },
      /^context: the user of context kind may not create ClusterRoles, .*\(of cluster, cache\).* remove the key controller .*"clusterroles", "clusterrolebindings"/,
    ],
  ])("report %s", (_what, changedNeeds, changedFacts, message) => {
    const found = problems(changedNeeds, changedFacts);
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(message);
  });

  it("do not include ClusterRoles if no deployment has a controller", () => {
    expect(problems({}, { mayCreateClusterRoles: false })).toEqual([]);
  });

  it("accept a namespace that the stack itself kept for its volumes", () => {
    expect(problems({}, { namespace: { state: "lives", keptBy: "valkey/kind" } })).toEqual([]);
  });

  it("do not include machines where the cluster autoscales", () => {
    expect(
      problems({ zones: ["a", "d"], servers: [servers({ onePerMachine: true })], runner: {} }, { autoscales: true }),
    ).toEqual([]);
  });
});

describe("a machine for the load generator", () => {
  const left = (
    need: Partial<ServerRequirements>,
    machines: readonly MachineSchedulingFacts[],
    runner: NonNullable<KubernetesRequirements["runner"]> = {},
  ): boolean => problems({ servers: [servers(need)], runner }, { machines }).length === 0;
  const tainted = machine("load", "b", { labels: { pool: "load" }, taints: [{ key: "load", effect: "NoSchedule" }] });
  const tolerations = [{ key: "load", operator: "Exists" as const }];

  it("is missing where the servers occupy all that it may use", () => {
    expect(problems({ runner: {} })).toEqual([
      "clients: no machine is left for a load generator of cluster: the 6 nodes of cluster occupy all 4 machines that a load generator may use. Add a machine, select other machines (clients.nodeSelector, clients.tolerations), or set clients.shareMachines: true; every result then has a warning",
    ]);
    expect(problems({ runner: { nodeSelector: { pool: "load" } } })[0]).toMatch(
      /every machine lacks a required label or has a taint that is not tolerated/,
    );
  });

  it("exists where a zone has more machines than nodes", () => {
    expect(left({ nodes: 4 }, FOUR)).toBe(true);
    expect(left({ nodes: 4 }, FOUR.slice(0, 3))).toBe(false);
    expect(left({ nodes: 6 }, [...FOUR, machine("m4", "a")])).toBe(true);
  });

  it("exists where it has separate machines", () => {
    expect(left({}, [...FOUR, tainted])).toBe(false);
    expect(left({}, [...FOUR, tainted], { tolerations })).toBe(true);
    expect(left({}, [...FOUR, tainted], { nodeSelector: { pool: "load" }, tolerations })).toBe(true);
    expect(left({}, [...FOUR, tainted], { nodeSelector: { pool: "load" } })).toBe(false);
  });

  it("is not required where it may share, or nothing is measured", () => {
    expect(problems({ runner: undefined })).toEqual([]);
  });
});
