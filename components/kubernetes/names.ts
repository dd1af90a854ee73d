import { BadInput } from "../../lib/errors";
import type { TlsSource } from "../../model/pods";
import { overlapSecret } from "../../platforms/kubernetes/access/overlap-names";
import type { PrimaryLead } from "../../platforms/kubernetes/access/primary-lead";

export interface ObjectNames {
  readonly statefulSet: string;
  /** Headless Service, which gives every pod its DNS name. */
  readonly headless: string;
  /** Service through which clients reach the deployment. */
  readonly client: string;
  /** ConfigMap with the name of the primary's pod. For Redis and Dragonfly, a Service that routes to pod 0. */
  readonly primary: string;
  /** It routes to every ready pod, and exists only in replication mode. */
  readonly read: string;
  readonly external: string;
  /** Service for reads by clients outside the Kubernetes cluster. */
  readonly externalRead: string;
  /** ConfigMap with the addresses that nodes announce to clients, one file per pod. It exists only in cluster mode. */
  readonly announced: string;
  readonly metrics: string;
  /** They exist only in replication mode with Sentinels. */
  readonly sentinel: string;
  readonly proxy: string;
  readonly config: string;
  readonly scripts: string;
  readonly secret: string;
  /** Secret that exists while two passwords are valid. In pods, its files replace those of `secret`. */
  readonly overlap: string;
  readonly serviceAccount: string;
  readonly disruptionBudget: string;
  /** Deployment, Lease, service account and other objects of the controller. */
  readonly controller: string;
  /** Deployment, service account and other objects of the pod that writes the backup. */
  readonly archive: string;
  /** Job, service account and other objects of the pod that fills a new deployment from an archive. */
  readonly restore: string;
  /** CronJob and other objects of the pod that restores the backup for a test. */
  readonly drill: string;
  readonly networkPolicy: string;
}

/** Kubernetes puts the name, a hyphen and a hash of 10 characters into a label of at most 63 characters. */
const LONGEST = 52;

/** @param deployment also the name of its StatefulSet @throws BadInput when it cannot be part of a host name */
export function objectNames(deployment: string): ObjectNames {
  if (!/^[a-z]([a-z0-9-]*[a-z0-9])?$/.test(deployment) || deployment.length > LONGEST) {
    throw BadInput.of(
      "deployment",
      "wrong-name",
      `its name is "${deployment}"; expected lower-case letters, digits and hyphens, a letter first, at most ${LONGEST} characters`,
    );
  }
  return {
    statefulSet: deployment,
    headless: `${deployment}-headless`,
    client: deployment,
    primary: `${deployment}-primary`,
    read: `${deployment}-read`,
    external: `${deployment}-external`,
    externalRead: `${deployment}-read-external`,
    announced: `${deployment}-announced`,
    metrics: `${deployment}-metrics`,
    sentinel: `${deployment}-sentinel`,
    proxy: `${deployment}-proxy`,
    config: `${deployment}-config`,
    scripts: `${deployment}-scripts`,
    secret: `${deployment}-password`,
    overlap: overlapSecret(deployment),
    serviceAccount: deployment,
    disruptionBudget: deployment,
    controller: `${deployment}-controller`,
    archive: `${deployment}-archive`,
    restore: `${deployment}-restore`,
    drill: `${deployment}-drill`,
    networkPolicy: deployment,
  };
}

export function tlsSecretName(deployment: string, { secretName }: TlsSource): string {
  return secretName ?? `${deployment}-tls`;
}

/** @param watched whether Sentinels decide the primary @param reachable from outside the Kubernetes cluster */
export function primaryLead(deployment: string, watched: boolean, reachable: boolean): PrimaryLead {
  const { client, external, primary } = objectNames(deployment);
  return {
    services: reachable ? [client, external] : [client],
    servers: selectorLabels(deployment),
    ...(watched ? { proxies: proxyLabels(deployment) } : {}),
    configMap: primary,
  };
}

/** Labels that select a deployment's pods and nothing else. */
export function selectorLabels(deployment: string): Record<string, string> {
  return { "app.kubernetes.io/name": "valkey", "app.kubernetes.io/instance": deployment };
}

/** They differ from the servers' labels, so that no Service of servers selects them. */
export function sentinelLabels(deployment: string): Record<string, string> {
  return { "app.kubernetes.io/name": "valkey-sentinel", "app.kubernetes.io/instance": deployment };
}

/** Labels of the proxies in front of a deployment's primary. */
export function proxyLabels(deployment: string): Record<string, string> {
  return { "app.kubernetes.io/name": "valkey-proxy", "app.kubernetes.io/instance": deployment };
}

export function controllerLabels(deployment: string): Record<string, string> {
  return { "app.kubernetes.io/name": "valkey-controller", "app.kubernetes.io/instance": deployment };
}

/** Labels of the pod that writes a deployment's backup. */
export function archiveLabels(deployment: string): Record<string, string> {
  return { "app.kubernetes.io/name": "valkey-archive", "app.kubernetes.io/instance": deployment };
}

export function restoreLabels(deployment: string): Record<string, string> {
  return { "app.kubernetes.io/name": "valkey-restore", "app.kubernetes.io/instance": deployment };
}

export function drillLabels(deployment: string): Record<string, string> {
  return { "app.kubernetes.io/name": "valkey-drill", "app.kubernetes.io/instance": deployment };
}

export function objectLabels(deployment: string): Record<string, string> {
  return { ...selectorLabels(deployment), "app.kubernetes.io/managed-by": "pulumi" };
}
