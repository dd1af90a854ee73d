import type { DeploymentNode, Mode } from "../node";
import type { SentinelFacts } from "../sentinel/facts";
import type { SentinelSettings } from "../sentinel/plan";
import type { ClusterView } from "../topology/cluster-view";
import type { Shape } from "../topology/placement";
import type { Observation } from "../observation";

/** One node, as it describes itself. */
export interface NodeFacts {
  readonly node: Pick<DeploymentNode, "name" | "zone" | "machine" | "endpoint">;
  /** INFO server, replication, persistence and memory; keys to values. */
  readonly info: Observation<ReadonlyMap<string, string>>;
  /** CLUSTER INFO; unknown on a server without cluster mode. */
  readonly clusterInfo: Observation<ReadonlyMap<string, string>>;
  /** CLUSTER NODES. */
  readonly view: Observation<ClusterView>;
  /** CONFIG GET of the settings that matter. */
  readonly settings: Observation<ReadonlyMap<string, string>>;
  /** DBSIZE. */
  readonly keys: Observation<number>;
}

/** Assertions a user may ask to leave out, because a managed service forbids the commands. */
export const OPTIONAL_ASSERTIONS = ["settings"] as const;
export type OptionalAssertion = (typeof OPTIONAL_ASSERTIONS)[number];

export interface DeploymentFacts {
  readonly deployment: string;
  readonly mode: Mode;
  /** The wanted numbers; those left out are inferred from the nodes. */
  readonly shape: Partial<Shape>;
  /** Directives that must have these values on every node. */
  readonly directives: ReadonlyMap<string, string>;
  readonly nodes: readonly NodeFacts[];
  /** The zones to be spread over, where that is known apart from the nodes. */
  readonly zones?: readonly string[] | undefined;
  /** Of the Sentinels, where there are to be any. */
  readonly sentinels?: { readonly settings: SentinelSettings; readonly nodes: readonly SentinelFacts[] } | undefined;
  /** Left out on request; the verdict names them. */
  readonly skippedAssertions: readonly OptionalAssertion[];
}
