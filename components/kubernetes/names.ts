/** Names of a deployment's Kubernetes objects. They depend only on its name. Pure. */
import { BadInput } from "../../lib/errors";
import type { TlsSource } from "./arguments";
import { overlapSecret } from "../../platforms/kubernetes/access/overlap-names";
import type { PrimaryLead } from "../../platforms/kubernetes/access/primary-lead";

/** Names of a deployment's objects in its namespace. */
export interface ObjectNames {
  readonly statefulSet: string;
  /** Service without an address of its own, which gives every pod its DNS name. */
  readonly headless: string;
  /** Service that clients find the deployment by. */
  readonly client: string;
  /** ConfigMap with the name of the primary's pod. Of engines to compare Valkey with it is a Service: pod 0 is always the primary. */
  readonly primary: string;
  /** Service of every pod that may be read from; only replication has it. */
  readonly read: string;
  /** Service of the primary for clients outside the Kubernetes cluster. */
  readonly external: string;
  /** Service of every pod that may be read from, for clients outside the Kubernetes cluster. */
  readonly externalRead: string;
  /** ConfigMap with the addresses that nodes give to clients, a file for each pod; only clusters have it. */
  readonly announced: string;
  readonly metrics: string;
  /** StatefulSet, Service and all else of the Sentinels; only replication that fails over has them. */
  readonly sentinel: string;
  /** Proxies in front of the primary. */
  readonly proxy: string;
  readonly config: string;
  readonly scripts: string;
  readonly secret: string;
  /** Secret whose files come before those of the other, while two passwords are valid. */
  readonly overlap: string;
  readonly serviceAccount: string;
  readonly disruptionBudget: string;
  readonly networkPolicy: string;
}

/** A StatefulSet's name, a hyphen and a revision's hash of ten must fit a label of 63. */
const LONGEST = 52;

/**
 * @param deployment the deployment's name, which is also the StatefulSet's: its pods are `NAME-0` …
 * @throws BadInput when no host name can be made of it
 */
export function objectNames(deployment: string): ObjectNames {
  if (!/^[a-z]([a-z0-9-]*[a-z0-9])?$/.test(deployment) || deployment.length > LONGEST) {
    throw new BadInput("deployment", [
      `its name is "${deployment}"; expected small letters, digits and hyphens, a letter first, at most ${LONGEST}`,
    ]);
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
    networkPolicy: deployment,
  };
}

/** The Secret with a deployment's certificate. @throws BadInput where it is not clear which */
export function tlsSecretName(deployment: string, { secretName, issuer }: TlsSource): string {
  if ((secretName === undefined) === (issuer === undefined))
    throw new BadInput(deployment, ["tls: expected either secretName or issuer"]);
  return secretName ?? `${deployment}-tls`;
}

/**
 * Objects that lead to the primary of a deployment in replication mode.
 * @param watched whether Sentinels decide who it is
 * @param reachable whether clients outside the Kubernetes cluster have a Service
 */
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

/** Labels of its Sentinels: no Service of the servers may select them. */
export function sentinelLabels(deployment: string): Record<string, string> {
  return { "app.kubernetes.io/name": "valkey-sentinel", "app.kubernetes.io/instance": deployment };
}

/** Labels of the proxies in front of its primary. */
export function proxyLabels(deployment: string): Record<string, string> {
  return { "app.kubernetes.io/name": "valkey-proxy", "app.kubernetes.io/instance": deployment };
}

export function objectLabels(deployment: string): Record<string, string> {
  return { ...selectorLabels(deployment), "app.kubernetes.io/managed-by": "pulumi" };
}
