/** At first pod 0 is the primary. Later, Sentinels elect the primary or `up` designates it. */
import * as pulumi from "@pulumi/pulumi";
import { splitDirectives } from "../../../valkey/settings/dynamic-settings";
import type { SentinelSettings } from "../../../valkey/sentinel-config";
import { toDirectives } from "../../../valkey/settings/settings";
import type { ServerArgs } from "../arguments";
import { clientServices } from "./client-services";
import type { DeploymentContext } from "../deployment-context";
import { createReplicationServices } from "./external-services";
import { SENTINEL_PORT } from "../layout";
import { objectNames } from "../names";
import { createNativeServers } from "./native-servers";
import { replicationRole } from "../pods/replication-role";
import { type ServerPods, serviceEndpoint, serviceHost } from "../pods/server-pods";
import { planZones } from "../pods/zone-plan";
import { createServices } from "./server-objects";
import { accessFiles, replicationConfig, withReplicaCount } from "../server-config";
import type * as k8s from "../kubernetes-sdk";
import { createFailoverPolicies } from "../network-policy";
import { createSentinelPods } from "../replication/sentinel-pods";
import { createProxies } from "../replication/proxies";

export interface ReplicationServersArgs extends ServerArgs {
  /** Number of replicas of the one primary. */
  readonly replicas: number;
  /** Sentinels that promote a replica when the primary fails. @default no failover */
  readonly sentinel?: SentinelSettings | undefined;
  /**
   * Highest allowed lag of a replica behind the primary, whole seconds from 1 to 3600. A replica with a greater lag is
   * not ready, so the Service `NAME-read` does not route to it, and a roll-out waits for it.
   * @default 10
   */
  readonly maxLagSeconds?: number | undefined;
  /** Labels that machines of Sentinels and proxies must have. @default the labels in the placement of the servers */
  readonly failoverNodeSelectors?: FailoverNodeSelectors | undefined;
}

const DEFAULT_MAX_LAG_SECONDS = 10;

/**
 * All pods start at the same time; the primary first asks the others for newer data. A new name creates a new
 * deployment, as objects have the component's name.
 */
export class ReplicationServers extends pulumi.ComponentResource {
  readonly pods: ServerPods;
  readonly revision: pulumi.Output<string>;
  /** `HOST:PORT` of the primary, for clients in the Kubernetes cluster. */
  readonly endpoint: pulumi.Output<string>;
  /** `HOST:PORT` for reads. It routes to all nodes, including the primary. */
  readonly readEndpoint: pulumi.Output<string>;
  /** `HOST:PORT` of each Sentinel; empty without Sentinels. */
  readonly sentinels: pulumi.Output<readonly string[]>;

  /** @throws BadInput when the name is not a host name, or there are too few zones */
  constructor(name: string, args: ReplicationServersArgs, options?: pulumi.ComponentResourceOptions) {
    const { sentinel, tls } = args;
    const { nodes } = planZones(name, { primaries: 1, replicasPerPrimary: args.replicas }, args.placement.zones);
    const names = objectNames(name);
    super("valkey:kubernetes:ReplicationServers", name, {}, options);
    const context: DeploymentContext = { deployment: name, names, args, options: { parent: this } };
    const directives = toDirectives(args.settings);
    const services = clientServices(names, { mode: "replication", sentinel });
    const watched = sentinel !== undefined;

    const { pods, revision, secret, needed } = createNativeServers(context, {
      nodes,
      config: replicationConfig(withReplicaCount(directives, args.replicas), { tls, watched }),
      restarting: replicationConfig(splitDirectives(directives).restart, { tls, watched }),
      scripts: "replication",
      role: replicationRole(context, sentinel, args.maxLagSeconds ?? DEFAULT_MAX_LAG_SECONDS),
      accessFiles: accessFiles(),
      primary: watched ? "elected" : "designated",
    });

    const plan = { nodes, secret, selectors: args.failoverNodeSelectors };
    const withFiles: DeploymentContext = { ...context, options: { parent: this, dependsOn: [...needed] } };
    const proxies = sentinel === undefined ? undefined : createFailover(withFiles, { ...plan, settings: sentinel });
    createServices(context, services, proxies);
    createReplicationServices(context, proxies);
    this.pods = pods;
    this.revision = revision;
    this.endpoint = serviceEndpoint(services[0].service, context);
    this.readEndpoint = serviceEndpoint(names.read, context);
    const host = serviceHost(names.sentinel, context);
    this.sentinels = pulumi.all(
      Array.from({ length: sentinel?.count ?? 0 }, (_, index) => {
        return pulumi.interpolate`${names.sentinel}-${index}.${host}:${SENTINEL_PORT}`;
      }),
    );
    this.registerOutputs({ namespace: pods.namespace, endpoint: this.endpoint, readEndpoint: this.readEndpoint });
  }
}

/** Labels that machines of Sentinels and of proxies must have. */
interface FailoverNodeSelectors {
  readonly sentinels: Readonly<Record<string, string>>;
  readonly proxies: Readonly<Record<string, string>>;
}

interface FailoverPlan {
  readonly settings: SentinelSettings;
  /** Number of servers, including the primary. */
  readonly nodes: number;
  readonly secret: k8s.core.v1.Secret;
  /** @default the labels of the servers' machines */
  readonly selectors?: FailoverNodeSelectors | undefined;
}

/** Sentinels in every zone, whom servers ask for the primary, and proxies for clients. @returns the proxies */
function createFailover(
  context: DeploymentContext,
  { settings, nodes, secret, selectors }: FailoverPlan,
): k8s.apps.v1.Deployment {
  createFailoverPolicies(context);
  createSentinelPods(onMachines(context, selectors?.sentinels), settings);
  return createProxies(onMachines(context, selectors?.proxies), nodes, settings, secret);
}

function onMachines(context: DeploymentContext, nodeSelector?: Readonly<Record<string, string>>): DeploymentContext {
  if (nodeSelector === undefined) return context;
  const { args } = context;
  return { ...context, args: { ...args, placement: { ...args.placement, nodeSelector } } };
}
