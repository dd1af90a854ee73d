import { describe, expect, it } from "vitest";
import { machineType } from "../../../../platforms/eks/offers/machine-types";
import { type PoolArgs, POOL_DEFAULTS, POOLS } from "../../../../platforms/eks/pools/pools";
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
    readonly budgets: readonly { readonly nodes: string; readonly reasons?: readonly string[] }[];
  };
  readonly template: {
    readonly spec: { readonly requirements: readonly { readonly key: string; readonly values: readonly string[] }[] };
  };
}
type PoolName = (typeof POOLS)[number];
const specOf = (pool: PoolName, args: PoolArgs = POOL_DEFAULTS[pool]): PoolSpec =>
  nodePoolOf(pool, args, cluster).spec as unknown as PoolSpec;
const required = ({ template }: PoolSpec, key: string): readonly string[] | undefined =>
  template.spec.requirements.find((each) => each.key === key)?.values;

describe("a pool's objects", () => {
  it.each(POOLS)(
    "of %s require machine types that there are, with a price, of the architecture that is required",
    (pool) => {
      const types = required(specOf(pool), "node.kubernetes.io/instance-type") ?? [];
      expect(types.length).toBeGreaterThan(0);
      for (const type of types) {
        expect(machineType(type), type).toBeDefined();
        expect(pricesOf("us-west-2")?.machines[type], type).toBeDefined();
      }
      expect(required(specOf(pool), "kubernetes.io/arch")).toEqual(["arm64"]);
    },
  );

  it.each([
    ["r7g.large", "arm64"],
    ["r7i.large", "amd64"],
    ["c8a.16xlarge", "amd64"],
  ])("of %s require the architecture %s", (type, architecture) => {
    const spec = specOf("servers", { ...POOL_DEFAULTS.servers, instanceTypes: [type] });
    expect(required(spec, "kubernetes.io/arch")).toEqual([architecture]);
  });

  it.each(POOLS)("of %s let only empty machines go, however much the pool or its class changes", (pool) => {
    const { disruption, template } = specOf(pool);
    expect({ ...disruption, ...template.spec }).toMatchObject({
      consolidationPolicy: "WhenEmpty",
      expireAfter: "Never",
    });
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
