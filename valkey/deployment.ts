/** A deployment: the Valkey nodes that serve one data set. */
import type { Connection } from "./connection";
import type { NodeAccess, DeploymentNode, Mode } from "./node";
import type { Sentinels } from "./sentinel-config";
import type { Shape } from "./topology/placement";
import type { ClientWayFacts } from "./client-endpoints";
import type { MachineSettings, ExpectedTuning } from "./machine-settings";

/** The nodes of one data set, with all facts that are needed to reach, verify and measure these nodes. */
export interface Deployment {
  readonly name: string;
  readonly mode: Mode;
  /** The wanted numbers of primaries and replicas. If a number is missing, verification reads it from the nodes. */
  readonly shape: Partial<Shape>;
  readonly nodes: readonly DeploymentNode[];
  /** The zones over which the nodes should be spread. Undefined if the platform knows zones only from its nodes. */
  readonly zones?: readonly string[] | undefined;
  /** Directives that must have the given values on every node. Values have the form in which CONFIG GET prints them. */
  readonly directives: ReadonlyMap<string, string>;
  /**
   * Opens a new connection to a node. The caller must close this connection.
   * @param timeoutMs time limit for connecting and for each command, milliseconds. @default the limit of `connect`
   * @throws Failure when the node cannot be reached or refuses the credentials
   */
  readonly connect: (node: DeploymentNode, timeoutMs?: number) => Promise<Connection>;
  /** ACL rules by user name, for all users except `default`. Without this map, a verification checks no users. */
  readonly users?: Readonly<Record<string, string>> | undefined;
  /** The Sentinels that promote a replica in replication mode. Undefined if the deployment has no Sentinels. */
  readonly sentinels?: Sentinels | undefined;
  /**
   * The machine settings that the platform promises, and a function that reads the actual settings. Undefined if the
   * platform makes no promise.
   */
  readonly tuning?:
    | {
        readonly expected: ExpectedTuning;
        /**
         * Reads the settings of the machine on which a node runs.
         * @throws Failure when nothing can be read
         */
        readonly read: (node: DeploymentNode) => Promise<MachineSettings>;
      }
    | undefined;
  /**
   * Reads the host names to which clients connect, with the ready endpoints behind each name. Undefined if the platform
   * has no such names.
   * @throws Failure when the names or endpoints cannot be read
   */
  readonly readWays?: (() => Promise<readonly ClientWayFacts[]>) | undefined;
  /**
   * Whether clients connect from networks that this program may not share, such as those of pods. Then verification
   * opens no connection to the endpoints that nodes and Sentinels give to clients. @default false
   */
  readonly hasClientsElsewhere?: boolean | undefined;
  /**
   * Memory limits of the nodes' containers in bytes, by node name. Nodes without a limit are absent.
   * @default no limits
   */
  readonly memoryLimits?: ReadonlyMap<string, number> | undefined;
  /** Credentials for tools that open their own connections. */
  readonly access: NodeAccess;
}
