/** Values of the upstream valkey chart, for pods like those of a cluster. Pure. */
import { CLUSTER_DOMAIN } from "../../../platforms/kubernetes/cluster-domain";
import type { SentinelSettings } from "../../../valkey/sentinel/plan";
import { splitDirectives } from "../../../valkey/live-settings";
import { formatConfigFile, toDirectives } from "../../../valkey/settings";
import { parseImage, pullPolicy } from "../pods/image";
import type { DeploymentContext } from "../deployment-context";
import { CLIENT_PORT, METRICS_PORT, SCRIPTS_DIRECTORY, SECRET_DIRECTORY } from "../layout";
import { EXPORTER_FILE } from "../metrics";
import { sidecarResources, EXPORTER_RESOURCES, INIT_RESOURCES } from "../pods/sidecar-resources";
import { EXPORTER_IMAGE } from "../pods/default-images";
import { scheduling } from "../pods/placement";
import { findPrimaryContainer } from "./find-primary-container";
import { sentinelVariables } from "./sentinel-environment";
import { livenessProbe, readinessProbe } from "../pods/probes";
import { CONTAINER_SECURITY_CONTEXT, POD_SECURITY_CONTEXT } from "../pods/security-context";
import { PASSWORD_FILE, SAVED_BEFORE_STOPPING } from "../server-config";
import { serviceHost } from "../pods/server-pods";
import { scriptEnvironment, secretMounts, secretVolume } from "../pods/volumes";

/** @param replicas of the one primary @param sentinel settings of the Sentinels; undefined without failover */
export function chartValues(
  context: DeploymentContext,
  replicas: number,
  sentinel?: SentinelSettings,
): Record<string, unknown> {
  const { deployment, names, args } = context;
  return {
    fullnameOverride: deployment,
    image: { ...parseImage(args.image), pullPolicy: pullPolicy(args.image, args.imagePullPolicy) },
    imagePullSecrets: args.imagePullSecrets ?? [],
    clusterDomain: args.clusterDomain ?? CLUSTER_DOMAIN,
    serviceAccount: { create: true, name: names.serviceAccount, automount: false },
    podSecurityContext: POD_SECURITY_CONTEXT,
    securityContext: CONTAINER_SECURITY_CONTEXT,
    service: { port: CLIENT_PORT },
    resources: args.resources,
    initResources: sidecarResources(args.resources, INIT_RESOURCES),
    // The chart restarts the pods for another text.
    valkeyConfig: formatConfigFile(
      new Map([
        ...(sentinel === undefined ? SAVED_BEFORE_STOPPING : []),
        ...splitDirectives(toDirectives(args.settings)).restart,
      ]),
    ),
    ...ownFiles(context),
    ...authentication(context),
    ...probes(context),
    env: environment(context, sentinel),
    replica: {
      enabled: true,
      replicas,
      replicationUser: "default",
      service: { enabled: true, port: CLIENT_PORT },
      persistence: {
        size: args.storage.size,
        ...(args.storage.className === undefined ? {} : { storageClass: args.storage.className }),
      },
      persistentVolumeClaimRetentionPolicy: {
        whenDeleted: args.storage.onDestroy === "keep" ? "Retain" : "Delete",
        whenScaled: "Delete",
      },
    },
    tls:
      args.tls === undefined
        ? { enabled: false }
        : {
            enabled: true,
            existingSecret: args.tls.secretName,
            serverPublicKey: "tls.crt",
            serverKey: "tls.key",
            caPublicKey: "ca.crt",
          },
    ...scheduling(deployment, args.placement),
    podDisruptionBudget: { enabled: true, maxUnavailable: 1 },
    metrics: metrics(context),
    ...(sentinel === undefined ? {} : { extraInitContainers: [findPrimaryContainer(context, sentinel)] }),
  };
}

/**
 * A file that the init container appends to valkey.conf. The chart mounts its volume and leaves it to us to declare it.
 * The file includes one of the secret's, which names the users' file: the chart's own has one password for a user, and a
 * change of it restarts the pods.
 */
function ownFiles({ names }: DeploymentContext): Record<string, unknown> {
  return {
    extraSecretValkeyConfigs: true,
    extraVolumes: [{ name: "extravalkeyconfigs-volume", configMap: { name: names.liveConfig } }, secretVolume(names)],
    extraVolumeMounts: secretMounts(undefined),
  };
}

/** The chart reads the password from the deployment's secret. */
function authentication({ names }: DeploymentContext): Record<string, unknown> {
  return {
    auth: {
      enabled: true,
      usersExistingSecret: names.secret,
      aclUsers: { default: { permissions: "~* &* +@all", passwordKey: PASSWORD_FILE } },
    },
  };
}

/** Probes in place of the chart's, which do not check whether a replica follows its primary. */
function probes({ names, args }: DeploymentContext): Record<string, unknown> {
  return {
    startupProbe: { enabled: false },
    livenessProbe: { enabled: true, customProbe: livenessProbe(args.tls !== undefined) },
    readinessProbe: { enabled: true, customProbe: readinessProbe("replication") },
    extraValkeyConfigs: [{ name: names.scripts, mountPath: SCRIPTS_DIRECTORY }],
  };
}

function environment(context: DeploymentContext, sentinel: SentinelSettings | undefined): Record<string, unknown> {
  const { names, args } = context;
  if (sentinel !== undefined) return sentinelVariables(context, sentinel);
  // The chart's client Service selects pod 0. Sentinels tell a replica themselves which primary it has.
  const authority = args.tls === undefined ? undefined : "/tls/ca.crt";
  return { ...scriptEnvironment(authority), PRIMARY_SERVICE: serviceHost(names.client, context) };
}

function metrics({ args }: DeploymentContext): Record<string, unknown> {
  if (args.metrics === undefined) return { enabled: false };
  const image = args.metrics.image ?? EXPORTER_IMAGE;
  return {
    enabled: true,
    exporter: {
      image: { ...parseImage(image), pullPolicy: pullPolicy(image, args.imagePullPolicy) },
      port: METRICS_PORT,
      resources: sidecarResources(args.resources, EXPORTER_RESOURCES),
      securityContext: CONTAINER_SECURITY_CONTEXT,
      // The chart passes the password as an environment variable (CKV_K8S_35), which a running exporter cannot read again.
      args: ["--redis.password=", `--redis.password-file=${SECRET_DIRECTORY}/${EXPORTER_FILE}`],
      extraVolumeMounts: secretMounts(undefined),
      extraEnvs:
        args.tls === undefined
          ? {}
          : { REDIS_ADDR: `rediss://localhost:${CLIENT_PORT}`, REDIS_EXPORTER_SKIP_TLS_VERIFICATION: "true" },
    },
    service: { enabled: true, ports: { http: METRICS_PORT } },
    serviceMonitor: { enabled: args.metrics.serviceMonitor ?? false, interval: "30s" },
  };
}
