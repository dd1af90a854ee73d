import { describe, expect, it } from "vitest";
import { machineType } from "../../../../platforms/eks/offers/machine-types";
import { POOL_DEFAULTS, POOLS } from "../../../../platforms/eks/pools/pools";
import { pricesOf } from "../../../../platforms/eks/offers/prices";
import { nodeClassOf, nodePoolOf } from "../../../../components/eks/karpenter/pool-objects";

const cluster = {
  clusterName: "valkey",
  zones: ["us-west-2a"],
  machineImage: "20260714",
  nodeRole: "valkey-karpenter-node",
  tags: {},
};

interface PoolSpec {
  readonly disruption: {
    readonly consolidationPolicy: string;
    readonly budgets: readonly { readonly nodes: string; readonly reasons?: readonly string[] }[];
  };
  readonly template: {
    readonly spec: {
      readonly expireAfter: string;
      readonly requirements: readonly {
        readonly key: string;
        readonly operator: string;
        readonly values: readonly string[];
      }[];
    };
  };
}

describe("a pool's objects", () => {
  it.each(POOLS)(
    "of %s require machine types that there are, with a price, of the architecture that is required",
    (pool) => {
      const { requirements } = (nodePoolOf(pool, POOL_DEFAULTS[pool], cluster).spec as unknown as PoolSpec).template
        .spec;
      const types = requirements.find(({ key }) => key === "node.kubernetes.io/instance-type")?.values ?? [];
      expect(types.length).toBeGreaterThan(0);
      for (const type of types) {
        expect(machineType(type), type).toBeDefined();
        expect(pricesOf("us-west-2")?.machines[type], type).toBeDefined();
      }
      expect(requirements.find(({ key }) => key === "kubernetes.io/arch")?.values).toEqual(["arm64"]);
    },
  );

  it.each([
    ["r7g.large", "arm64"],
    ["r7i.large", "amd64"],
    ["c8a.16xlarge", "amd64"],
  ])("of %s require the architecture %s", (type, architecture) => {
    const pool = { ...POOL_DEFAULTS.servers, instanceTypes: [type] };
    const { requirements } = (nodePoolOf("servers", pool, cluster).spec as unknown as PoolSpec).template.spec;
    expect(requirements.find(({ key }) => key === "kubernetes.io/arch")?.values).toEqual([architecture]);
  });

  it("require on-demand machines, or spot ones where the pool is of them", () => {
    const required = (capacity?: "spot" | "on-demand"): unknown =>
      (
        nodePoolOf("clients", { ...POOL_DEFAULTS.clients, capacity }, cluster).spec as unknown as PoolSpec
      ).template.spec.requirements.find(({ key }) => key === "karpenter.sh/capacity-type");
    expect(required()).toMatchObject({ operator: "In", values: ["on-demand"] });
    expect(required("on-demand")).toMatchObject({ operator: "In", values: ["on-demand"] });
    expect(required("spot")).toMatchObject({ operator: "In", values: ["spot"] });
  });

  it.each(POOLS)("of %s let only empty machines go, however much the pool or its class changes", (pool) => {
    const { disruption, template } = nodePoolOf(pool, POOL_DEFAULTS[pool], cluster).spec as unknown as PoolSpec;
    expect(disruption.consolidationPolicy).toBe("WhenEmpty");
    expect(template.spec.expireAfter).toBe("Never");
    // As Karpenter counts: the least of the budgets that name the reason, or none; without one there is no limit.
    const allowed = (reason: string): string =>
      disruption.budgets.find(({ reasons }) => reasons?.includes(reason) ?? true)?.nodes ?? "unlimited";
    expect(["Drifted", "Empty"].map(allowed)).toEqual(["0", "unlimited"]);
  });

  it("tell Karpenter of the CPUs that the kubelet keeps", () => {
    const kubelet = (interruptCpus: number, staticCpus: boolean): unknown =>
      nodeClassOf("servers", { tuning: { interruptCpus, staticCpus }, rootVolumeGiB: 20 }, cluster).spec["kubelet"];
    expect(kubelet(0, false)).toBeUndefined();
    expect(kubelet(2, false)).toBeUndefined();
    expect(kubelet(2, true)).toEqual({ systemReserved: { cpu: "1" } });
    expect(kubelet(0, true)).toEqual({ systemReserved: { cpu: "1" } });
  });
});
