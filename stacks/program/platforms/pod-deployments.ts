import * as k8s from "../../../components/kubernetes/kubernetes-sdk";
import type * as pulumi from "@pulumi/pulumi";
import { EngineDeployment } from "../../../components/engine-deployment";
import type { DeploymentArgs, NetworkAccess, Placement } from "../../../components/kubernetes/arguments";
import type { Labels } from "../../../platforms/kubernetes/pods/running-pods";
import type { BackupArgs, RestoreFromArgs } from "../../../components/kubernetes/backup-arguments";
import { objectNames } from "../../../components/kubernetes/names";
import { createLoadGeneratorPolicy } from "../../../components/kubernetes/network-policy";
import { DEPLOYMENT_FIELDS, VALKEY_FIELDS } from "../../../model/deployment";
import { pickFields } from "../../../model/fields";
import { METRICS_FIELDS, POD_FIELDS, VALKEY_POD_FIELDS } from "../../../model/pods";
import { Password } from "../../../operations/provider/resources";
import { UpstreamChart } from "../../../components/upstream-chart";
import { ValkeyCluster } from "../../../components/valkey-cluster";
import { ValkeyAlerts } from "../../../components/valkey-alerts";
import { ValkeyDashboard } from "../../../components/valkey-dashboard";
import { ValkeyReplication } from "../../../components/valkey-replication";
import { configuredSentinels, configuredShape } from "../../plan/benchmark-plans";
import { type PodRestore, podRestore } from "../../plan/pod-restore";
import { type PodPlatform, type PodSettings, podSettings, expectedServerTuning } from "../../plan/pod-settings";
import type { ProgramDeployment } from "./deployed";
import type { BackupConfig } from "../../config/schema/backup";
import type { DeploymentConfig } from "../../config/schema/deployments";
import type { StackConfig } from "../../config/schema/stack";

const POD_SECURITY = {
  "pod-security.kubernetes.io/enforce": "restricted",
  "pod-security.kubernetes.io/enforce-version": "latest",
};

interface PodNamespace {
  readonly name: pulumi.Input<string>;
  readonly dependsOn: pulumi.Resource[];
}

export function createNamespace(name: string, options: pulumi.CustomResourceOptions): PodNamespace {
  const made = new k8s.core.v1.Namespace("namespace", { metadata: { name, labels: POD_SECURITY } }, options);
  return { name: made.metadata.name, dependsOn: [made] };
}

interface PodDestination {
  readonly provider: k8s.Provider;
  readonly namespace: PodNamespace;
  /** Path of a kubeconfig, or its text, which must not contain secrets. */
  readonly kubeconfig: pulumi.Input<string> | undefined;
  readonly context: string | undefined;
  /** CIDR block whose addresses network policies allow; undefined if the policies select pods instead. */
  readonly policyBlock?: string | undefined;
  readonly nodeSelectors: ReadonlyMap<string, Labels> | undefined;
  /** Access to a part of the platform's bucket; undefined if it has none. @param prefix undefined for the default */
  readonly backupFor?: ((deployment: string, prefix: string | undefined) => BackupPlace) | undefined;
  /** Lets a new deployment read an archive; undefined if the platform has no roles. @default undefined */
  readonly restoreFor?:
    | ((deployment: string, archive: { readonly bucket: string; readonly prefix: string }) => ArchivePlace)
    | undefined;
}

type BackupPlace = Pick<BackupArgs, "bucket" | "region" | "prefix">;
type ArchivePlace = Pick<RestoreFromArgs, "bucket" | "region" | "prefix">;

export function deployPodsOfStack(
  platform: PodPlatform,
  config: StackConfig,
  place: PodDestination,
): ProgramDeployment[] {
  if (platform.metrics !== undefined) {
    new ValkeyDashboard(
      "grafana-dashboard",
      { namespace: platform.namespace },
      { provider: place.provider, dependsOn: place.namespace.dependsOn },
    );
  }
  if (platform.metrics?.alerts === true) {
    const inNamespace = { provider: place.provider, dependsOn: place.namespace.dependsOn };
    new ValkeyAlerts("valkey-alerts", { namespace: platform.namespace }, inNamespace);
  }
  if (config.measures)
    createLoadGeneratorPolicy(
      place.namespace.name,
      { provider: place.provider, dependsOn: place.namespace.dependsOn },
      accessOf(place)?.nodes,
    );
  return Object.entries(config.deployments).map(([name, deployment]) =>
    deployPods(name, deployment, platform, config, place),
  );
}

