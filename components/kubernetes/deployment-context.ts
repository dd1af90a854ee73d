/** What every function that creates an object of a deployment works from. */
import type { types } from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import type { ServerArgs } from "./arguments";
import type { ObjectNames } from "./names";
import { objectLabels } from "./names";
import { checksum } from "./server-config";

export interface DeploymentContext {
  readonly deployment: string;
  readonly names: ObjectNames;
  readonly args: ServerArgs;
  /** Of each object: its parent, and what it waits for. */
  readonly options: pulumi.CustomResourceOptions;
}

/** Whether pods run is for `Rollout` to say; that the object is there is enough. Its end is awaited all the same. */
export const AWAIT_CREATION_ONLY = { "pulumi.com/waitFor": "jsonpath={.metadata.uid}" };

/** Changes with what pods are made of. */
export function podRevision(made: pulumi.Input<unknown>): pulumi.Output<string> {
  return pulumi.jsonStringify(made).apply(checksum);
}

/** Name, namespace and labels of an object. */
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
