/**
 * Valkey in replication mode on Kubernetes: the upstream chart, with readiness, network policy and failover added.
 * Without Sentinels pod 0 is always the primary.
 */
import * as k8s from "../kubernetes/kubernetes-sdk";
import * as pulumi from "@pulumi/pulumi";
import type { SentinelSettings } from "../../valkey/sentinel/plan";
import { splitDirectives } from "../../valkey/live-settings";
import { formatConfigFile, toDirectives } from "../../valkey/settings";
import type { ServerArgs } from "../kubernetes/arguments";
import { chartValues } from "../kubernetes/replication/chart-values";
import { completeStatefulSet, podLifecycle } from "../kubernetes/replication/pod-lifecycle";
import { createConfigMap } from "../kubernetes/config-map";
import { createReplicationServices } from "../kubernetes/external-services";
import type { DeploymentContext } from "../kubernetes/deployment-context";
import { podRevision } from "../kubernetes/deployment-context";
import { CLIENT_PORT } from "../kubernetes/layout";
import { objectNames } from "../kubernetes/names";
import { createNetworkPolicy } from "../kubernetes/network-policy";
import { scriptFiles } from "../kubernetes/scripts";
import type { FailoverNodeSelectors } from "../kubernetes/replication/failover";
import { createFailover } from "../kubernetes/replication/failover";
import { secretFiles } from "../kubernetes/native-servers";
import { createSecret } from "../kubernetes/secret";
import { accessFiles, ACCESS_INCLUDE } from "../kubernetes/server-config";
import type { ServerPods } from "../kubernetes/pods/server-pods";
import { serverPods, serviceEndpoint } from "../kubernetes/pods/server-pods";
import { planZones } from "../kubernetes/pods/zone-plan";
import type { ChartSource } from "../../platforms/kubernetes/requirements/chart-check";

/** The version whose values this component is written for. */
export const UPSTREAM_CHART: ChartSource = {
  from: "repository",
  url: "https://valkey.io/valkey-helm/",
  version: "0.11.0",
};

export interface ReplicationServersArgs extends ServerArgs {
  /** Number of replicas of the one primary. */
  readonly replicas: number;
  /** Sentinels that promote a replica when the primary fails; not with TLS. @default no failover */
  readonly sentinel?: SentinelSettings | undefined;
  /** Labels that machines of Sentinels and proxies must have. @default those of the servers' placement */
  readonly failoverNodeSelectors?: FailoverNodeSelectors | undefined;
  /** @default UPSTREAM_CHART */
  readonly chart?: ChartSource | undefined;
}

/**
 * The chart creates the StatefulSet, Services, configuration, disruption budget and service account; this component
 * creates the password, the network policy and the probes' scripts. The name is part of every object's name: a new
 * name makes a new deployment. A password has letters, digits, `.`, `_` and `-` only, because the
 * chart writes it to files unquoted.
 */
export class ReplicationServers extends pulumi.ComponentResource {
  /** Where each node is. */
  readonly pods: ServerPods;
  /** Changes with the pod template. */
  readonly revision: pulumi.Output<string>;
  /** `HOST:PORT` of the primary, for clients in the Kubernetes cluster. */
  readonly endpoint: pulumi.Output<string>;
  /** `HOST:PORT` of all nodes, with the primary. */
  readonly readEndpoint: pulumi.Output<string>;

  /** @throws BadInput when the name is no host name, or there are too few zones */
  constructor(name: string, args: ReplicationServersArgs, options?: pulumi.ComponentResourceOptions) {
    const { nodes } = planZones(name, { primaries: 1, replicasPerPrimary: args.replicas }, args.placement.zones);
    const names = objectNames(name);
    const wanted = args.chart ?? UPSTREAM_CHART;
    const from = source(wanted);
    // Policies do not see the inputs of a chart, so the chart is an input of this component. A local chart has no
    // version.
    super("valkey:kubernetes:ReplicationServers", name, { charts: wanted.from === "path" ? [] : [from] }, options);
    const context: DeploymentContext = { deployment: name, names, args, options: { parent: this } };

    const { live } = splitDirectives(toDirectives(args.settings));
    const secret = createSecret(context, secretFiles(args, accessFiles()));
    const needed = [
      secret,
      createConfigMap(context, names.scripts, scriptFiles(args.sentinel === undefined ? "replication" : "sentinel")),
      createConfigMap(context, names.liveConfig, { "live.conf": formatConfigFile(live) + ACCESS_INCLUDE }),
      createNetworkPolicy(context, [CLIENT_PORT], args.sentinel !== undefined),
    ];
    const values = chartValues(context, args.replicas, args.sentinel);
    // `Rollout` waits for the pods: Pulumi has no time limit for the resources of a chart.
    new k8s.helmV4.Chart(
      name,
      { name, namespace: args.namespace, ...from, values, skipAwait: true },
      { parent: this, dependsOn: needed, transforms: [completeStatefulSet(args.sentinel !== undefined)] },
    );

    if (args.sentinel !== undefined)
      createFailover(context, { settings: args.sentinel, nodes, secret, selectors: args.failoverNodeSelectors });
    createReplicationServices(context, args.sentinel !== undefined);
    this.pods = serverPods(context, nodes, name);
    // The number of replicas and the size of their volumes are no part of the pods.
    this.revision = podRevision({
      ...from,
      values: { ...values, replica: undefined },
      lifecycle: podLifecycle(args.sentinel !== undefined),
    });
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
