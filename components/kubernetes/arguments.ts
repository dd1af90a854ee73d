/** Arguments that decide which resources exist have plain types; others are `Input`s. */
import type * as pulumi from "@pulumi/pulumi";
import type { types } from "@pulumi/kubernetes";
import type { OnLostMajority } from "../../controller/pod-settings";
import type { Engine } from "../../valkey/settings/engines";
import type { BackupArgs, RestoreFromArgs } from "./backup-arguments";
import type { ServerSettings } from "../../valkey/settings/settings";

export interface ServerArgs {
  readonly namespace: pulumi.Input<string>;
  /** Engine of the servers. @default "valkey" */
  readonly engine?: Engine | undefined;
  /**
   * Image of the servers, `[REGISTRY/]REPOSITORY:TAG[@DIGEST]`. It must contain sh, timeout, and the engine's server
   * and client. checkov's rule CKV_K8S_43 asks for a digest. There is no default digest, because a copy of the image in
   * a different registry may have a different digest. Set the digest in the stack.
   */
  readonly image: string;
  /**
   * When machines ask the registry for the image: at every start of a container (`Always`), or only if they do not have
   * the image (`IfNotPresent`). With `IfNotPresent`, servers may run different images after somebody has pushed a new
   * image with the same tag. So use `IfNotPresent` with a tag only for images that were loaded onto the machines by
   * hand (CKV_K8S_15, a rule of the scanner checkov).
   * @default "IfNotPresent" for an image with a digest, else "Always"
   */
  readonly imagePullPolicy?: PullPolicy | undefined;
  /**
   * Names of Secrets in the namespace, of the type `kubernetes.io/dockerconfigjson`, with the credentials for the
   * registries of all images.
   * @default none
   */
  readonly imagePullSecrets?: readonly string[] | undefined;
  /**
   * Password of the user `default`, with which clients and nodes log in. If the password changes, the resource `Access`
   * first sets the new password on running servers. After that, the pods get the new password.
   */
  readonly password: pulumi.Input<string>;
  /**
   * Time for which a starting primary waits for a silent replica, which may have newer data. `"wait"`: until the
   * replica answers. A number: seconds, 1 to 86400. After that the primary starts with its own data, or lets the best
   * replica that answers take over (docs/failures.md).
   * @default 60; without an append-only file `"wait"`, unless a replica answers that has had a primary since it started
   */
  readonly onSilentReplica?: "wait" | number | undefined;
  /** Password of the user `admin` of Sentinels. Pods get it as a file of the Secret. @default no Sentinels */
  readonly sentinelPassword?: pulumi.Input<string> | undefined;
  /** Users besides `default`, by name. @default none */
  readonly users?: UserArgs | undefined;
  /**
   * Directives of valkey.conf by name, except the directives that the deployment sets itself. Sizes are in bytes. The
   * section `settings` of a stack file takes the same names (docs/configuration.md).
   */
  readonly settings: ServerSettings;
  readonly resources: Resources;
  readonly storage: Storage;
  readonly placement: Placement;
  /**
   * Image for the proxies in front of a primary with Sentinels. It must contain HAProxy 3.1 or newer with Lua, like the
   * official images of HAProxy.
   * @default `PROXY_IMAGE`
   */
  readonly proxyImage?: string | undefined;
  readonly access?: NetworkAccess | undefined;
  /** Access for clients outside the Kubernetes cluster. @default none */
  readonly external?: ExternalReach | undefined;
  /** Metrics exporter for Prometheus, as a sidecar of every server. @default none */
  readonly metrics?: Metrics | undefined;
  /** A pod that verifies the deployment between updates, and repairs it. @default none */
  readonly controller?: ControllerArgs | undefined;
  /** Backup to an S3 bucket. @default none */
  readonly backup?: BackupArgs | undefined;
  /** Archive whose data a new deployment gets. @default none: a new deployment is empty */
  readonly restoreFrom?: RestoreFromArgs | undefined;
  /** TLS for all connections, with a certificate from a Secret or from cert-manager. @default plain TCP */
  readonly tls?: Tls | undefined;
  /** Domain at the end of all DNS names in the Kubernetes cluster. @default "cluster.local" */
  readonly clusterDomain?: string | undefined;
}

