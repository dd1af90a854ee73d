/** Arguments that all measuring components have: deployments, load generators and results. */
import type * as pulumi from "@pulumi/pulumi";
import type { RunnerPlan } from "../../benchmarks/load/jobs/job-plan";
import type { DeploymentReference } from "../../platforms/deployment-reference";
import type { Mode } from "../../valkey/node";

/**
 * A deployment of this package. `ValkeyCluster`, `ValkeyReplication`, `EngineDeployment` and `HostDeployment` have the
 * outputs in this interface. If you pass the component itself, the measurement waits until the component is verified.
 */
export interface MeasurementTarget {
  /** Reference by which load generators reach the servers. Not secret. */
  readonly reference: pulumi.Input<DeploymentReference>;
  /** Password of the user `default`. Secret. */
  readonly password: pulumi.Input<string>;
  /**
   * Duration of the deployment's formation, milliseconds: from the moment when all servers run until clients can use
   * the deployment. It is copied into the results.
   * @default null: not known
   */
  readonly formationMs?: pulumi.Input<number | null> | undefined;
}

/** One node of an external target. */
export interface ExternalNode {
  /** Host name or address, reachable from the machine that runs the Pulumi program. */
  readonly host: pulumi.Input<string>;
  /** Port of the server. @default 6379 */
  readonly port?: pulumi.Input<number> | undefined;
  /**
   * Zone of the node. Verification fails if a node has no zone.
   * @default the zone that the server reports (`availability-zone`)
   */
  readonly zone?: pulumi.Input<string> | undefined;
}

/** TLS settings of the connections to an external target. */
export interface ExternalTlsArgs {
  /**
   * Certificate of the authority that issued the servers' certificates, PEM.
   * @default the authorities that the machine with the program trusts
   */
  readonly caCertificate?: pulumi.Input<string> | undefined;
  /** Name that the servers' certificates must contain. @default the host of each node */
  readonly serverName?: pulumi.Input<string> | undefined;
  /** Whether any certificate is accepted. @default false */
  readonly insecure?: boolean | undefined;
}

/** Existing servers that this package did not deploy: on your own machines, or in a managed service. */
export interface ExternalTarget {
  /** Name in the results. It must differ from the names of all other targets. */
  readonly name: string;
  /** Mode of the servers: `cluster` or `replication`. */
  readonly mode: Mode;
  /** All nodes: every primary and every replica. */
  readonly nodes: readonly ExternalNode[];
  /** Number of primaries that verification expects. @default 3 or more in a cluster, else 1 */
  readonly primaries?: number | undefined;
  /** Number of replicas of each primary that verification expects. @default the number of replicas that exist */
  readonly replicasPerPrimary?: number | undefined;
  /** Name of the user that logs in. @default the user `default` */
  readonly username?: pulumi.Input<string> | undefined;
  /** Password of the user that logs in. Secret. @default no password */
  readonly password?: pulumi.Input<string> | undefined;
  /** TLS settings of the connections. @default plain TCP */
  readonly tls?: ExternalTlsArgs | undefined;
  /** Assertions that verification skips, such as `settings` if the servers forbid CONFIG. @default none */
  readonly skippedAssertions?: readonly ("settings" | "zones")[] | undefined;
  /**
   * Whether existing keys with the benchmark's names (`key:…`, `mylist` …), and keys that a killed measurement left, may
   * be overwritten and deleted. The benchmark's keys are deleted after the measurement. If they cannot be deleted, the
   * measurement fails and says by which commands to delete them.
   * @default false: the measurement is refused if such keys exist
   */
  readonly overwriteKeys?: boolean | undefined;
}

/**
 * Placement and number of load generators. Load generators for deployments in Kubernetes are pods. Load generators for
 * all other deployments are processes on the machine of the Pulumi program.
 */
export interface LoadGeneratorArgs extends Partial<Omit<RunnerPlan, "namespace">> {
  /**
   * Namespace of the load generators' pods. It must exist, and the servers must accept connections from it.
   * @default the servers' namespace
   */
  readonly namespace?: pulumi.Input<string> | undefined;
}

/** Arguments of every measuring component. */
export interface MeasuringArgs {
  /**
   * Deployments to measure. They must all be in the same Kubernetes cluster, or all outside Kubernetes. The component
   * needs at least one target or external target.
   * @default none
   */
  readonly targets?: readonly MeasurementTarget[] | undefined;
  /**
   * Existing servers that are measured although this package did not deploy them. They cannot be measured together with
   * deployments in Kubernetes.
   * @default none
   */
  readonly externalTargets?: readonly ExternalTarget[] | undefined;
  /**
   * Load generators. If the targets are not in Kubernetes, load generators are processes, and only `runners` has an
   * effect.
   * @default one load generator
   */
  readonly loadGenerators?: LoadGeneratorArgs | undefined;
  /**
   * Directory for results.json, results.csv, report.html and other files. It is an absolute path, or a path from the
   * program's current directory. If only the directory changes, nothing is measured again.
   * @default `results/TIME`
   */
  readonly output?: string | undefined;
  /** Change this number to measure again. @default 0 */
  readonly trigger?: number | undefined;
  /** Time limit for the pods of load generators to start, seconds. @default 600 */
  readonly timeoutSeconds?: number | undefined;
  /**
   * Any value that describes the measurement. It is kept in the results.
   * @default a description of the loads and targets
   */
  readonly configuration?: unknown;
}
