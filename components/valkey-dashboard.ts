/** A Grafana dashboard of the servers of a namespace. */
import * as pulumi from "@pulumi/pulumi";
import { createConfigMap } from "./kubernetes/files";

/** Label that the sidecar of Grafana's chart selects by. */
const SIDECAR_LABELS = { grafana_dashboard: "1" };

export interface ValkeyDashboardArgs {
  /** Namespace of the servers whose metrics are drawn. They need `metrics`, and a Prometheus that scrapes them. */
  readonly namespace: pulumi.Input<string>;
  /** Namespace of the ConfigMap, for a Grafana whose sidecar watches only its own namespace. @default `namespace` */
  readonly configMapNamespace?: pulumi.Input<string> | undefined;
  /** Heading of the dashboard. @default `Valkey: NAMESPACE` */
  readonly title?: pulumi.Input<string> | undefined;
  /** Labels by which Grafana's sidecar finds the ConfigMap. @default `grafana_dashboard: "1"` */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** Annotations of the ConfigMap, such as the folder for Grafana's sidecar. @default none */
  readonly annotations?: Readonly<Record<string, string>> | undefined;
}

/**
 * A ConfigMap with the name of the component, which Grafana's sidecar loads. It draws operations, latency, memory, hits,
 * replication and clients of the servers, and the figures of measurements that were pushed to the same Prometheus.
 *
 * @example
 * new ValkeyDashboard("orders-dashboard", { namespace: "shop" });
 */
export class ValkeyDashboard extends pulumi.ComponentResource {
  /** The dashboard as Grafana imports it, JSON. */
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