/** One value in a Kubernetes Secret. */
export interface SecretKey {
  /** Name of a Secret in the deployment's namespace. */
  readonly name: pulumi.Input<string>;
  /** Key under `data` of the Secret. */
  readonly key: string;
}

/** Users by name, without the user `default`. */
export type UserArgs = pulumi.Input<Readonly<Record<string, UserArg>>>;

interface UserArg {
  /** Rules of ACL SETUSER for commands, keys and channels, such as `+@read ~app:*`. */
  readonly rules: pulumi.Input<string>;
  /**
   * Password of at least 16 characters. Secret. After a change the old and the new password are valid for
   * `passwordOverlapSeconds`.
   */
  readonly password: pulumi.Input<string>;
}

export type PullPolicy = "Always" | "IfNotPresent";

/** CPU and memory of the server's container, as Kubernetes quantities such as `"1"`, `"500m"` and `"12Gi"`. */
export interface Resources {
  readonly requests: { readonly cpu: pulumi.Input<string>; readonly memory: pulumi.Input<string> };
  /**
   * Limits of CPU and memory. If the limits equal the requests, the pod gets the quality-of-service class Guaranteed.
   */
  readonly limits: { readonly cpu: pulumi.Input<string>; readonly memory: pulumi.Input<string> };
}

/**
 * One volume for each server. The volume contains the data set. In a cluster it also contains nodes.conf, the file in
 * which a server stores what it knows about the other servers. Volumes can grow while servers run. A smaller size and a
 * different storage class are refused.
 */
export interface Storage {
  /**
   * Whether the data is on the machine's disk instead of a volume. With `true`, the data is lost when the pod is
   * deleted.
   * @default false
   */
  readonly ephemeral?: boolean | undefined;
  /** Name of a storage class. @default the Kubernetes cluster's default class */
  readonly className?: pulumi.Input<string> | undefined;
  /**
   * Size of each volume as a Kubernetes quantity, such as `"20Gi"`. A larger size grows the volumes of running servers.
   */
  readonly size: pulumi.Input<string>;
  /** Whether the volumes are kept when the deployment is destroyed. Volumes of removed servers are always deleted. */
  readonly onDestroy: "keep" | "delete";
}

export interface Placement {
  /**
   * Zones of the servers: values of `topology.kubernetes.io/zone`. Servers are spread evenly: the numbers of servers in
   * two zones differ by at most one.
   */
  readonly zones: readonly string[];
  /**
   * Whether an autoscaler such as Karpenter starts machines for the deployment's pods only. With `true`, the first
   * zones in `zones` get the additional servers if the number of servers is not a multiple of the number of zones.
   * @default false
   */
  readonly ownMachines?: boolean | undefined;
  /**
   * Whether servers of the deployment may share a machine. `required`: they never share a machine. `preferred`: two
   * servers share a machine only if no other machine can take the second one. `none`: servers may always share a
   * machine.
   */
  readonly hostAntiAffinity: "required" | "preferred" | "none";
  /**
   * Whether all servers of the deployment run on one machine. If true, `hostAntiAffinity` has no effect, and `zones`
   * must have exactly one zone.
   * @default false
   */
  readonly oneMachine?: boolean | undefined;
  /** Labels that machines must have. */
  readonly nodeSelector?: Readonly<Record<string, string>> | undefined;
  readonly tolerations?: readonly types.input.core.v1.Toleration[] | undefined;
}

/**
 * Peers that may connect to the deployment. These rules have an effect only if the network plugin enforces
 * NetworkPolicy.
 */
export interface NetworkAccess {
  /**
   * Peers that may connect to all ports of the servers.
   * @default the deployment's servers, Sentinels and proxies
   */
  readonly nodes?: readonly types.input.networking.v1.NetworkPolicyPeer[] | undefined;
  /** Peers that may connect to the servers' client port. @default every pod of the namespace */
  readonly clients?: readonly types.input.networking.v1.NetworkPolicyPeer[] | undefined;
  /**
   * Peers that may connect to the exporters' port.
   * @default every pod of every namespace, because the metrics are not secret
   */
  readonly monitoring?: readonly types.input.networking.v1.NetworkPolicyPeer[] | undefined;
}

