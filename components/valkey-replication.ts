import * as pulumi from "@pulumi/pulumi";
import type { DeploymentArgs } from "./kubernetes/arguments";
import { KubernetesDeployment } from "./kubernetes-deployment";
import { BadInput, within } from "../lib/errors";
import type { SentinelSettings } from "../valkey/sentinel-config";
import type { SentinelRequest } from "../model/deployment";
import {
  describeSentinels,
  requestedSentinels,
  sentinelProblems,
  sentinelSettings,
} from "../valkey/sentinel/sentinel-settings";
import { type ReplicationServersArgs, ReplicationServers } from "./kubernetes/servers/replication-servers";

export interface ValkeyReplicationArgs
  extends DeploymentArgs, Pick<ReplicationServersArgs, "replicas" | "maxLagSeconds" | "failoverNodeSelectors"> {
  /**
   * Sentinels that promote a replica when the primary fails. `true` means Sentinels with all defaults. Without
   * Sentinels no replica takes over when the primary fails.
   * @default true in at least three zones, with a name of at most 43 characters; else false
   */
  readonly sentinel?: boolean | SentinelRequest | undefined;
}

/**
 * A primary with its replicas. Resources that depend on it are created after all replicas are linked to the primary and
 * the verification has passed. The component's name is part of the name of every Kubernetes object, so a new name
 * creates a new deployment.
 *
 * @example
 * const sessions = new ValkeyReplication("sessions", { replicas: 2, zones: ["us-west-2a", "us-west-2b", "us-west-2c"] });
 * export const url = sessions.url;
 */
export class ValkeyReplication extends KubernetesDeployment {
  /** `HOST:PORT` for reads. It routes to all nodes, including the primary. */
  readonly readEndpoint: pulumi.Output<string>;
  /**
   * `HOST:PORT` of each Sentinel, for clients that ask Sentinels for the primary. Clients must ask for the name of this
   * component. Empty without Sentinels.
   */
  readonly sentinels: pulumi.Output<readonly string[]>;
  /** `HOST:PORT` of the primary for clients outside the Kubernetes cluster; undefined without `external`. */
  readonly externalEndpoint: pulumi.Output<string | undefined>;
  /**
   * `HOST:PORT` for reads by clients outside the Kubernetes cluster. It routes to all nodes, including the primary.
   * Undefined without `external`.
   */
  readonly externalReadEndpoint: pulumi.Output<string | undefined>;

  /** @throws BadInput when the name is not a host name, there are too few zones, or the Sentinels are refused */
  constructor(name: string, args: ValkeyReplicationArgs, options?: pulumi.ComponentResourceOptions) {
    // A program without a type checker may give no arguments.
    const given = { ...args };
    const { replicas, maxLagSeconds, failoverNodeSelectors } = given;
    const sentinel = checkedSentinels(name, given);
    const shape = { primaries: 1, replicasPerPrimary: replicas };
    let servers: ReplicationServers | undefined;
    super(
      "valkey:index:ValkeyReplication",
      name,
      { mode: "replication", shape, sentinel },
      given,
      options,
      (own, inside) => {
        servers = new ReplicationServers(
          name,
          { ...own, replicas, sentinel, maxLagSeconds, failoverNodeSelectors },
          inside,
        );
        return servers;
      },
    );
    if (servers === undefined) throw new Error(`${name} has no servers`);
    if (sentinel !== undefined) void pulumi.log.info(`sentinel: ${describeSentinels(sentinel)}`, this);
    this.readEndpoint = servers.readEndpoint;
    this.sentinels = servers.sentinels;
    this.externalEndpoint = this.externalEndpoints.apply(([primary]) => primary);
    this.externalReadEndpoint = this.externalEndpoints.apply(([, all]) => all);
  }
}

/** Settings of the Sentinels; undefined without Sentinels. @throws BadInput with every problem */
function checkedSentinels(
  name: string,
  { sentinel, replicas, zones }: ValkeyReplicationArgs,
): SentinelSettings | undefined {
  const subject = { name, replicas, zones: new Set(zones).size };
  const request = requestedSentinels(sentinel, subject);
  if (request === undefined) return undefined;
  const problems = sentinelProblems(request, subject);
  if (problems.length > 0) throw new BadInput(name, within("sentinel", problems));
  return sentinelSettings(request);
}
