/** What deployments ask of a platform that it cannot give: engines, pods, pools, and on EKS machines, addresses and zones. Pure. */
import { SETTINGS_SYNTAX } from "../../../valkey/engines";
import { nodeCount } from "../../../valkey/topology/placement";
import { zoneSpreadProblem } from "../../../components/kubernetes/pods/zone-plan";
import { configuredShape } from "../../plan/benchmark-plans";
import { deploymentZones } from "../../plan/pods";
import { eksPlan } from "../../plan/eks";
import type { BenchmarkConfig, DeploymentConfig, PlatformConfig } from "../schema/stack";
import type { EksPlatformConfig } from "../schema/eks";
import { STORAGE_CLASS_NAMES } from "../../../platforms/eks/storage-classes";

type Label = (path: readonly PropertyKey[]) => string;
type Named = readonly [name: string, config: DeploymentConfig];

/** Settings that Dragonfly has flags for, or has not and does not do: nothing is kept on disk. */
const DRAGONFLY_SETTINGS: readonly string[] = ["maxmemory", "other"];

export function podPlatformProblems(
  platform: PlatformConfig,
  deployments: readonly Named[],
  benchmark: BenchmarkConfig | undefined,
  label: Label,
): string[] {
  return [
    ...deployments.flatMap(([name, deployment]) => [
      ...engineProblems(name, deployment, platform, label),
      ...podProblems(name, deployment, platform, label),
      ...spreadProblems(name, deployment, platform, label),
    ]),
    ...(platform.type === "eks" ? planProblems(platform, deployments, benchmark, label) : []),
  ];
}

function engineProblems(
  name: string,
  { engine, mode, settings }: DeploymentConfig,
  platform: PlatformConfig,
  label: Label,
): string[] {
  const path = (...rest: readonly string[]): string => label(["deployments", name, ...rest]);
  if (engine === "valkey") return [];
  const problems: string[] = [];
  if (platform.type !== "host" && platform.tls !== undefined)
    problems.push(`${label(["platform", "tls"])}: ${name} is ${engine}, which is deployed with plain connections only`);
  if (platform.type === "host")
    problems.push(
      `${path("engine")}: ${engine} runs on the platforms kubernetes and eks; servers of this machine are Valkey`,
    );
  if (SETTINGS_SYNTAX[engine] === "flags") {
    if (mode === "cluster")
      problems.push(`${path("engine")}: ${engine} has no cluster of its own that can be formed here; mode replication`);
    const foreign = Object.entries(settings).filter(
      ([key, value]) => value !== undefined && !DRAGONFLY_SETTINGS.includes(key),
    );
    for (const [key] of foreign)
      problems.push(
        `${path("settings", key)}: ${engine} has no such setting; ${DRAGONFLY_SETTINGS.join(", ")} (its flags)`,
      );
  }
  return problems;
}

function podProblems(name: string, deployment: DeploymentConfig, platform: PlatformConfig, label: Label): string[] {
  const { pods } = deployment;
  if (pods === undefined) return [];
  const path = (...rest: readonly string[]): string => label(["deployments", name, "pods", ...rest]);
  if (platform.type === "host")
    return [`${path()}: there are no pods on the platform host; on kubernetes and eks there are`];
  const problems: string[] = [];
  if (pods.storage?.ephemeral === true && deployment.engine === "valkey" && deployment.mode === "replication")
    problems.push(
      `${path("storage", "ephemeral")}: the chart of replication has volumes only; of clusters and other engines the data can be ephemeral`,
    );
  if (pods.oneMachine && configuredShape(deployment).replicasPerPrimary > 0)
    problems.push(`${path("oneMachine")}: one machine cannot keep the replicas of ${name} apart from their primaries`);
  if (pods.oneMachine && (pods.zones ?? platform.zones).length > 1)
    problems.push(
      `${path("oneMachine")}: one machine is in one zone, and ${(pods.zones ?? platform.zones).length} are named; ${path("zones")} with one of them`,
    );
  if (platform.type === "kubernetes") {
    for (const key of ["pool", "instanceType"] as const)
      if (pods[key] !== undefined)
        problems.push(
          `${path(key)}: there are pools on the platform eks only; nodeSelector of the platform chooses machines here`,
        );
    return problems;
  }
  const className = pods.storage?.className;
  if (className !== undefined && !(STORAGE_CLASS_NAMES as readonly string[]).includes(className))
    problems.push(`${path("storage", "className")} is ${className}: expected one of ${STORAGE_CLASS_NAMES.join(", ")}`);
  const pool = pods.pool ?? "servers";
  const types = platform.pools[pool]?.instanceTypes;
  if (pods.instanceType !== undefined && types !== undefined && !types.includes(pods.instanceType))
    problems.push(
      `${path("instanceType")}: ${pods.instanceType} is none of the pool ${pool}; there are ${types.join(", ")} (${label(["platform", "pools", pool, "instanceTypes"])})`,
    );
  return problems;
}

/** Where the zones themselves are in order, which is said elsewhere. */
function spreadProblems(name: string, deployment: DeploymentConfig, platform: PlatformConfig, label: Label): string[] {
  if (platform.type === "host" || deployment.mode !== "cluster") return [];
  const zones = deploymentZones(platform, deployment);
  const shape = configuredShape(deployment);
  if (zones.length < 2 || zones.length > nodeCount(shape) || new Set(zones).size < zones.length) return [];
  const problem = zoneSpreadProblem(shape, zones);
  return problem === undefined
    ? []
    : [
        `${deployment.pods?.zones === undefined ? label(["platform", "zones"]) : label(["deployments", name, "pods", "zones"])}: ${problem}`,
      ];
}

/** Zones that are wrong in themselves are said by the schema; a plan of them would say it again. */
function planProblems(
  platform: EksPlatformConfig,
  deployments: readonly Named[],
  benchmark: BenchmarkConfig | undefined,
  label: Label,
): string[] {
  const { problems } = eksPlan(platform, { deployments: Object.fromEntries(deployments), benchmark });
  return problems.map(({ path, message }) =>
    path.length === 0 ? message : `${label(["platform", ...path])}: ${message}`,
  );
}
