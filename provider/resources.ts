/** The custom resources of the provider `valkey`, as a Pulumi program declares them: inputs and outputs are those of their handlers. */
import * as pulumi from "@pulumi/pulumi";
import type { AccessInputs, AccessOutputs } from "./handlers/access";
import type { ClusterCheckInputs } from "./handlers/checks/cluster-check";
import type { ExternalAddressesInputs, ExternalAddressesOutputs } from "./handlers/external-addresses";
import type { FormationInputs, FormationOutputs } from "./handlers/formation";
import type { HostServersInputs, HostServersOutputs } from "./handlers/host-servers";
import type { ImageCheckInputs } from "./handlers/checks/image-check";
import type { MaxmemoryInputs } from "./handlers/maxmemory";
import type { MeasurementInputs, MeasurementOutputs } from "./handlers/measurement";
import type { PasswordInputs, PasswordOutputs } from "./handlers/password";
import type { PasswordRetirementInputs } from "./handlers/password-retirement";
import type { RolloutInputs, RolloutOutputs } from "./handlers/rollout";
import type { ScaleInInputs, ScaleInOutputs } from "./handlers/scale-in";
import type { SettingsInputs, SettingsOutputs } from "./handlers/settings";
import type { TlsCheckInputs, TlsCheckOutputs } from "./handlers/checks/tls-check";
import type {
  DeploymentVerificationInputs,
  DeploymentVerificationOutputs,
} from "./handlers/checks/deployment-verification";
import type { VolumeDeletionWaitInputs } from "./handlers/volume-deletion-wait";
import type { VolumesInputs } from "./handlers/volumes";
import type { ResourceName } from "./kinds";
import { resourceType } from "./kinds";
import { withPackageVersion } from "./package-version";

/** A resource's inputs as a program gives them: other resources may have yet to produce the values. */
type InputsOf<T> = { readonly [K in keyof T]: pulumi.Input<T[K]> };
type OutputsOf<T> = { readonly [K in keyof T]-?: pulumi.Output<T[K]> };

/** Class of a custom resource. Its outputs are its inputs and what the handler adds. */
type ResourceClass<Inputs, Outputs> = new (
  name: string,
  inputs: InputsOf<Inputs>,
  options?: pulumi.CustomResourceOptions,
) => pulumi.CustomResource & OutputsOf<Inputs & Outputs>;

/**
 * @param outputs a key for each output that the handler adds
 * @param secrets those that the state keeps as secrets
 */
function resource<Inputs extends object, Outputs = object>(
  kind: ResourceName,
  outputs: { readonly [K in keyof Outputs]-?: undefined },
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

/** Generated once for each version, 48 hexadecimal digits, and kept in the state as a secret. */
export const Password = resource<PasswordInputs, PasswordOutputs>("Password", { password: undefined }, ["password"]);

/**
 * Whether an existing Kubernetes cluster can hold the stack: checked in previews where the cluster answers, and before anything is
 * created. Checked again when an input changes.
 */
export const ClusterCheck = resource<ClusterCheckInputs>("ClusterCheck", {});

/**
 * valkey-server processes on this machine. They outlive the engine and share one directory per deployment. Another shape is an update:
 * processes start, or lose their slots and stop, while the others serve.
 */
export const HostServers = resource<HostServersInputs, HostServersOutputs>("HostServers", {
  target: undefined,
  version: undefined,
  directory: undefined,
});

/**
 * Updated before everything else of a deployment: all nodes then accept new passwords beside the former ones, and the rules of users
 * hold. Rules that a server refuses fail the update before anything has changed.
 */
export const Access = resource<AccessInputs, AccessOutputs>("Access", { changedAt: undefined, drift: undefined });

/**
 * Updated before anything else of a deployment. Another image is run in a pod of its own: an update fails before anything has changed
 * where the image cannot be pulled, is not Valkey, or is of a version that cannot read the data. Where the tags tell the last,
 * previews refuse it too.
 */
export const ImageCheck = resource<ImageCheckInputs>("ImageCheck", {});

/**
 * Waits until the Secret of TLS exists, and fails where servers could not use it. Previews refuse such a Secret when it exists, and
 * switching TLS on or off under clients.
 */
export const TlsCheck = resource<TlsCheckInputs, TlsCheckOutputs>("TlsCheck", { secret: undefined });

/**
 * Updated before the servers. A smaller shape is carried out here, while all nodes run: the leaving nodes lose their slots before
 * Kubernetes deletes their pods. Sentinels that leave stop here.
 */
export const ScaleIn = resource<ScaleInInputs, ScaleInOutputs>("ScaleIn", { emptiedAt: undefined });

/**
 * Updated before the servers' files. Running servers are told what they take without a restart, all of them or none; a value that a
 * server refuses fails the update before anything has changed.
 */
export const Settings = resource<SettingsInputs, SettingsOutputs>("Settings", { pending: undefined, drift: undefined });

/**
 * Updated before the servers: volumes grow, and the StatefulSet, which cannot be told, is made again around its pods. A change that
 * would lose data is refused, in previews too.
 */
export const Volumes = resource<VolumesInputs>("Volumes", {});

/**
 * Done when all pods run the StatefulSet's newest revision and are ready. It replaces Pulumi's own waiting, which does not say why pods
 * do not run.
 */
export const Rollout = resource<RolloutInputs, RolloutOutputs>("Rollout", {
  rolledOutAt: undefined,
  unfinished: undefined,
});

/** Updated after the roll-out: servers use more memory only in pods that have it. `Settings` lowers maxmemory before the roll-out. */
export const Maxmemory = resource<MaxmemoryInputs>("Maxmemory", {});

/** Done when the Services have addresses and the nodes of a cluster give them to clients. */
export const ExternalAddresses = resource<ExternalAddressesInputs, ExternalAddressesOutputs>("ExternalAddresses", {
  endpoints: undefined,
  files: undefined,
  drift: undefined,
});

/** Done when every node agrees on the topology and every replica's link to its primary is up. */
export const Formation = resource<FormationInputs, FormationOutputs>("Formation", {
  milliseconds: undefined,
  drift: undefined,
});

/**
 * Updated after the servers' files. Waits while two passwords are valid, and then has servers refuse the former one. An update that is
 * interrupted meanwhile waits again.
 */
export const PasswordRetirement = resource<PasswordRetirementInputs>("PasswordRetirement", {});

/** Fails the update when the verdict is FAIL. A PASS is kept in the state until an input changes. */
export const DeploymentVerification = resource<DeploymentVerificationInputs, DeploymentVerificationOutputs>(
  "DeploymentVerification",
  {
    topology: undefined,
    data: undefined,
    verifiedAt: undefined,
    drift: undefined,
  },
);

/** Measured once and kept in the state; measured again when an input changes. */
export const Measurement = resource<MeasurementInputs, MeasurementOutputs>("Measurement", {
  results: undefined,
  comparison: undefined,
  summary: undefined,
  report: undefined,
});

/**
 * Declared between a Kubernetes cluster and the namespace. It waits when both are destroyed: a claim goes before its volume, and the
 * cluster runs the controller that deletes the volume.
 */
export const VolumeDeletionWait = resource<VolumeDeletionWaitInputs>("VolumeDeletionWait", {});
