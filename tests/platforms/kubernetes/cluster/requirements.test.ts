import { describe, expect, it } from "vitest";
import type {
  KubernetesFacts,
  KubernetesRequirements,
  MachineSchedulingFacts,
  ServerRequirements,
} from "../../../../platforms/kubernetes/cluster/requirements";
import { expectReviewed } from "../../../support/reviewed";
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
const OTHERS = { state: "lives" as const, keptBy: undefined };
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

  it.each<[string, Partial<KubernetesRequirements>, Partial<KubernetesFacts>]>([
    ["a namespace of others, if the stack does not create its own", { createsNamespace: false }, { namespace: OTHERS }],
    ["a namespace that the stack itself kept for its volumes", {}, { namespace: { ...OTHERS, keptBy: "valkey/kind" } }],
    ["a cluster without ClusterRoles, if no deployment has a controller", {}, { mayCreateClusterRoles: false }],
    [
      "a cluster that autoscales, whatever machines it has",
      { zones: ["a", "d"], servers: [servers({ onePerMachine: true })], runner: {} },
      { autoscales: true },
    ],
    ["machines that all have servers, if nothing is measured", { runner: undefined }, {}],
  ])("are met by %s", (_what, changedNeeds, changedFacts) => {
    expect(problems(changedNeeds, changedFacts)).toEqual([]);
  });

  it("report one problem each", async () => {
    const unmet: Readonly<Record<string, readonly [Partial<KubernetesRequirements>, Partial<KubernetesFacts>?]>> = {
      "a namespace of somebody's": [{}, { namespace: OTHERS }],
      "a namespace that another stack keeps": [{}, { namespace: { state: "lives", keptBy: "valkey/other" } }],
      "a namespace that the stack does not create and nobody has created": [{ createsNamespace: false }],
      "a namespace on its way out": [{}, { namespace: { state: "ends", keptBy: undefined } }],
      "a zone without machines": [{ zones: ["a", "d"] }],
      "machines without zones": [{ zones: ["a", "b"] }, { machines: [machine("m", undefined)] }],
      "no machine of a zone for the servers": [
        { servers: [servers({ nodeSelector: { pool: "servers" } })] },
        { machines: [...FOUR, machine("m4", "a", { labels: { pool: "servers" } })] },
      ],
      "a taint that servers do not tolerate": [
        {},
        {
          machines: FOUR.map((each) =>
            each.zone === "b" ? { ...each, taints: [{ key: "dedicated", value: "x", effect: "NoSchedule" }] } : each,
          ),
        },
      ],
      "a zone whose machine takes nobody": [
        {},
        { machines: FOUR.map((each) => ({ ...each, unschedulable: each.name === "m2" })) },
      ],
      "too few machines for nodes that never share one": [{ servers: [servers({ onePerMachine: true })] }],
      "no such storage class": [{ storageClasses: ["nope"] }],
      "no default storage class": [{}, { storageClasses: [{ name: "gp3", isDefault: false }] }],
      "no right to forward ports": [{}, { mayForwardPorts: false }],
      "no right to create the ClusterRole of a controller": [
        { controllers: ["cluster", "cache"] },
        { mayCreateClusterRoles: false },
      ],
      "no machine left for a load generator": [{ runner: {} }],
      "no machine that a load generator may use": [{ runner: { nodeSelector: { pool: "load" } } }],
    };
    const found = Object.entries(unmet).map(([what, args]) => [what, problems(...args)] as const);
    for (const [what, each] of found) expect(each, what).toHaveLength(1);
    await expectReviewed("platforms/requirements", "What a Kubernetes cluster lacks.", found);
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
});
