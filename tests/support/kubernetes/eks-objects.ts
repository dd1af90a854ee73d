/** Objects of a stack on EKS for Karpenter and the scheduler: its pools, and pods with the same claims to machines. */
import { benchmarkJob } from "../../../benchmarks/load/jobs/benchmark-job";
import { selectorLabels } from "../../../components/kubernetes/names";
import { POOL_KEY } from "../../../platforms/eks/pools/pools";
import { podSettings, podTarget, runnerPlan } from "../../../stacks/plan/pod-settings";
import { planStack } from "../../../stacks/plan/stack-plan";
import type { EksPlatformConfig } from "../../../stacks/config/schema/eks";
import type { StackConfig } from "../../../stacks/config/schema/stack";
import { accountCalls, awsOutputs } from "../pulumi/eks";
import { type DeclaredResource, runProgram } from "../pulumi/pulumi-mocks";
import { chartSets } from "./chart-set";

export type EksStack = StackConfig & { readonly platform: EksPlatformConfig };

interface Metadata {
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
}
export interface EksObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Metadata & { readonly namespace?: string };
  readonly [key: string]: unknown;
}

/** Keeps pods of other tests from the machines that Karpenter starts, and Karpenter from starting some for those pods. */
const OWN_MACHINES = { key: "valkey-test/karpenter", effect: "NoSchedule" };

interface Container {
  readonly name: string;
  readonly resources?: object;
}

export interface EksObjects {
  readonly pools: readonly EksObject[];
  readonly servers: readonly EksObject[];
  /** The load generators of one measurement; none where nothing is measured. */
  readonly load: readonly EksObject[];
}

export async function eksObjects(stack: string, namespace: string, config: EksStack): Promise<EksObjects> {
  const { deployOnEks } = await import("../../../stacks/program/platforms/eks.js");
  const program = await runProgram(() => deployOnEks(stack, config.platform, config), awsOutputs, accountCalls, stack);
  const own = (object: EksObject): EksObject => withPoolsOf(stack, object) as EksObject;
  const inside = (object: EksObject): EksObject => ({ ...own(object), metadata: { ...object.metadata, namespace } });
  const pools = [
    ...program.ofType("kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"),
    ...program.ofType("kubernetes:karpenter.sh/v1:NodePool"),
  ].map(({ inputs }) => own(pooled(stack, inputs)));
  const sets = ["apps/v1:StatefulSet", "apps/v1:Deployment"].flatMap((type) => program.ofType(`kubernetes:${type}`));
  sets.push(...chartSets(program));
  return {
    pools,
    servers: sets.map(workload).map(inside),
    load: loadGenerators(stack, namespace, config).map(inside),
  };
}

function pooled(stack: string, inputs: Readonly<Record<string, unknown>>): EksObject {
  const { apiVersion, kind, metadata, spec } = inputs as unknown as EksObject;
  const renamed = JSON.parse(
    JSON.stringify(spec, (key, value: unknown) =>
      key === "nodeClassRef" ? { ...(value as object), name: `${stack}-${(value as Metadata).name}` } : value,
    ),
  ) as unknown;
  const own = kind === "NodePool" ? tainted(renamed as PoolSpec) : renamed;
  return { apiVersion, kind, metadata: { name: `${stack}-${metadata.name}` }, spec: own };
}

interface PoolSpec {
  readonly template: { readonly spec: { readonly taints?: readonly object[] } };
}

function tainted({ template, ...rest }: PoolSpec): object {
  const taints = [...(template.spec.taints ?? []), OWN_MACHINES];
  return { ...rest, template: { ...template, spec: { ...template.spec, taints } } };
}

/** Stacks run beside each other, so that the pool of one must let in no pod of another. */
function withPoolsOf(stack: string, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((each: unknown) => withPoolsOf(stack, each));
  if (value === null || typeof value !== "object") return value;
  const record = value as Readonly<Record<string, unknown>>;
  return Object.fromEntries(
    Object.entries(record).map(([key, each]) => {
      const isPool = key === POOL_KEY || (key === "value" && record["key"] === POOL_KEY);
      return [key, isPool ? `${stack}-${String(each)}` : withPoolsOf(stack, each)];
    }),
  );
}

/** A StatefulSet or Deployment, with what its pods claim of machines and nothing that they would mount or run as. */
function workload({ inputs }: DeclaredResource): EksObject {
  const { apiVersion, kind, metadata, spec } = inputs as unknown as EksObject & {
    readonly spec: {
      readonly template: { readonly metadata: object; readonly spec: Readonly<Record<string, unknown>> };
    };
  };
  const { template, ...rest } = spec;
  return {
    apiVersion,
    kind,
    metadata: { name: metadata.name },
    spec: {
      ...rest,
      template: { metadata: template.metadata, spec: claims(template.spec) },
    },
  };
}

function claims(spec: Readonly<Record<string, unknown>>): object {
  const only = (containers: unknown): object[] =>
    ((containers ?? []) as readonly Container[]).map(({ name, resources }) => ({ name, resources, image: "none" }));
  const { affinity, topologySpreadConstraints, nodeSelector, containers, initContainers } = spec;
  const tolerations = [...((spec["tolerations"] ?? []) as readonly object[]), { ...OWN_MACHINES, operator: "Exists" }];
  return {
    affinity,
    topologySpreadConstraints,
    nodeSelector,
    tolerations,
    automountServiceAccountToken: false,
    terminationGracePeriodSeconds: 0,
    containers: only(containers),
    initContainers: only(initContainers),
  };
}

/** One Job, as every measurement has it, with the sidecar that load generators other than valkey-benchmark need. */
function loadGenerators(stack: string, namespace: string, config: EksStack): EksObject[] {
  const { measurement } = planStack(stack, config);
  const [first] = Object.entries(config.deployments);
  if (measurement === null || first === undefined) return [];
  const hasSidecar = Object.keys(config.workloads).length > 0;
  const { job } = benchmarkJob({
    name: "load",
    namespace,
    image: podSettings(config.platform, first[1]).image,
    servers: { namespace, labels: selectorLabels(podTarget(first[0], first[1], config.platform).statefulSet) },
    runner: runnerPlan(config.platform, measurement.runners, false),
    keys: "",
    phases: [],
    sidecar: hasSidecar ? { image: "none", program: "" } : undefined,
    user: undefined,
    tls: undefined,
    timeoutSeconds: 3600,
    deadlineSeconds: 3600,
  });
  const { template, ...spec } = job.spec ?? {};
  const pod = { metadata: template?.metadata, spec: { ...claims({ ...template?.spec }), restartPolicy: "Never" } };
  return [{ apiVersion: "batch/v1", kind: "Job", metadata: { name: "load" }, spec: { ...spec, template: pod } }];
}

/** One pod on every machine, with the requests that a plan leaves for all that EKS runs there. */
export function daemons(namespace: string): EksObject {
  const labels = { app: "daemons" };
  const onMachines = { matchExpressions: [{ key: "karpenter.sh/nodepool", operator: "Exists" }] };
  const affinity = {
    nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [onMachines] } },
  };
  const resources = { requests: { cpu: "180m", memory: "120Mi" } };
  return {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: { name: "daemons", namespace },
    spec: {
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          ...claims({ affinity, tolerations: [{ operator: "Exists" }], containers: [{ name: "all", resources }] }),
        },
      },
    },
  };
}
