/** Arguments of the measuring components about deployments, load generators and results. */
import type * as pulumi from "@pulumi/pulumi";
import type { RunnerPlan } from "../../benchmarks/load/jobs/job-plan";
import type { DeploymentReference } from "../../platforms/deployment-reference";
import type { Mode } from "../../valkey/node";
import type { OptionalAssertion } from "../../valkey/verification/facts";

/**
 * A deployment that a component has made. `ValkeyCluster`, `ValkeyReplication`, `EngineDeployment` and
 * `HostDeployment` have these outputs: give the component itself, and it is measured once it is verified.
 */
export interface MeasurementTarget {
  /** Reference by which its servers are reached. Not secret. */
  readonly reference: pulumi.Input<DeploymentReference>;
  /** Password of the user `default`. Secret. */
  readonly password: pulumi.Input<string>;
  /** Time from running servers to a deployment that serves, milliseconds; kept in the results. @default null: not known */
  readonly formationMs?: pulumi.Input<number | null> | undefined;
}

/** A node of servers that exist already. */
export interface ExternalNode {
  /** A name or an address that the machine with the program reaches. */
  readonly host: pulumi.Input<string>;
  /** Port of the server. @default 6379 */
  readonly port?: pulumi.Input<number> | undefined;
  /** Verification fails without one. @default the zone that the server reports (`availability-zone`) */
  readonly zone?: pulumi.Input<string> | undefined;
}

/** Encryption of the connections to servers that exist already. */
export interface ExternalTlsArgs {
  /** Certificate of the servers' authority, PEM. @default the authorities that the machine with the program trusts */
  readonly caCertificate?: pulumi.Input<string> | undefined;
  /** Name on the servers' certificates. @default the host of each node */
  readonly serverName?: pulumi.Input<string> | undefined;
  /** Accept any certificate. @default false */
  readonly insecure?: boolean | undefined;
}

/** Servers that exist already: on machines of your own, in a managed service. */
export interface ExternalTarget {
  /** Name in the results, different from those of all other targets. */
  readonly name: string;
  /** `cluster` or `replication`. */
  readonly mode: Mode;
  /** Every primary and every replica. */
  readonly nodes: readonly ExternalNode[];
  /** Number of primaries that verification expects. @default as many as there are */
  readonly primaries?: number | undefined;
  /** Number of replicas of each primary that verification expects. @default as many as there are */
  readonly replicasPerPrimary?: number | undefined;
  /** User that logs in. @default the user `default` */
  readonly username?: pulumi.Input<string> | undefined;
  /** Password of that user. Secret. @default none */
  readonly password?: pulumi.Input<string> | undefined;
  /** Encryption of connections. @default none */
  readonly tls?: ExternalTlsArgs | undefined;
  /** Assertions that verification leaves out: `settings` where CONFIG is forbidden. @default none */
  readonly skippedAssertions?: readonly OptionalAssertion[] | undefined;
  /**
   * Whether keys that have the benchmark's names (`key:…`, `mylist` …) are overwritten, and removed afterwards.
   * @default false: the measurement is refused where such keys exist
   */
  readonly overwriteKeys?: boolean | undefined;
}

/** Where and how load generators run: as pods for deployments in Kubernetes, else as processes beside the program. */
export interface LoadGeneratorArgs extends Partial<Omit<RunnerPlan, "namespace">> {
  /**
   * Namespace of the load generators' pods; it must exist, and the servers must accept connections from it.
   * @default the servers' namespace
   */
  readonly namespace?: pulumi.Input<string> | undefined;
}

/** Arguments of every measuring component. */
export interface MeasuringArgs {
  /**
   * Deployments to measure: all in one Kubernetes cluster, or none in Kubernetes. At least one target or external
   * target is needed.
   * @default none
   */
  readonly targets?: readonly MeasurementTarget[] | undefined;
  /** Servers that exist already. They cannot be measured together with deployments in Kubernetes. @default none */
  readonly externalTargets?: readonly ExternalTarget[] | undefined;
  /** Load generators. On the platform `host` they are processes, and only `runners` counts. @default one load generator */
  readonly loadGenerators?: LoadGeneratorArgs | undefined;
  /**
   * Directory of results.json, results.csv, report.html and others: absolute, or from the program's current directory.
   * A change of only the directory does not measure again.
   * @default `results/TIME`
   */
  readonly output?: string | undefined;
  /** Change this number to measure again. @default 0 */
  readonly trigger?: number | undefined;
  /** Time limit for the pods of load generators to start, seconds. @default 600 */
  readonly timeoutSeconds?: number | undefined;
  /** Anything that explains the measurement, kept in its results. @default what is measured, and how */
  readonly configuration?: unknown;
}