/**
 * Services for clients outside the Kubernetes cluster. In replication mode there is one Service for the primary and one
 * for reads. In cluster mode each server has its own Service, and announces the address of this Service to all clients,
 * also to clients inside the Kubernetes cluster. Adding or removing the Services needs no restart.
 */
export interface ExternalReach {
  /**
   * Type of the Services. With `NodePort`, clients reach a server at the address of the machine on which it runs. In
   * cluster mode, `NodePort` needs Valkey 9.1.
   */
  readonly type: "LoadBalancer" | "NodePort";
  /** Annotations of the Services. The Kubernetes controller that creates load balancers reads them. @default none */
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  /**
   * CIDR blocks from which load balancers accept connections. In cluster mode clients inside the Kubernetes cluster use
   * the load balancers too. If clients run inside the Kubernetes cluster, include the addresses of pods and machines.
   * @default any
   */
  readonly sourceRanges?: readonly string[] | undefined;
}

export interface Metrics {
  /** Image of oliver006/redis_exporter. @default `EXPORTER_IMAGE` */
  readonly image?: string | undefined;
  /** Whether a ServiceMonitor is created. A ServiceMonitor needs the Prometheus operator. @default false */
  readonly serviceMonitor?: boolean | undefined;
}

/**
 * The controller, a small pod that verifies the deployment at intervals. It publishes metrics, creates Events and makes
 * repairs that are safe (docs/healing.md).
 */
export interface ControllerArgs {
  /** Image with Node.js 20 or newer. @default `NODE_IMAGE` */
  readonly image?: string | undefined;
  /** Seconds between two verifications while the verdict is PASS, from 5 to 120. @default 30 */
  readonly everySeconds?: number | undefined;
  /** Whether the controller repairs the deployment. With `false`, it only reports what it finds. @default true */
  readonly repair?: boolean | undefined;
  /**
   * Reaction when a shard of a cluster has lost its primary and cannot elect a replica. `report`: an Event tells which
   * command to run. `takeover`: if the primary's machine is known to be off, the replica with the greatest offset takes
   * over. Writes that this replica has not received are lost. `takeover` needs volumes and an append-only file or
   * snapshots.
   * @default "report"
   */
  readonly onLostMajority?: OnLostMajority | undefined;
  /**
   * Seconds after which the controller replaces the pods of a machine that does not come back, 60 to 86400. A volume
   * that only this machine can use is deleted. The controller replaces one pod at a time, and only while the other
   * servers have all data (docs/lost-machines.md). Needs `repair: true` and replicas.
   * @default pods of lost machines are not replaced
   */
  readonly replaceLostMachinesAfterSeconds?: number | undefined;
  /**
   * Whether the controller restores the configured value of a setting that somebody changed by hand. It restores only
   * settings that servers take without a restart. Needs `repair: true`.
   * @default false
   */
  readonly repairSettings?: boolean | undefined;
  /**
   * Ports of the API server to which the controller may connect. Some network plugins check the port of the API server
   * itself instead of the port of the Service `kubernetes`. With such a plugin, add this port, for example 8443 or
   * 16443.
   * @default [443, 6443]
   */
  readonly apiServerPorts?: readonly number[] | undefined;
}

export interface Tls {
  /**
   * Name of a Secret in the namespace with `tls.crt`, `tls.key` and `ca.crt`. The certificate must be valid for the DNS
   * names of the client Service and of every pod. Servers load a new certificate without a restart.
   */
  readonly secretName: string;
}

/** Source of the servers' certificate. Set either `secretName` or `issuer`. */
export interface TlsSource {
  /**
   * Name of a Secret in the namespace with `tls.crt`, `tls.key` and `ca.crt`. The certificate must be valid for the DNS
   * names of the client Service and of every pod. Servers load a new certificate without a restart.
   */
  readonly secretName?: string | undefined;
  /**
   * Issuer of cert-manager, which must be installed. cert-manager writes the certificate to the Secret `NAME-tls` and
   * renews it.
   */
  readonly issuer?: CertificateIssuer | undefined;
}

export interface CertificateIssuer {
  readonly name: string;
  /**
   * Kind of the issuer. An `Issuer` is in the deployment's namespace. A `ClusterIssuer` serves all namespaces. @default
   * "Issuer"
   */
  readonly kind?: "Issuer" | "ClusterIssuer" | undefined;
}
