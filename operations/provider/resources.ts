/**
 * The custom resources of the provider `valkey`, for Pulumi programs to declare. Their inputs and outputs are the
 * inputs and outputs of their handlers.
 */
import * as pulumi from "@pulumi/pulumi";
import type { AccessInputs, AccessOutputs } from "../handlers/deployment/access";
import type { ArchiveCheckInputs } from "../handlers/restoring/archive-check";
import type { ClusterCheckInputs } from "../handlers/cluster-check";
import type { FormationInputs, FormationOutputs } from "../handlers/deployment/formation";
import type { HostRestoreInputs, HostRestoreOutputs } from "../handlers/restoring/host-restore";
import type { HostServersInputs, HostServersOutputs } from "../handlers/host-servers";
import type { MeasurementInputs, MeasurementOutputs } from "../handlers/measurement";
import type { PasswordInputs, PasswordOutputs } from "../handlers/password-generation";
import type { RestoreInputs, RestoreOutputs } from "../handlers/restoring/restore";
import type { PodCredentialsInputs } from "../handlers/pod-credentials";
import type { PreparationInputs, PreparationOutputs } from "../handlers/deployment/preparation";
import type { RolloutInputs, RolloutOutputs } from "../handlers/deployment/rollout";
import type {
  DeploymentVerificationInputs,
  DeploymentVerificationOutputs,
} from "../handlers/deployment/deployment-verification";
import type { VolumeDeletionWaitInputs } from "../handlers/volume-deletion-wait";
import { type ResourceName, resourceType } from "./kinds";
import { withPackageVersion } from "./package-version";

/** A resource's inputs in a program. A value may come from a resource that does not exist yet. */
type InputsOf<T> = { readonly [K in keyof T]: pulumi.Input<T[K]> };
type OutputsOf<T> = { readonly [K in keyof T]-?: pulumi.Output<T[K]> };

/** Class of a custom resource. Its outputs are its inputs and the outputs that the handler adds. */
type ResourceClass<Inputs, Outputs> = new (
  name: string,
  inputs: InputsOf<Inputs>,
  options?: pulumi.CustomResourceOptions,
) => pulumi.CustomResource & OutputsOf<Inputs & Outputs>;

/** @param outputs a property for each added output, none with the name of an input @param secrets outputs kept as secrets in the state */
function resource<Inputs extends object, Outputs = object>(
  kind: ResourceName,
  outputs: { readonly [K in keyof Outputs]-?: K extends keyof Inputs ? never : undefined },
  secrets: readonly (keyof Outputs & string)[] = [],
): ResourceClass<Inputs, Outputs> {
  const Resource = class extends pulumi.CustomResource {
    constructor(name: string, inputs: InputsOf<Inputs>, options: pulumi.CustomResourceOptions = {}) {
      const kept = secrets.length === 0 ? options : { ...options, additionalSecretOutputs: [...secrets] };
      super(resourceType(kind), name, withPackageVersion({ ...inputs, ...outputs }), kept);
    }
  };
  return Resource as unknown as ResourceClass<Inputs, Outputs>;
}

/** A password of 48 hexadecimal digits. It is generated once for each version, and kept in the state as a secret. */
export const Password = resource<PasswordInputs, PasswordOutputs>("Password", { password: undefined }, ["password"]);

/**
 * Check whether the stack can run on an existing Kubernetes cluster. The check runs in previews, if the cluster
 * answers, and before anything is created. The check runs again when an input changes.
 */
export const ClusterCheck = resource<ClusterCheckInputs>("ClusterCheck", {});

/**
 * valkey-server processes on this machine. The processes of one deployment share one directory and keep running after
 * Pulumi ends. A change of the shape is an update. New processes start, or surplus processes lose their slots and stop.
 * Meanwhile the remaining processes serve clients.
 */
export const HostServers = resource<HostServersInputs, HostServersOutputs>("HostServers", {
  target: undefined,
  version: undefined,
  directory: undefined,
});

/**
 * Users and passwords of a deployment. In a new deployment this resource does nothing, because servers read their first
 * users from the Secret. Pulumi updates this resource before everything else of the deployment. After that, all nodes
 * accept both the new and the former passwords, and users have their new rules. If a server refuses a rule, the update
 * fails before anything has changed.
 */
export const Access = resource<AccessInputs, AccessOutputs>("Access", { changedAt: undefined, drift: undefined });

