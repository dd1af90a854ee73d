/** Arguments of a whole deployment on Kubernetes, and their defaults. */
import * as pulumi from "@pulumi/pulumi";
import type { ExpectedTuning } from "../../../valkey/machine-settings";
import { DEFAULT_IMAGE } from "../../../platforms/kubernetes/default-images";
import { writesToDisk } from "../../../valkey/settings/settings";
import { canonicalQuantity } from "../../../platforms/kubernetes/api/quantity";
import { tlsSecretName } from "../names";
import type { ControllerArgs, Placement, Resources, SecretKey, ServerArgs, Storage, TlsSource } from "../arguments";

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
    Pick<
      ServerArgs,
      | "proxyImage"
      | "imagePullPolicy"
      | "imagePullSecrets"
      | "access"
      | "users"
      | "external"
      | "metrics"
      | "backup"
      | "restoreFrom"
      | "clusterDomain"
      | "onSilentReplica"
    >,
    Partial<Pick<ServerArgs, "settings">> {
  /**
   * The pod `NAME-controller`, which verifies the deployment between updates and repairs it. `false` means no
   * controller. With a controller, the Pulumi program needs the right to create ClusterRoles.
   * @default a controller with the defaults of its arguments
   */
  readonly controller?: boolean | ControllerArgs | undefined;
  /** Whether a `maxmemory` is allowed that does not fit into the pod's memory limit. @default false */
  readonly oversubscribed?: boolean | undefined;
  /**
   * Names of directives in `settings` that a newer Valkey knows, but this package does not. Other unknown directives
   * are refused.
   * @default none
   */
  readonly newerDirectives?: readonly string[] | undefined;
  /** Namespace of the deployment. It must exist. @default "default" */
  readonly namespace?: pulumi.Input<string> | undefined;
  /**
   * Zones of the servers: values of `topology.kubernetes.io/zone`. Servers are spread evenly: the numbers of servers in
   * two zones differ by at most one.
   */
  readonly zones: readonly string[];
  /** Constraints on the machines, in addition to the zones. @default `preferred` anti-affinity, any machine */
  readonly placement?: Partial<Omit<Placement, "zones">> | undefined;
  /** Container image of the servers, `[REGISTRY/]REPOSITORY:TAG[@DIGEST]`. @default DEFAULT_IMAGE */
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
  /** Change this number to generate a new password. It has an effect only if `password` is not given. @default 0 */
  readonly passwordVersion?: number | undefined;
  /**
   * Seconds for which the former password stays valid after a new password is published, 90 to 3600.
   * @default 120
   */
  readonly passwordOverlapSeconds?: number | undefined;
  /** TLS for all connections: between clients and servers, and between servers. @default plain TCP */
  readonly tls?: TlsSource | undefined;
  /**
   * Whether all servers may restart at the same time. Turning TLS on or off needs this permission. The servers keep
   * their data.
   * @default false: changes that need downtime are refused
   */
  readonly allowDowntime?: boolean | undefined;
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

/** A new password may reach pods up to 90 s after it was written to the Secret. Then clients read it and reconnect. */
export const DEFAULT_OVERLAP_SECONDS = 120;
export const DEFAULT_TIMEOUT_SECONDS = 600;
export const DEFAULT_RESOURCES: Resources = {
  requests: { cpu: "500m", memory: "1Gi" },
  limits: { cpu: "2", memory: "1Gi" },
};

/** @throws BadInput unless `tls` names exactly one source of the certificate */
export function serverArgs(name: string, args: DeploymentArgs, password: pulumi.Input<string>): ServerArgs {
  const { namespace = "default", zones, placement, image = DEFAULT_IMAGE, settings = {}, resources, storage } = args;
  const { onSilentReplica, proxyImage, imagePullPolicy, imagePullSecrets, access, users } = args;
  const { external, metrics, backup, restoreFrom, tls, clusterDomain } = args;
  return {
    namespace,
    image,
    password,
    settings,
    onSilentReplica,
    resources: resources ?? DEFAULT_RESOURCES,
    storage: { onDestroy: "delete", ...storage, size: canonicalSize(storage?.size ?? "8Gi") },
    placement: { hostAntiAffinity: "preferred", ...placement, zones },
    proxyImage,
    imagePullPolicy,
    imagePullSecrets,
    access,
    users,
    external,
    metrics,
    controller: controllerOf(args),
    backup,
    restoreFrom,
    tls: tls === undefined ? undefined : { secretName: tlsSecretName(name, tls) },
    clusterDomain,
  };
}

export function controllerOf({ controller = true }: Pick<DeploymentArgs, "controller">): ControllerArgs | undefined {
  if (controller === false) return undefined;
  return controller === true ? {} : controller;
}

/** Whether a server that restarts has data on its volume: an append-only file or a snapshot. */
export function keepsData({ settings = {}, storage }: Pick<DeploymentArgs, "settings" | "storage">): boolean {
  return storage?.ephemeral !== true && writesToDisk(settings);
}

/** The size in a canonical form, because a different text for the same size must not change the StatefulSet. */
function canonicalSize(size: pulumi.Input<string>): pulumi.Input<string> {
  return typeof size === "string" ? canonicalQuantity(size) : pulumi.output(size).apply(canonicalQuantity);
}
