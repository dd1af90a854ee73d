/** Pools and their classes as Karpenter's own schemas judge them, on a real API server; nothing is kept. */
import { KubeConfig, KubernetesObjectApi } from "@kubernetes/client-node";
import { beforeAll, describe, expect, it } from "vitest";
import type { Tuning } from "../../../platforms/eks/pools/tuning";
import { POOL_DEFAULTS, POOLS } from "../../../platforms/eks/pools/pools";
import { type PoolCluster, nodeClassOf, nodePoolOf } from "../../../components/eks/karpenter/pool-objects";
import { EKS_VERSIONS } from "../../../components/eks/aws/versions";
import { KUBECONFIG, WHERE } from "../../support/kubernetes/throw-away";

const cluster: PoolCluster = {
  clusterName: "valkey",
  zones: ["us-west-2a", "us-west-2b", "us-west-2c"],
  machineImage: EKS_VERSIONS.machineImage,
  nodeRole: "valkey-karpenter-node",
  tags: { project: "valkey-measured" },
};
const TUNINGS: Tuning[] = [
  { interruptCpus: 0, staticCpus: false },
  { interruptCpus: 2, staticCpus: true },
];

interface Judged {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: Readonly<Record<string, unknown>>;
}
const nodeClass = (spec: object): Judged => ({
  apiVersion: "karpenter.k8s.aws/v1",
  kind: "EC2NodeClass",
  metadata: { name: "servers" },
  spec: { ...spec },
});
const nodePool = (spec: object): Judged => ({
  apiVersion: "karpenter.sh/v1",
  kind: "NodePool",
  metadata: { name: "servers" },
  spec: { ...spec },
});

describe.skipIf(KUBECONFIG === undefined)(`Karpenter's schemas${WHERE}`, () => {
  let api: KubernetesObjectApi;
  beforeAll(() => {
    const config = new KubeConfig();
    config.loadFromFile(KUBECONFIG ?? "");
    api = KubernetesObjectApi.makeApiClient(config);
  });

  /** Object as the server would keep it, without what its schema does not have. */
  const judge = async (object: Judged): Promise<Judged["spec"]> => {
    const kept: unknown = await api.create(object, undefined, "All");
    return (kept as Judged).spec;
  };

  for (const pool of POOLS) {
    it.each(TUNINGS)(`take the class of ${pool} with %j, and lose nothing of it`, async (tuning) => {
      const { spec } = nodeClassOf(pool, { ...POOL_DEFAULTS[pool], tuning }, cluster);
      expect(await judge(nodeClass(spec))).toMatchObject(spec);
    });

    it(`take the pool ${pool}, and lose nothing of it`, async () => {
      const { spec } = nodePoolOf(pool, { ...POOL_DEFAULTS[pool], vcpuLimit: 100 }, cluster);
      expect(await judge(nodePool(spec))).toMatchObject(spec);
    });
  }

  it("take a class with subnets by their ids", async () => {
    const { spec } = nodeClassOf("servers", POOL_DEFAULTS.servers, {
      ...cluster,
      subnetIds: ["subnet-01234567", "subnet-11234567"],
    });
    expect(await judge(nodeClass(spec))).toMatchObject(spec);
  });

  it("refuse what they would refuse on EKS", async () => {
    const { spec: good } = nodeClassOf("servers", POOL_DEFAULTS.servers, cluster);
    await expect(judge(nodeClass({ ...good, amiSelectorTerms: [{ alias: "al2023" }] }))).rejects.toThrow(/alias/);
    await expect(judge(nodeClass({ ...good, role: undefined }))).rejects.toThrow(/role/);
    const { spec: pool } = nodePoolOf("servers", { ...POOL_DEFAULTS.servers, vcpuLimit: 100 }, cluster);
    await expect(judge(nodePool({ ...pool, limits: { cpu: "many" } }))).rejects.toThrow(/limits/);
  });
});
