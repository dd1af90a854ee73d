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
 * A PrometheusRule with the name of the component, in the servers' namespace. It alerts on a node that is down, a
 * replica that has no link to its primary or lags behind, slots that no node serves, memory near its limit, evictions,
 * and a save that failed. If deployments have controllers, it also alerts on data that vanished, a deployment that fails
 * verification or is no longer verified, and a certificate that expires soon. If deployments have a backup, it alerts when new data do
 * not reach the bucket, and when drills of the backup do not pass. The Kubernetes cluster must have the Prometheus
 * operator's PrometheusRule CRD.
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
