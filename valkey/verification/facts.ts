/** Facts that a verification judges: read from every node itself, at about the same time. Plain data. */
import type { DeploymentNode, Mode } from "../node";
import type { Observation } from "../observation";
import type { SentinelFacts } from "../sentinel/facts";
import type { SentinelSettings } from "../sentinel-plan";
import type { ClusterView } from "../topology/cluster-view";
import type { Shape } from "../topology/placement";
import type { ClientWayFacts } from "../client-ways";
import type { MachineSettings, ExpectedTuning } from "../machine-settings";

/** One node, as it reports itself. */
export interface NodeFacts {
  readonly node: Pick<DeploymentNode, "name" | "zone" | "machine" | "endpoint">;
  /** INFO server, replication, persistence, memory and keyspace; keys to values. */
  readonly info: Observation<ReadonlyMap<string, string>>;
  /** CLUSTER INFO; unknown on a server without cluster mode. */
  readonly clusterInfo: Observation<ReadonlyMap<string, string>>;
  /** CLUSTER NODES. */
  readonly view: Observation<ClusterView>;
  /** CONFIG GET of COMPARED_DIRECTIVES and the configured directives. */
  readonly settings: Observation<ReadonlyMap<string, string>>;
  /** Number of keys in all databases. */
  readonly keys: Observation<number>;
  /** Differences of its users and their rules, a phrase each; undefined where no users are configured. */
  readonly users?: Observation<readonly string[]> | undefined;
  /** Machine settings that the node's container sees; undefined where nothing is promised of machines. */
  readonly machineSettings?: Observation<MachineSettings> | undefined;
}

/** Assertions that can be left out: managed services forbid the commands of `settings`, and not all have `zones`. */
export const OPTIONAL_ASSERTIONS = ["settings", "zones"] as const;
export type OptionalAssertion = (typeof OPTIONAL_ASSERTIONS)[number];

/** The facts about all nodes, and the wanted state. */
export interface DeploymentFacts {
  readonly deployment: string;
  readonly mode: Mode;
  /** The wanted numbers of nodes. Those left out are inferred from the nodes. */
  readonly shape: Partial<Shape>;
  /** Directives that must have these values on every node. */
  readonly directives: ReadonlyMap<string, string>;
  readonly nodes: readonly NodeFacts[];
  /** Rules of all users but `default`, by name; undefined where no users are configured. */
  readonly users?: Readonly<Record<string, string>> | undefined;
  /** Promises of the platform about the nodes' machines, if it makes any. */
  readonly tuning?: ExpectedTuning | undefined;
  /** The zones to spread the nodes over, where they are known apart from the nodes. */
  readonly zones?: readonly string[] | undefined;
  /** The facts about the Sentinels, where there should be any. */
  readonly sentinels?: { readonly settings: SentinelSettings; readonly nodes: readonly SentinelFacts[] } | undefined;
  /** Names at which clients connect, with their ready endpoints; undefined if the platform has no such names. */
  readonly ways?: Observation<readonly ClientWayFacts[]> | undefined;
  /** Assertions left out on request, which the verdict names. */
  readonly skippedAssertions: readonly OptionalAssertion[];
}
