import type { types } from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import type { ServerArgs } from "./arguments";
import { type ObjectNames, objectLabels } from "./names";
import { checksum } from "../../lib/checksum";
import type { Mode } from "../../valkey/node";
import type { SentinelSettings } from "../../valkey/sentinel-config";
import type { Engine } from "../../valkey/settings/engines";
import type { Shape } from "../../valkey/topology/placement";

export interface DeploymentContext {
  readonly deployment: string;
  readonly names: ObjectNames;
  readonly args: ServerArgs;
  readonly options: pulumi.CustomResourceOptions;
}

/**
 * Pulumi waits only until an object exists, because `Rollout` waits for its pods, and for deletions. It overwrites
 * without a conflict what `Rollout` or a different writer has changed.
 */
export const ENGINE_ANNOTATIONS = {
  "pulumi.com/waitFor": "jsonpath={.metadata.uid}",
  "pulumi.com/patchForce": "true",
};

/** Revision of the pods: a checksum that changes with the pod template. */
export function podRevision(made: pulumi.Input<unknown>): pulumi.Output<string> {
  return pulumi.jsonStringify(made).apply(checksum);
}

export function objectMetadata(
  { deployment, args }: DeploymentContext,
  name: string,
  component?: string,
): types.input.meta.v1.ObjectMeta & { name: string } {
  return {
    name,
    namespace: args.namespace,
    labels: {
      ...objectLabels(deployment),
      ...(component === undefined ? {} : { "app.kubernetes.io/component": component }),
    },
  };
}

/** Engine and topology of a deployment, and whether this project or the upstream chart creates its pods. */
export interface DeploymentKind {
  /** Engine of the servers. @default "valkey" */
  readonly engine?: Engine | undefined;
  /** Whether the upstream chart creates the pods. @default false */
  readonly isUpstreamChart?: boolean | undefined;
  readonly mode: Mode;
  readonly shape: Shape;
  /** Sentinels that promote a replica, in replication mode. @default no Sentinels */
  readonly sentinel?: SentinelSettings | undefined;
}
