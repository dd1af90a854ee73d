/** Arguments of all deployments. Plain types decide which resources exist; values are `Input`. */
import type * as pulumi from "@pulumi/pulumi";
import type { types } from "@pulumi/kubernetes";
import type { Engine } from "../../valkey/settings/engines";
import type { ServerSettings } from "../../valkey/settings/settings";

export interface ServerArgs {
  readonly namespace: pulumi.Input<string>;
  /** The servers' engine. @default "valkey" */
  readonly engine?: Engine | undefined;
  /**
   * Image of the servers, `[REGISTRY/]REPOSITORY:TAG[@DIGEST]`; has sh, timeout, the engine's server and client. A scan
   * (checkov's CKV_K8S_43) wants the digest, which is for the stack to know: a registry's copy may have one of its own.
   */
  readonly image: string;
  /**
   * Whether machines ask the registry at every start of a container.
   * @default "IfNotPresent" for an image with a digest, else "Always": a tag can be pushed anew, and all nodes must run
   * one server. "IfNotPresent" with a tag is for images that machines were given by hand (CKV_K8S_15).
   */
  readonly imagePullPolicy?: PullPolicy | undefined;
  /**
   * Names of Secrets in the namespace, of the type `kubernetes.io/dockerconfigjson`, for the registries of all images.
   * @default none
   */
  readonly imagePullSecrets?: readonly string[] | undefined;
  /** Password of the user `default`, for clients and between nodes. `Access` tells running servers a new one first. */
  readonly password: pulumi.Input<string>;
  /** Further users. @default none */
  readonly users?: UserArgs | undefined;
  /**
   * Directives of valkey.conf by their names, except those that the deployment decides itself. Sizes are bytes; the
   * keys of `settings` in a stack file (docs/configuration.md) are the same.
   */
  readonly settings: ServerSettings;
  readonly resources: Resources;
  readonly storage: Storage;
  readonly placement: Placement;
  /** Image of HAProxy 3.1 or newer, in front of a primary with Sentinels. @default `PROXY_IMAGE` */
  readonly proxyImage?: string | undefined;
  readonly access?: NetworkAccess | undefined;
  /** Reach from outside the Kubernetes cluster. @default none */
  readonly external?: ExternalReach | undefined;
  /** An exporter for Prometheus beside every server. @default none */
  readonly metrics?: Metrics | undefined;
  /** TLS for all connections, with these files. @default plain TCP */
  readonly tls?: Tls | undefined;
  /** Domain at the end of cluster-wide DNS names. @default "cluster.local" */
  readonly clusterDomain?: string | undefined;
}

/** A value in a Secret. */
export interface SecretKey {
  /** Name of a Secret in the deployment's namespace. */
  readonly name: pulumi.Input<string>;
  /** Key of the Secret's data. */
  readonly key: string;
}

/** By name, without `default`. */
export type UserArgs = pulumi.Input<Readonly<Record<string, UserArg>>>;

export interface UserArg {
  /** Rules of ACL SETUSER for commands, keys and channels: `+@read ~app:*`. */
  readonly rules: pulumi.Input<string>;
  /** Password of at least 16 characters. Secret. A new password is valid beside the former one for a while. */
  readonly password: pulumi.Input<string>;
}

export type PullPolicy = "Always" | "IfNotPresent";

/** CPU and memory of the server's container, in Kubernetes' quantities: `"1"`, `"500m"`, `"12Gi"`. */
export interface Resources {
  readonly requests: { readonly cpu: pulumi.Input<string>; readonly memory: pulumi.Input<string> };
  /** Equal to the requests, the pod is of the class Guaranteed. */
  readonly limits: { readonly cpu: pulumi.Input<string>; readonly memory: pulumi.Input<string> };
}

/**
 * One volume per node, for the data set and, in a cluster, for what the node knows of the others. Kubernetes lets no
 * StatefulSet change it. Whole deployments grow volumes. For components that are only the servers, a new size or class
 * makes a new StatefulSet, with all pods down at once, and with `delete` new volumes without the data.
 */
