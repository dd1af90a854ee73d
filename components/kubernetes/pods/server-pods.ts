import * as pulumi from "@pulumi/pulumi";
import { CLUSTER_DOMAIN } from "../../../platforms/kubernetes/api/cluster-domain";
import type { DeploymentContext } from "../deployment-context";
import { CLIENT_PORT, SERVER_CONTAINER } from "../layout";
import { selectorLabels } from "../names";
import { PASSWORD_FILE } from "../server-config";

export interface ServerPods {
  readonly namespace: pulumi.Output<string>;
  /** Its pods are `NAME-0` … `NAME-(count − 1)`. */
  readonly statefulSet: string;
  readonly count: number;
  readonly selector: Readonly<Record<string, string>>;
  readonly container: string;
  readonly port: number;
  /** A pod's host name is `POD.SERVICE`. */
  readonly headless: string;
  readonly secret: { readonly name: string; readonly key: string };
  readonly zones: readonly string[];
}

export function serverPods({ deployment, names, args }: DeploymentContext, count: number): ServerPods {
  return {
    namespace: pulumi.output(args.namespace),
    statefulSet: names.statefulSet,
    count,
    selector: selectorLabels(deployment),
    container: SERVER_CONTAINER,
    port: CLIENT_PORT,
    headless: names.headless,
    secret: { name: names.secret, key: PASSWORD_FILE },
    zones: args.placement.zones,
  };
}

export function serviceHost(service: string, { args }: DeploymentContext): pulumi.Output<string> {
  return pulumi.interpolate`${service}.${args.namespace}.svc.${args.clusterDomain ?? CLUSTER_DOMAIN}`;
}

/** `HOST:PORT` of a Service, for clients in the Kubernetes cluster. */
export function serviceEndpoint(service: string, context: DeploymentContext): pulumi.Output<string> {
  return pulumi.interpolate`${serviceHost(service, context)}:${CLIENT_PORT}`;
}
