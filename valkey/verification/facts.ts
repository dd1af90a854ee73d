/**
 * Facts that a verification judges. Each node is asked for its own facts, and all nodes are asked at about the same
 * time. Plain data.
 */
import type { DeploymentNode, Mode } from "../node";
import type { Observation } from "../observation";
import type { SentinelFacts } from "../sentinel/facts";
import type { SentinelSettings } from "../sentinel-plan";
import type { ClusterView } from "../topology/cluster-view";
import type { Shape } from "../topology/placement";
import type { ClientWayFacts } from "../client-ways";
import type { MachineSettings, ExpectedTuning } from "../machine-settings";

/** The facts about one node, as the node itself reports them. */
export interface NodeFacts {
  readonly node: Pick<DeploymentNode, "name" | "zone" | "machine" | "endpoint">;
  /** Keys and values of INFO server, replication, persistence, memory and keyspace. */
  readonly info: Observation<ReadonlyMap<string, string>>;
  /** The reply to CLUSTER INFO. It is not observed if the server is not in cluster mode. */
  readonly clusterInfo: Observation<ReadonlyMap<string, string>>;
  /** The node's view of the cluster, from CLUSTER NODES. */
  readonly view: Observation<ClusterView>;
  /** Values of COMPARED_DIRECTIVES and of the configured directives, from CONFIG GET. */
  readonly settings: Observation<ReadonlyMap<string, string>>;
  /** Number of keys in all databases. */
  readonly keys: Observation<number>;
  /**
   * Differences between the users and rules of the node and the configured users and rules, one phrase each. Undefined
   * if no users are configured.
   */
  readonly users?: Observation<readonly string[]> | undefined;
  /** Machine settings that the node's container sees; undefined if the platform promises nothing about machines. */
  readonly machineSettings?: Observation<MachineSettings> | undefined;
}

/**
 * Assertions that can be skipped. Managed services forbid the commands that `settings` needs, and some of them do not
 * report `zones`.
 */
export const OPTIONAL_ASSERTIONS = ["settings", "zones"] as const;
export type OptionalAssertion = (typeof OPTIONAL_ASSERTIONS)[number];

/** The facts about all nodes, and the wanted state. */
export interface DeploymentFacts {
  readonly deployment: string;
  readonly mode: Mode;
  /** The wanted numbers of primaries and replicas. If a number is missing, verification reads it from the nodes. */
  readonly shape: Partial<Shape>;
  /** Directives that must have these values on every node. */
  readonly directives: ReadonlyMap<string, string>;
  readonly nodes: readonly NodeFacts[];
  /** Rules of all users except `default`, by name; undefined if no users are configured. */
  readonly users?: Readonly<Record<string, string>> | undefined;
  /** Machine settings that the platform promises; undefined if it promises no settings. */
  readonly tuning?: ExpectedTuning | undefined;
  /** The zones over which the nodes should be spread; undefined if zones are known only from the nodes. */
  readonly zones?: readonly string[] | undefined;
  /** The facts about the Sentinels; undefined if there should be none. */
  readonly sentinels?: { readonly settings: SentinelSettings; readonly nodes: readonly SentinelFacts[] } | undefined;
  /** Names to which clients connect, with their ready endpoints; undefined if the platform has no such names. */
  readonly ways?: Observation<readonly ClientWayFacts[]> | undefined;
  /** Assertions that the user wants to skip. The verdict names them. */
  readonly skippedAssertions: readonly OptionalAssertion[];
}