export interface Storage {
  /**
   * Keeps the data on the machine's disk and loses it with the pod.
   * @default false
   */
  readonly ephemeral?: boolean | undefined;
  /** @default the Kubernetes cluster's default class */
  readonly className?: pulumi.Input<string> | undefined;
  /** Size of each volume in Kubernetes' units: `"20Gi"`. A larger size grows the volumes of running servers. */
  readonly size: pulumi.Input<string>;
  /** Whether the volumes survive the deployment when it is destroyed. Volumes of removed nodes are always deleted. */
  readonly onDestroy: "keep" | "delete";
}

export interface Placement {
  /** Values of `topology.kubernetes.io/zone`. The numbers of nodes in two of these zones differ by one at most. */
  readonly zones: readonly string[];
  /**
   * Whether machines are started for these pods, and for no others. The first zones then get the nodes that the zones
   * cannot share evenly, as far as machines can be had there.
   * @default false
   */
  readonly ownMachines?: boolean | undefined;
  /**
   * `required`: no two nodes of the deployment on one machine. `preferred`: two only where no other machine has room.
   * `none`: no rule.
   */
  readonly hostAntiAffinity: "required" | "preferred" | "none";
  /**
   * Puts all nodes of the deployment on one machine, regardless of `hostAntiAffinity`. Needs one zone.
   * @default false
   */
  readonly oneMachine?: boolean | undefined;
  /** Labels that machines must have. */
  readonly nodeSelector?: Readonly<Record<string, string>> | undefined;
  readonly tolerations?: readonly types.input.core.v1.Toleration[] | undefined;
}

/** Clients that may connect, where the network plugin enforces NetworkPolicy. */
export interface NetworkAccess {
  /** Peers that may connect to all ports of the servers. @default the deployment's servers, Sentinels and proxies */
  readonly nodes?: readonly types.input.networking.v1.NetworkPolicyPeer[] | undefined;
  /** Peers that may connect to the servers' client port. @default every pod of the namespace */
  readonly clients?: readonly types.input.networking.v1.NetworkPolicyPeer[] | undefined;
  /** Peers that may connect to the exporters' port. @default every pod of every namespace, as the figures are not secret */
  readonly monitoring?: readonly types.input.networking.v1.NetworkPolicyPeer[] | undefined;
}

/**
 * Services for clients outside the Kubernetes cluster: one for the primary and one for reads; of a cluster one for each
 * node, whose address the node then gives to all its clients, inside as well. Turned on and off without a restart.
 */
export interface ExternalReach {
  /**
   * Type of the Services. With `NodePort` a node's address is that of the machine it runs on, and of a cluster the
   * servers must be Valkey 9.1.
   */
  readonly type: "LoadBalancer" | "NodePort";
  /** Annotations of the Services, for the controller of load balancers. @default none */
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  /**
   * Blocks of addresses from which load balancers take connections; of a cluster with those of pods and machines, where
   * clients are inside as well. @default any
   */
  readonly sourceRanges?: readonly string[] | undefined;
}

export interface Metrics {
  /** Image of oliver006/redis_exporter. @default `EXPORTER_IMAGE` */
  readonly image?: string | undefined;
  /** Whether there is a ServiceMonitor, whose kind the Prometheus operator knows. @default false */
  readonly serviceMonitor?: boolean | undefined;
}

export interface Tls {
  /**
   * Secret in the namespace with `tls.crt`, `tls.key` and `ca.crt`, for the client Service and every pod's DNS name.
   * Servers load a new certificate without a restart.
   */
  readonly secretName: string;
}

/** Exactly one of the two. */
export interface TlsSource {
  /** Name of the Secret, as in `Tls`. */
  readonly secretName?: string | undefined;
  /** Issuer of cert-manager, which must be installed: it writes the Secret `NAME-tls` and renews it. */
  readonly issuer?: CertificateIssuer | undefined;
}

export interface CertificateIssuer {
  readonly name: string;
  /** @default "Issuer", one of the namespace */
  readonly kind?: "Issuer" | "ClusterIssuer" | undefined;
}
