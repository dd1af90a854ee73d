/** Arguments that decide which resources exist have plain types; others are `Input`s. */
import type * as pulumi from "@pulumi/pulumi";
import type { CONTROLLER_FIELDS, DEPLOYMENT_FIELDS, VALKEY_FIELDS } from "../../model/deployment";
import type { Fields } from "../../model/fields";
import type { Metrics, POD_FIELDS, VALKEY_POD_FIELDS } from "../../model/pods";
import type { ExpectedTuning } from "../../valkey/machine-settings";
import type { Engine } from "../../valkey/settings/engines";
import type { BackupArgs, RestoreFromArgs } from "./backup-arguments";
import type { NetworkPolicyPeer, Toleration } from "./kubernetes-types";
import type { ServerSettings } from "../../valkey/settings/settings";

/** Access to the Kubernetes cluster. The provider reaches the pods through port-forwards of the API server. */
export interface ClusterAccess {
  /**
   * Path of a kubeconfig, or its text, which must not contain secrets.
   * @default the path in KUBECONFIG, else ~/.kube/config
   */
  readonly kubeconfig?: pulumi.Input<string> | undefined;
  /** Context of the kubeconfig. @default the current context */
  readonly context?: string | undefined;
}

/**
 * Arguments of a deployment. Plain values decide which objects exist; `Input`s may come from other resources. The
 * Kubernetes provider in the component's options and `kubeconfig` must refer to the same Kubernetes cluster.
 */
export interface DeploymentArgs
  extends
    ClusterAccess,
    Fields<typeof DEPLOYMENT_FIELDS>,
    Fields<typeof VALKEY_FIELDS>,
    Fields<typeof POD_FIELDS>,
    Fields<typeof VALKEY_POD_FIELDS> {
  /** Users besides `default`, by name. @default none */
  readonly users?: UserArgs | undefined;
  /**
   * Directives of valkey.conf by name, except the directives that the deployment sets itself. Sizes are in bytes. The
   * section `settings` of a stack file takes the same names (docs/configuration.md).
   */
  readonly settings?: ServerSettings | undefined;
  readonly access?: NetworkAccess | undefined;
  /** Metrics exporter for Prometheus, as a sidecar of every server. @default none */
  readonly metrics?: Metrics | undefined;
  /** Backup to an S3 bucket. @default none */
  readonly backup?: BackupArgs | undefined;
  /** Archive whose data a new deployment gets. @default none: a new deployment is empty */
  readonly restoreFrom?: RestoreFromArgs | undefined;
  /** Domain at the end of all DNS names in the Kubernetes cluster. @default "cluster.local" */
  readonly clusterDomain?: string | undefined;
  /**
   * The pod `NAME-controller`, which verifies the deployment between updates and repairs it. `false` means no
   * controller. With a controller, the Pulumi program needs the right to create ClusterRoles.
   * @default a controller with the defaults of its arguments
   */
  readonly controller?: boolean | ControllerArgs | undefined;
  /** Namespace of the deployment. It must exist. @default "default" */
  readonly namespace?: pulumi.Input<string> | undefined;
  /**
   * Zones of the servers: values of `topology.kubernetes.io/zone`. Servers are spread evenly: the numbers of servers in
   * two zones differ by at most one.
   */
  readonly zones: readonly string[];
  /** Constraints on the machines, in addition to the zones. @default `preferred` anti-affinity, any machine */
  readonly placement?: Partial<Omit<Placement, "zones">> | undefined;
  /**
   * Container image of the servers, `[REGISTRY/]REPOSITORY:TAG[@DIGEST]`. It must contain sh, timeout, and the engine's
   * server and client.
   * @default DEFAULT_IMAGE
   */
  readonly image?: string | undefined;
  /**
   * Password of the user `default`, at least 16 characters. Secret. After a change the old and the new password are
   * valid for `passwordOverlapSeconds`. No server restarts.
   * @default 48 hexadecimal digits, made once and kept in the state
   */
  readonly password?: pulumi.Input<string> | undefined;
  /**
   * Existing Kubernetes Secret with the password of the user `default`. It replaces `password` and `passwordVersion`.
   * Each update reads this Secret again. If its password has changed, the servers get the new password.
   * @default none
   */
  readonly passwordSecret?: SecretKey | undefined;
  /** CPU and memory of each server. @default requests of 500m and 1Gi, limits of 2 and 1Gi */
  readonly resources?: Resources | undefined;
  /** Volume of each server. @default volumes of 8Gi in the default class, deleted with the deployment */
  readonly storage?: Partial<Storage> | undefined;
  /**
   * Time limit, seconds, for pods to start and for the servers to form a cluster or a primary with replicas.
   * @default 600
   */
  readonly timeoutSeconds?: number | undefined;
  /** Expected kernel settings of the machines. Verification fails if a machine differs. @default no expectations */
  readonly tuning?: ExpectedTuning | undefined;
  /** Change this number to verify the deployment again. @default 0 */
  readonly trigger?: number | undefined;
}

/** Arguments of a deployment's servers, with the defaults of the deployment. */
export interface ServerArgs extends Omit<DeploymentArgs, "zones" | keyof CompleteArgs>, CompleteArgs {}

interface CompleteArgs {
  /** Engine of the servers. @default "valkey" */
  readonly engine?: Engine | undefined;
  readonly namespace: pulumi.Input<string>;
  readonly image: string;
  readonly password: pulumi.Input<string>;
  /** Password of the user `admin` of Sentinels. Pods get it as a file of the Secret. @default no Sentinels */
  readonly sentinelPassword?: pulumi.Input<string> | undefined;
  readonly settings: ServerSettings;
  readonly resources: Resources;
  readonly storage: Storage;
  readonly placement: Placement;
  readonly controller?: ControllerArgs | undefined;
  readonly tls?: Tls | undefined;
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
  readonly tolerations?: readonly Toleration[] | undefined;
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
  readonly nodes?: readonly NetworkPolicyPeer[] | undefined;
  /** Peers that may connect to the servers' client port. @default every pod of the namespace */
  readonly clients?: readonly NetworkPolicyPeer[] | undefined;
  /**
   * Peers that may connect to the exporters' port.
   * @default every pod of every namespace, because the metrics are not secret
   */
  readonly monitoring?: readonly NetworkPolicyPeer[] | undefined;
}

/**
 * The controller, a small pod that verifies the deployment at intervals. It publishes metrics, creates Events and makes
 * repairs that are safe (docs/healing.md).
 */
export interface ControllerArgs extends Fields<typeof CONTROLLER_FIELDS> {
  /** Image with Node.js 20 or newer. @default `NODE_IMAGE` */
  readonly image?: string | undefined;
  /**
   * Ports of the API server to which the controller may connect. Some network plugins check the port of the API server
   * itself instead of the port of the Service `kubernetes`. With such a plugin, add this port, for example 8443 or
   * 16443.
   * @default [443, 6443]
   */
  readonly apiServerPorts?: readonly number[] | undefined;
}

export interface Tls {
  /** Name of the Secret with the certificate. */
  readonly secretName: string;
}
