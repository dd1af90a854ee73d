import * as pulumi from "@pulumi/pulumi";
import { createConfigMap } from "./kubernetes/files";

/** Label by which the sidecar of Grafana's Helm chart selects ConfigMaps. */
const SIDECAR_LABELS = { grafana_dashboard: "1" };

export interface ValkeyDashboardArgs {
  /** Namespace of the servers. The servers need `metrics`, and a Prometheus must scrape them. */
  readonly namespace: pulumi.Input<string>;
  /** Namespace of the ConfigMap. Set it if Grafana's sidecar watches only its own namespace. @default `namespace` */
  readonly configMapNamespace?: pulumi.Input<string> | undefined;
  /** Heading of the dashboard. @default `Valkey: NAMESPACE` */
  readonly title?: pulumi.Input<string> | undefined;
  /** Labels by which Grafana's sidecar finds the ConfigMap. @default `grafana_dashboard: "1"` */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** Annotations of the ConfigMap, such as the annotation with the folder for Grafana's sidecar. @default none */
  readonly annotations?: Readonly<Record<string, string>> | undefined;
}

/**
 * A Grafana dashboard in a ConfigMap with the name of the component. Grafana's sidecar loads it. The dashboard shows
 * operations, latency, memory, hits, replication and clients of the servers, and results of measurements that were
 * pushed to the same Prometheus.
 *
 * @example
 * new ValkeyDashboard("orders-dashboard", { namespace: "shop" });
 */
export class ValkeyDashboard extends pulumi.ComponentResource {
  /** The dashboard in the JSON format that Grafana imports. */
  readonly json: pulumi.Output<string>;

  constructor(name: string, args: ValkeyDashboardArgs, options?: pulumi.ComponentResourceOptions) {
    super("valkey:index:ValkeyDashboard", name, {}, options);
    const { namespace, configMapNamespace, title, labels = SIDECAR_LABELS, annotations = {} } = args;
    this.json = pulumi.all([namespace, title]).apply(async ([where, heading]) => {
      const { grafanaDashboard } = await import("./grafana-dashboard.js");
      return JSON.stringify(grafanaDashboard(where, heading));
    });
    const metadata = { name, namespace: configMapNamespace ?? namespace, labels, annotations };
    createConfigMap(name, metadata, { "valkey.json": this.json }, { parent: this });
    this.registerOutputs({ json: this.json });
  }
}
