/**
 * Whether a Kubernetes cluster that exists can hold the stack, and its chart is to be had: seen at preview already, where they can be asked,
 * and before anything is made in it. It is asked again only when what is needed of it changes.
 */
import * as pulumi from "@pulumi/pulumi";
import type { KubernetesRequirements } from "../../platforms/kubernetes/requirements";
import { dynamicResource } from "../dynamic-resource";
import type { ChartSource } from "../../platforms/kubernetes/chart-check";

export interface ClusterCheckInputs {
  /** Path. @default KUBECONFIG, else ~/.kube/config */
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  readonly needs: KubernetesRequirements;
  /** Where replication deployments come from; undefined where there are none. */
  readonly chart?: ChartSource | undefined;
  /** `PROJECT/STACK` */
  readonly stack: string;
  /** Whether the namespace outlives the stack, with the volumes in it. */
  readonly keepsNamespace: boolean;
}

export class ClusterCheck extends pulumi.dynamic.Resource {
  constructor(name: string, args: ClusterCheckInputs, options: pulumi.CustomResourceOptions = {}) {
    super(dynamicResource("cluster-check"), name, { ...args }, options, "valkey", "ClusterCheck");
  }
}
