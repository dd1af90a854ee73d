/**
 * Valkey in replication mode on Kubernetes: the upstream chart, with what it lacks around it. Pod 0 is the primary, for ever
 * where there are no Sentinels: the chart has no failover.
 */
import * as k8s from "./kubernetes/kubernetes-sdk";
import * as pulumi from "@pulumi/pulumi";
import type { SentinelSettings } from "../valkey/sentinel/plan";
import type { ServerArgs } from "./kubernetes/arguments";
import { chartValues } from "./kubernetes/replication/chart-values";
import { createConfigMap } from "./kubernetes/config-map";
import type { DeploymentContext } from "./kubernetes/deployment-context";
import { podRevision } from "./kubernetes/deployment-context";
import { CLIENT_PORT } from "./kubernetes/layout";
import { objectNames } from "./kubernetes/names";
import { createNetworkPolicy } from "./kubernetes/network-policy";
import { scriptFiles } from "./kubernetes/scripts";
import { createFailover } from "./kubernetes/replication/failover";
import { createSecret } from "./kubernetes/secret";
import { PASSWORD_FILE } from "./kubernetes/server-config";
import type { ServerPods } from "./kubernetes/pods/server-pods";
import { serverPods, serviceEndpoint } from "./kubernetes/pods/server-pods";
import { planZones } from "./kubernetes/pods/zone-plan";
import type { ChartSource } from "../platforms/kubernetes/chart-check";

/** The version whose values this component is written for. */
export const UPSTREAM_CHART: ChartSource = {
  from: "repository",
  url: "https://valkey.io/valkey-helm/",
  version: "0.11.0",
};

export interface ValkeyReplicationArgs extends ServerArgs {
  /** Besides the one primary. */
  readonly replicas: number;
  /** Who has a replica take over when the primary fails; not with TLS. @default nobody does */
  readonly sentinel?: SentinelSettings | undefined;
  /** @default UPSTREAM_CHART */
  readonly chart?: ChartSource | undefined;
}

/**
 * The chart's StatefulSet, Services, configuration, disruption budget and service account; its password, network policy
 * and readiness are ours. The name given is the deployment's: it names every object, so it never changes. The chart
 * takes a password of letters, digits and `.`, `_`, `-` only: it writes it to files unquoted.
 */
export class ValkeyReplication extends pulumi.ComponentResource {
  /** Where the nodes are found, one by one. */
  readonly pods: ServerPods;
  /** Changes with what the pods are made of. */
  readonly revision: pulumi.Output<string>;
  /** `HOST:PORT` of the primary, for clients in the Kubernetes cluster. */
  readonly endpoint: pulumi.Output<string>;
  /** `HOST:PORT` of all nodes, the primary among them. */
  readonly readEndpoint: pulumi.Output<string>;

  /** @throws BadInput when the name makes no host name, or there are not the zones for its nodes */
  constructor(name: string, args: ValkeyReplicationArgs, options?: pulumi.ComponentResourceOptions) {
    const { nodes } = planZones(name, { primaries: 1, replicasPerPrimary: args.replicas }, args.placement.zones);
    const names = objectNames(name);
    const wanted = args.chart ?? UPSTREAM_CHART;
    const from = source(wanted);
    // Of a chart itself the engine is told nothing, and policies see what it is told. One on this machine is what it is.
    super("valkey:kubernetes:ValkeyReplication", name, { charts: wanted.from === "path" ? [] : [from] }, options);
    const context: DeploymentContext = { deployment: name, names, args, options: { parent: this } };

    const needed = [
      createSecret(context, { [PASSWORD_FILE]: (password) => password }),
      createConfigMap(context, names.scripts, scriptFiles(args.sentinel === undefined ? "replication" : "sentinel")),
      createNetworkPolicy(context, [CLIENT_PORT], args.sentinel !== undefined),
    ];
    const chart = { ...from, values: chartValues(context, args.replicas, args.sentinel) };
    // Whether pods run is for `Rollout` to say, and nobody can tell a chart how long to wait.
    new k8s.helmV4.Chart(
      name,
      { name, namespace: args.namespace, ...chart, skipAwait: true },
      { parent: this, dependsOn: needed },
    );

    if (args.sentinel !== undefined) createFailover(context, args.sentinel, nodes);
    this.pods = serverPods(context, nodes, name);
    this.revision = podRevision(chart);
    this.endpoint = serviceEndpoint(args.sentinel === undefined ? names.client : names.writeProxy, context);
    this.readEndpoint = serviceEndpoint(names.read, context);
    this.registerOutputs({ namespace: this.pods.namespace, endpoint: this.endpoint, readEndpoint: this.readEndpoint });
  }
}

function source(chart: ChartSource): Pick<k8s.helmV4.ChartArgs, "chart" | "version" | "repositoryOpts"> {
  switch (chart.from) {
    case "repository":
      return { chart: "valkey", version: chart.version, repositoryOpts: { repo: chart.url } };
    case "oci":
      return { chart: chart.url, version: chart.version };
    case "path":
      return { chart: chart.path };
  }
}
