/** A deployment: the Valkey nodes that serve one data set. */
import type { Connection } from "./connection";
import type { NodeAccess, DeploymentNode, Mode } from "./node";
import type { Sentinels } from "./sentinel-plan";
import type { Shape } from "./topology/placement";
import type { ClientWayFacts } from "./client-ways";
import type { MachineSettings, ExpectedTuning } from "./machine-settings";

/** The nodes of one data set, with everything that is needed to reach, verify and measure them. */
export interface Deployment {
  readonly name: string;
  readonly mode: Mode;
  /** The wanted numbers of nodes. Verification infers those left out from the nodes (servers that exist already). */
  readonly shape: Partial<Shape>;
  readonly nodes: readonly DeploymentNode[];
  /** The zones to spread the nodes over, where the platform knows them apart from the nodes. */
  readonly zones?: readonly string[] | undefined;
  /** Directives that must have these values on every node, as CONFIG GET prints them. */
  readonly directives: ReadonlyMap<string, string>;
  /**
   * Opens a new connection to a node. The caller closes it.
   * @throws Failure when the node cannot be reached or refuses the credentials
   */
  readonly connect: (node: DeploymentNode) => Promise<Connection>;
  /** Rules of all users but `default`, by name. @default users are not looked at */
  readonly users?: Readonly<Record<string, string>> | undefined;
  /** The Sentinels that fail over to a replica in replication mode; undefined where nothing does. */
  readonly sentinels?: Sentinels | undefined;
  /** Promises of the platform about the nodes' machines, and the way to check them; undefined without promises. */
  readonly tuning?:
    | {
        readonly expected: ExpectedTuning;
        /** @throws Failure when nothing can be read */
        readonly read: (node: DeploymentNode) => Promise<MachineSettings>;
      }
    | undefined;
  /**
   * Reads the ready endpoints of the names at which clients connect; undefined if the platform has no such names.
   * @throws Failure when they cannot be read
   */
  readonly readWays?: (() => Promise<readonly ClientWayFacts[]>) | undefined;
  /** Memory limits of the nodes' containers in bytes, by node name; without those that have none. @default no limits */
  readonly memoryLimits?: ReadonlyMap<string, number> | undefined;
  /** Credentials for tools that open connections of their own. */
  readonly access: NodeAccess;
}
