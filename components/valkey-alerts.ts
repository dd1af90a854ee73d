import * as pulumi from "@pulumi/pulumi";
import { alertRules } from "./alert-rules";
import * as k8s from "./kubernetes/kubernetes-sdk";

export interface ValkeyAlertsArgs {
  /** Namespace of the servers. The servers need `metrics`, and a Prometheus must scrape them. */
  readonly namespace: pulumi.Input<string>;
  /**
   * Labels by which the Prometheus operator finds the PrometheusRule.
   * @default none, which is enough if the operator selects every PrometheusRule
   */
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

/**
 * A PrometheusRule with the name of the component, in the servers' namespace. It alerts when a node is down, a replica
 * lags or has no link to its primary, no node serves some slots, memory is near its limit, keys are evicted, or a save
 * failed. A deployment with a controller also has alerts for vanished data, for a verification that fails or is missing,
 * and for a certificate that expires soon. A deployment with a backup has alerts for data that do not reach the bucket,
 * and for drills that do not pass. The Kubernetes cluster must have the Prometheus operator's PrometheusRule CRD.
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