/**
 * Preparation of a deployment, before its objects change. In a new deployment it only waits until the Secret of the
 * certificate exists. Pulumi updates it while all nodes still run. A failed check changes nothing, and previews make
 * the checks as well.
 *
 * - A pod runs a new image. An image is refused that cannot be pulled, is not Valkey, or cannot read the data.
 * - A certificate is refused that servers cannot use, and so is switching TLS on or off without `allowDowntime`.
 * - Nodes to remove lose their slots before Kubernetes deletes their pods. Sentinels to remove are stopped.
 * - Settings that servers accept while they run are set on all running servers or on none.
 * - Volumes grow. The size in a StatefulSet cannot be changed, so the StatefulSet is recreated while its pods keep
 *   running. A change that would lose data is refused.
 */
export const Preparation = resource<PreparationInputs, PreparationOutputs>("Preparation", {
  version: undefined,
  certificate: undefined,
  nodes: undefined,
  settings: undefined,
  volumes: undefined,
});

/**
 * Roll-out of the servers. The roll-out is complete when all pods run the StatefulSet's newest revision and are ready.
 * This resource replaces Pulumi's own waiting, which does not report why pods do not run. After the roll-out, servers
 * whose pods have a higher memory limit get a higher maxmemory. With `external` it waits until Services have addresses
 * and, in cluster mode, the nodes announce these addresses to clients.
 */
export const Rollout = resource<RolloutInputs, RolloutOutputs>("Rollout", {
  pods: undefined,
  memory: undefined,
  addresses: undefined,
});

/**
 * Formation of a deployment. The formation of a cluster is complete when all nodes agree on the topology and every
 * replica is linked to its primary. If passwords have changed, the update then waits for the time in which both
 * passwords are valid, and makes servers refuse the former passwords. If it is interrupted, the next update waits again.
 */
export const Formation = resource<FormationInputs, FormationOutputs>("Formation", {
  cluster: undefined,
  passwords: undefined,
});

/**
 * Check that an archive can be restored. Pulumi creates this resource before the servers. A pod reads the archive. If
 * the bucket refuses it, if the time is not in the archive, or if servers of the image cannot load the data, the update
 * fails before a server was created. If the servers exist already, this resource does nothing.
 */
export const ArchiveCheck = resource<ArchiveCheckInputs>("ArchiveCheck", {});

/**
 * Restore of archived data into a new deployment on Kubernetes. The resource is complete when every key of every server
 * equals the archive. A deployment that has data is refused. A later change of the inputs restores nothing.
 */
export const Restore = resource<RestoreInputs, RestoreOutputs>("Restore", {
  restored: undefined,
  owner: undefined,
});

/**
 * Data of a new deployment on this machine, from an archive. The resource is complete when every server has been
 * compared with the archive. Later changes of its inputs change no data. Servers that replace the former servers are
 * filled again.
 */
export const HostRestore = resource<HostRestoreInputs, HostRestoreOutputs>("HostRestore", {
  restoredAt: undefined,
  shards: undefined,
  keys: undefined,
  expired: undefined,
});

/**
 * Verification of a deployment. The update fails if the verdict is FAIL. The verdict PASS is valid until an input
 * changes.
 */
export const DeploymentVerification = resource<DeploymentVerificationInputs, DeploymentVerificationOutputs>(
  "DeploymentVerification",
  {
    topology: undefined,
    data: undefined,
    verifiedAt: undefined,
    drift: undefined,
  },
);

/**
 * A measurement. The state contains the results of the measurement. The measurement is repeated only when an input
 * changes.
 */
export const Measurement = resource<MeasurementInputs, MeasurementOutputs>("Measurement", {
  results: undefined,
  comparison: undefined,
  summary: undefined,
  report: undefined,
});

/**
 * The wait for the AWS credentials of pods. A pod that EKS admits before its Pod Identity association is in effect
 * never gets credentials. So this resource is declared between the service account and the pod.
 */
export const PodCredentials = resource<PodCredentialsInputs>("PodCredentials", {});

/**
 * The wait for the deletion of volumes. Kubernetes deletes a claim before its volume, and the controller that deletes
 * the volume runs in the Kubernetes cluster. So this resource is declared between the cluster and the namespace. When
 * the stack is destroyed, the cluster is deleted only after the volumes are gone.
 */
export const VolumeDeletionWait = resource<VolumeDeletionWaitInputs>("VolumeDeletionWait", {});
