/** Alerts on the servers of a namespace, for the Prometheus operator. */
import * as pulumi from "@pulumi/pulumi";
import { alertRules } from "./alert-rules";
import * as k8s from "./kubernetes/kubernetes-sdk";

export interface ValkeyAlertsArgs {
  /** Namespace of the servers. They need `metrics`, and a Prometheus that scrapes them. */
  readonly namespace: pulumi.Input<string>;
  /** Labels by which the operator finds the PrometheusRule. @default none: Prometheus takes the rules of all labels */
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

/**
 * A PrometheusRule with the name of the component, in the servers' namespace: a node that is down, a replica without a
 * link or behind, slots that nobody serves, memory near its limit, evictions, a save that failed. The kind must be known
 * to the Kubernetes cluster.
 *
 * @example
 * new ValkeyAlerts("orders-alerts", { namespace: "shop", labels: { release: "prometheus" } });
 */
export class ValkeyAlerts extends pulumi.ComponentResource {
  constructor(name: string, { namespace, labels = {} }: ValkeyAlertsArgs, options?: pulumi.ComponentResourceOptions) {
    super("valkey:index:ValkeyAlerts", name, {}, options);
    new k8s.apiextensions.CustomResource(
      name,
      {
        apiVersion: "monitoring.coreos.com/v1",
        kind: "PrometheusRule",
        metadata: { name, namespace, labels },
        spec: { groups: [{ name: "valkey", rules: pulumi.output(namespace).apply(alertRules) }] },
      },
      { parent: this },
    );
    this.registerOutputs({});
  }
}
