/** Redis or Dragonfly in replication mode on Kubernetes, verified, to compare Valkey with. */
import type * as pulumi from "@pulumi/pulumi";
import type { Engine } from "../valkey/engines";
import type { DeploymentArgs } from "./deployment-args";
import { KubernetesDeployment } from "./kubernetes-deployment";
import { EngineServers } from "./servers/engine-servers";

export interface EngineReplicationArgs extends Omit<DeploymentArgs, "tls" | "image"> {
  readonly engine: Exclude<Engine, "valkey">;
  readonly image: string;
  /** Number of replicas of the one primary. */
  readonly replicas: number;
}

/** Pod 0 is the primary; there is no failover, and connections are plain TCP. */
export class EngineReplication extends KubernetesDeployment {
  /** @throws BadInput when the name is no host name, or there are too few zones */
  constructor(name: string, args: EngineReplicationArgs, options?: pulumi.ComponentResourceOptions) {
    const { engine, replicas } = args;
    const shape = { primaries: 1, replicasPerPrimary: replicas };
    super(
      "valkey:index:EngineReplication",
      name,
      { engine, mode: "replication", shape },
      args,
      options,
      (own, inside) => new EngineServers(name, { ...own, engine, replicas }, inside),
    );
  }
}
