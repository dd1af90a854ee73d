/** Every stack on EKS as a whole: what it declares, how its parts relate, and whether it holds to the guardrails. */
import { beforeAll, describe, expect, it } from "vitest";
import { nodeCount } from "../../../valkey/topology/placement";
import { MACHINE_SET_KEY, machineSetSelector, poolSelector, poolToleration } from "../../../platforms/eks/pools/pools";
import { STORAGE_CLASS_NAMES } from "../../../platforms/eks/offers/storage-classes";
import type { Resources } from "../../../components/kubernetes/arguments";
import { isGuaranteed } from "../../../components/kubernetes/pods/sidecar-resources";
import { RULES } from "../../../policies/all-rules";
import { STACKS_DIRECTORY } from "../../../stacks/config/sections/paths";
import { planStack } from "../../../stacks/plan/stack-plan";
import { configuredShape } from "../../../stacks/plan/benchmark-plans";
import { podSettings } from "../../../stacks/plan/pod-settings";
import type { StackConfig } from "../../../stacks/config/schema/stack";
import type { EksPlatformConfig } from "../../../stacks/config/schema/eks";
import { stackNames } from "../../../stacks/config/sections/stack-file";
import { CHART, chartSets } from "../../support/kubernetes/chart-set";
import { isOfAws, parameterProblems } from "../../support/aws/requests";
import { accountCalls, awsOutputs } from "../../support/pulumi/eks";
import { type DeclaredResource, type ProgramRun, runProgram } from "../../support/pulumi/pulumi-mocks";
import { configOf } from "../../support/stack-config";

type EksStack = StackConfig & { readonly platform: EksPlatformConfig };

const isEks = (config: StackConfig): config is EksStack => config.platform.type === "eks";
const stacks = stackNames(STACKS_DIRECTORY).flatMap((name): [string, EksStack][] => {
  const config = configOf(name);
  return isEks(config) ? [[name, config]] : [];
});

interface PodSpec {
  readonly nodeSelector: Readonly<Record<string, string>>;
  readonly tolerations: readonly object[];
  readonly affinity: { readonly podAffinity?: object; readonly podAntiAffinity?: object };
  readonly topologySpreadConstraints: readonly { readonly topologyKey: string; readonly whenUnsatisfiable: string }[];
  readonly containers: readonly { readonly resources: Resources }[];
  readonly initContainers?: readonly { readonly resources: Resources }[];
}
const specOf = ({ inputs }: DeclaredResource): PodSpec =>
  (inputs["spec"] as { template: { spec: PodSpec } }).template.spec;

/** Resources of each container of the pod, the server's first. */
function resourcesOf({ containers, initContainers = [] }: PodSpec): readonly [Resources, ...Resources[]] {
  const [server, ...others] = [...containers, ...initContainers].map(({ resources }) => resources);
  if (server === undefined) throw new Error("the pod has no container");
  return [server, ...others];
}

/** The StatefulSet of a deployment: as it is declared, or as the upstream chart makes it. */
function setOf(program: ProgramRun, deployment: string): DeclaredResource {
  return (
    chartSets(program).find(({ name }) => name === deployment) ??
    program.one("kubernetes:apps/v1:StatefulSet", deployment)
  );
}

describe("the stacks on EKS", () => {
  it("are one for each study, and a small one", () => {
    expect(stacks.map(([name]) => name)).toEqual(["billion", "density", "dev", "engines", "io-threads", "topologies"]);
  });
});

