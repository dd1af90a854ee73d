/** A deployment as processes on this machine, formed and verified. */
import * as pulumi from "@pulumi/pulumi";
import type { TopologyRecord } from "../valkey/verification/topology-record";
import type { DeploymentReference } from "../platforms/deployment-reference";
import type { RestoreFrom } from "../backup/restoring/restore-from";
import type { HostRestoreOutputs } from "../operations/handlers/restoring/host-restore";
import type { HostServersInputs } from "../operations/handlers/host-servers";
import {
  Formation,
  HostRestore,
  HostServers,
  Password,
  DeploymentVerification,
} from "../operations/provider/resources";

export interface HostDeploymentArgs extends Omit<HostServersInputs, "password"> {
  /** Change this number to verify the deployment again. */
  readonly trigger: number;
  /** Change this number to generate a new password. @default 0 */
  readonly passwordVersion?: number | undefined;
  /**
   * Archive from which the new deployment gets its data, before it is verified. A later change has no effect.
   * @default the deployment begins empty
   */
  readonly restoreFrom?: RestoreFrom | undefined;
}

/**
 * A deployment as processes on this machine. The processes keep running after Pulumi ends, until the deployment is
 * destroyed.
 */
export class HostDeployment extends pulumi.ComponentResource {
  /** Password of the user `default`. Secret. */
  readonly password: pulumi.Output<string>;
  readonly reference: pulumi.Output<DeploymentReference>;
  /**
   * Duration of the formation, milliseconds: from the moment when all servers run until clients can use the deployment.
   */
  readonly formationMs: pulumi.Output<number | null>;
  /** Result of the restore; undefined without `restoreFrom`. */
  readonly restored: pulumi.Output<HostRestoreOutputs> | undefined;
  /** Result of the last verification, with every assertion of the verdict. */
  readonly topology: pulumi.Output<TopologyRecord>;
  /** Time of the last verification, ISO 8601. */
  readonly verifiedAt: pulumi.Output<string>;

  constructor(name: string, args: HostDeploymentArgs, options?: pulumi.ComponentResourceOptions) {
    super("valkey:index:HostDeployment", name, {}, options);
    const { trigger, passwordVersion = 0, restoreFrom, ...plan } = args;
    const { timeoutSeconds } = plan;
    const inside = { parent: this };
    const { password } = new Password(name, { version: passwordVersion }, inside);
    const servers = new HostServers(name, { ...plan, password }, inside);
    const { target, directory } = servers;
    const running = { ...inside, dependsOn: [servers] };
    const formation = new Formation(name, { target, password, users: {}, timeoutSeconds }, running);
    const { milliseconds } = formation.cluster;
    const restore =
      restoreFrom === undefined
        ? undefined
        : new HostRestore(
            name,
            { target, password, directory, restoreFrom, timeoutSeconds },
            { ...inside, dependsOn: [servers, formation] },
          );
    const check = new DeploymentVerification(
      name,
      { target, password, formationMs: milliseconds, revision: null, timeoutSeconds, trigger },
      { ...inside, dependsOn: restore === undefined ? [servers] : [servers, restore] },
    );
    this.password = password;
    this.reference = target;
    this.formationMs = milliseconds;
    this.restored =
      restore === undefined
        ? undefined
        : pulumi
            .all([restore.restoredAt, restore.shards, restore.keys, restore.expired])
            .apply(([restoredAt, shards, keys, expired]) => ({ restoredAt, shards, keys, expired }));
    this.topology = check.topology;
    this.verifiedAt = check.verifiedAt;
    this.registerOutputs({ topology: this.topology, verifiedAt: this.verifiedAt });
  }
}
