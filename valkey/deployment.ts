/** A deployment: the Valkey nodes that serve one data set, where they are and how to reach them. */
import type { Connection } from "./connection";
import type { Sentinels } from "./sentinel/plan";
import type { Shape } from "./topology/placement";
import type { Mode, DeploymentNode, Access } from "./node";

export interface Deployment {
  readonly name: string;
  readonly mode: Mode;
  /** What was asked for; undefined numbers are inferred from the nodes there are (servers that existed before). */
  readonly shape: Partial<Shape>;
  readonly nodes: readonly DeploymentNode[];
  /** The zones nodes should be spread over, where that is known apart from the nodes. */
  readonly zones?: readonly string[] | undefined;
  /** Directives that must have these values everywhere, as CONFIG GET prints them. */
  readonly directives: ReadonlyMap<string, string>;
  /**
   * Opens a connection of its own to a node; the caller closes it.
   * @throws Failure when the node cannot be reached or refuses the credentials
   */
  readonly connect: (node: DeploymentNode) => Promise<Connection>;
  /** Who has a replica take over when the primary fails, in replication mode; undefined where nobody does. */
  readonly sentinels?: Sentinels | undefined;
  /** How a tool in a process of its own reaches the nodes. */
  readonly access: Access;
}