describe.each(stacks)("the stack %s", (name, config) => {
  const { platform } = config;
  let program: ProgramRun;
  beforeAll(async () => {
    const { deployOnEks } = await import("../../../stacks/program/platforms/eks.js");
    program = await runProgram(() => deployOnEks(name, platform, config), awsOutputs, accountCalls, name);
  }, 120_000);
  const servers = (): { readonly deployment: string; readonly spec: PodSpec; readonly set: DeclaredResource }[] =>
    Object.keys(config.deployments).map((deployment) => {
      const set = setOf(program, deployment);
      return { deployment, set, spec: specOf(set) };
    });

  it("holds to every guardrail", () => {
    const violations = program.resources.flatMap(({ type, name: resource, inputs }) =>
      RULES.flatMap((rule) =>
        rule.check({ type, name: resource, props: inputs }).map((what) => `${type} ${resource}: ${rule.name}: ${what}`),
      ),
    );
    expect(violations).toEqual([]);
  });

  it("registers nothing that AWS' models are against", () => {
    const ofAws = program.resources.filter(({ type }) => isOfAws(type));
    expect(ofAws.length).toBeGreaterThan(40);
    expect(ofAws.flatMap(parameterProblems)).toEqual([]);
  });

  it("puts servers where a pool lets them in, on a type that the pool may start, as many as planned", () => {
    const limits = new Map(
      program.ofType("kubernetes:karpenter.sh/v1:NodePool").map(({ inputs }) => [
        (inputs["metadata"] as { name: string }).name,
        inputs["spec"] as {
          template: {
            spec: { taints: readonly object[]; requirements: readonly { key: string; values: readonly string[] }[] };
          };
        },
      ]),
    );
    const sets = planStack(name, config).eks?.sets ?? [];
    for (const { deployment, spec, set } of servers()) {
      const own = config.deployments[deployment];
      if (own === undefined) throw new Error(`no ${deployment}`);
      const { pool = "servers", instanceType } = podSettings(platform, own);
      expect(spec.nodeSelector).toMatchObject(poolSelector(pool));
      expect(spec.tolerations).toEqual([poolToleration(pool)]);
      const machines = sets.find(({ groups }) => groups.some(({ label }) => label === deployment));
      expect(spec.nodeSelector).toMatchObject(machineSetSelector(machines?.name ?? ""));
      const { taints, requirements } = limits.get(Object.values(poolSelector(pool))[0] ?? "")?.template.spec ?? {
        taints: [],
        requirements: [],
      };
      const { operator, ...tolerated } = poolToleration(pool);
      expect([taints, operator]).toEqual([[tolerated], "Equal"]);
      expect(requirements).toContainEqual({ key: MACHINE_SET_KEY, operator: "Exists" });
      if (instanceType !== undefined) {
        expect(spec.nodeSelector).toMatchObject({ "node.kubernetes.io/instance-type": instanceType });
        expect(requirements.find(({ key }) => key === "node.kubernetes.io/instance-type")?.values).toContain(
          instanceType,
        );
      }
      expect(spec.topologySpreadConstraints).toMatchObject([
        { topologyKey: "topology.kubernetes.io/zone", whenUnsatisfiable: "DoNotSchedule" },
      ]);
      expect(spec.affinity.podAffinity !== undefined).toBe(own.pods?.oneMachine ?? false);
      expect((set.inputs["spec"] as { replicas: number }).replicas).toBe(nodeCount(configuredShape(own)));
    }
  });

  it("asks for whole CPUs, and all it may have, with every container where the pool gives CPUs to pods alone", () => {
    for (const { deployment, spec } of servers()) {
      const own = config.deployments[deployment];
      if (own === undefined) throw new Error(`no ${deployment}`);
      if (platform.pools[podSettings(platform, own).pool ?? "servers"]?.tuning.staticCpus !== true) continue;
      const [server, ...others] = resourcesOf(spec);
      expect(Number(server.limits.cpu) % 1, deployment).toBe(0);
      expect([server, ...others].map(isGuaranteed), deployment).toEqual([server, ...others].map(() => true));
    }
  });

  it("claims volumes of classes that there are, as many as planned", () => {
    const classes = program
      .ofType("kubernetes:storage.k8s.io/v1:StorageClass")
      .map(({ inputs }) => (inputs["metadata"] as { name: string }).name);
    expect(classes.sort()).toEqual([...STORAGE_CLASS_NAMES].sort());
    let claims = 0;
    for (const { deployment, set } of servers()) {
      const own = config.deployments[deployment];
      if (own === undefined) throw new Error(`no ${deployment}`);
      const { volumeClaimTemplates: templates } = set.inputs["spec"] as {
        volumeClaimTemplates: readonly { spec: { storageClassName: string } }[];
      };
      for (const { spec } of templates) expect(classes).toContain(spec.storageClassName);
      claims += templates.length * nodeCount(configuredShape(own));
    }
    expect(planStack(name, config).eks?.volumes.count).toBe(claims);
  });

  it("lets policies name pods, or the network's block where these are too many", () => {
    const { cidr } = planStack(name, config).eks?.policies ?? { cidr: undefined };
    const policies = program.ofType("kubernetes:networking.k8s.io/v1:NetworkPolicy");
    expect(policies.length).toBeGreaterThan(0);
    for (const { inputs } of policies) {
      const { ingress, egress } = inputs["spec"] as Record<
        "ingress" | "egress",
        readonly { readonly from?: readonly object[]; readonly to?: readonly object[] }[]
      >;
      const peers = [...ingress.flatMap(({ from = [] }) => from), ...egress.flatMap(({ to = [] }) => to)];
      expect(peers.length).toBeGreaterThan(0);
      for (const peer of peers) {
        if (cidr === null) expect(peer).not.toHaveProperty("ipBlock");
        else expect(peer).toEqual({ ipBlock: { cidr } });
      }
    }
    expect(cidr !== null).toBe(name === "billion");
  });

  it("goes from servers to namespace to volumes to machines to the cluster, made by the cluster's own provider", () => {
    const namespace = program.one("kubernetes:core/v1:Namespace");
    const volumes = program.one("valkey:index:VolumeDeletionWait");
    const cluster = program.one("eks:index:Cluster");
    for (const { deployment } of servers()) {
      const made = program.resources.find(
        ({ type, name: resource }) =>
          (type === CHART || type.startsWith("valkey:kubernetes:")) && resource === deployment,
      );
      if (made === undefined) throw new Error(`no servers of ${deployment}`);
      expect(program.isDeletedBefore(made, namespace)).toBe(true);
    }
    const machines = [
      ...program.ofType("kubernetes:karpenter.sh/v1:NodePool"),
      ...program.ofType("kubernetes:storage.k8s.io/v1:StorageClass"),
      program.one("aws:eks/addon:Addon", `${cluster.name}-ebs-csi`),
    ];
    expect(program.isDeletedBefore(namespace, volumes)).toBe(true);
    for (const each of machines) {
      expect(program.isDeletedBefore(volumes, each), each.name).toBe(true);
      expect(program.isDeletedBefore(each, cluster), each.name).toBe(true);
    }
    expect(program.providerOf(namespace)).toBe(`pulumi:providers:kubernetes ${cluster.name}-provider`);
  });

  it("is in one region by one provider, and its kubeconfig asks for a token of that cluster", () => {
    expect(program.one("pulumi:providers:aws").inputs).toMatchObject({ region: platform.region });
    const kubeconfig = JSON.parse(String(program.one("pulumi:providers:kubernetes").inputs["kubeconfig"])) as {
      users: readonly { user: { exec: object } }[];
    };
    const clusterName = program.one("eks:index:Cluster").inputs["name"];
    expect(kubeconfig.users[0]?.user.exec).toMatchObject({
      command: "aws",
      args: ["--region", platform.region, "eks", "get-token", "--cluster-name", clusterName, "--output", "json"],
    });
    expect(
      program
        .ofType("valkey:index:Preparation")
        .map(({ inputs }) => (inputs["target"] as { kubeconfig: string }).kubeconfig)
        .every((text) => text === JSON.stringify(kubeconfig)),
    ).toBe(true);
  });
});