function deployPods(
  name: string,
  deployment: DeploymentConfig,
  platform: PodPlatform,
  { verification }: StackConfig,
  place: PodDestination,
): ProgramDeployment {
  const settings = podSettings(platform, deployment);
  const on = (object: string): Placement => onMachines(settings.placement, object, place.nodeSelectors);
  const users =
    deployment.users &&
    Object.fromEntries(
      Object.entries(deployment.users).map(([user, { rules }]) => {
        const { password } = new Password(`${name}.${user}`, { version: deployment.passwordVersion });
        return [user, { rules, password }] as const;
      }),
    );
  const args = {
    ...pickFields({ ...DEPLOYMENT_FIELDS, ...VALKEY_FIELDS }, deployment),
    ...pickFields({ ...POD_FIELDS, ...VALKEY_POD_FIELDS }, platform),
    ...podArgs({ ...settings, placement: on(name) }),
    settings: deployment.settings,
    metrics: platform.metrics && pickFields(METRICS_FIELDS, platform.metrics),
    passwordSecret: deployment.passwordSecret,
    users,
    controller: deployment.controller ?? false,
    backup: deployment.backup && backupArgs(name, deployment.backup, place),
    restoreFrom: deployment.restoreFrom && restoreArgs(name, podRestore(deployment.restoreFrom, platform), place),
    access: accessOf(place),
    namespace: place.namespace.name,
    kubeconfig: place.kubeconfig,
    context: place.context,
    tuning: expectedServerTuning(platform, deployment),
    timeoutSeconds: verification.timeout,
    trigger: verification.trigger,
  };
  const options = { provider: place.provider, dependsOn: place.namespace.dependsOn };
  const userPasswords =
    users && Object.fromEntries(Object.entries(users).map(([user, { password }]) => [user, password]));
  return { name, userPasswords, component: createDeployment(name, deployment, args, on, options) };
}

/** Without a bucket of its own, it uses the bucket of the platform. */
function backupArgs(name: string, { bucket, ...config }: BackupConfig, { backupFor }: PodDestination): BackupArgs {
  if (bucket !== undefined) return { ...config, bucket };
  if (backupFor === undefined) throw new Error(`the backup of ${name} has no bucket`);
  return { ...config, ...backupFor(name, config.prefix) };
}

/** Without keys and without a role, the platform gives it access to a bucket of AWS. */
function restoreArgs(name: string, args: PodRestore, { restoreFor }: PodDestination): RestoreFromArgs {
  const { bucket, prefix, endpoint, credentials, role } = args;
  if (restoreFor === undefined || endpoint !== undefined || credentials !== undefined || role !== undefined)
    return args;
  return { ...args, ...restoreFor(name, { bucket, prefix }) };
}

/** All addresses of `policyBlock`; without it, the default peers may connect. */
function accessOf({ policyBlock }: PodDestination): NetworkAccess | undefined {
  if (policyBlock === undefined) return undefined;
  const peers = [{ ipBlock: { cidr: policyBlock } }];
  return { nodes: peers, clients: peers, monitoring: peers };
}

function createDeployment(
  name: string,
  deployment: DeploymentConfig,
  args: DeploymentArgs & { readonly image: string },
  on: (object: string) => Placement,
  options: pulumi.ComponentResourceOptions,
): ProgramDeployment["component"] {
  const { engine, mode } = deployment;
  const shape = configuredShape(deployment);
  if (engine !== "valkey") return new EngineDeployment(name, { ...args, engine, mode, shape }, options);
  if (mode === "cluster") return new ValkeyCluster(name, { ...args, shape }, options);
  const { replicas, chart } = deployment;
  if (chart !== undefined) return new UpstreamChart(name, { ...args, ...chart, replicas }, options);
  const sentinel = configuredSentinels(deployment);
  const { sentinel: sentinels, proxy: proxies } = objectNames(name);
  const failoverNodeSelectors =
    sentinel === undefined
      ? undefined
      : { sentinels: { ...on(sentinels).nodeSelector }, proxies: { ...on(proxies).nodeSelector } };
  return new ValkeyReplication(
    name,
    { ...args, replicas, sentinel: sentinel ?? false, failoverNodeSelectors },
    options,
  );
}

function onMachines(placement: Placement, object: string, selectors: PodDestination["nodeSelectors"]): Placement {
  if (selectors === undefined) return placement;
  const own = selectors.get(object);
  if (own === undefined) throw new Error(`no machines are planned for ${object}`);
  return { ...placement, nodeSelector: { ...placement.nodeSelector, ...own } };
}

function podArgs({ image, resources, storage, placement: { zones, ...placement } }: PodSettings): DeploymentArgs & {
  readonly image: string;
} {
  return { zones, placement, image, resources, storage };
}
