/** Each node reports its own facts, and all nodes are asked at about the same time. Plain data. */
import type { DeploymentNode, Endpoint, Mode } from "../node";
import type { Observation } from "../observation";
import type { SentinelFacts } from "../sentinel/facts";
import type { SentinelSettings } from "../sentinel-config";
import type { ClusterView } from "../topology/cluster-view";
import type { MigrationJob } from "../topology/migration-jobs";
import type { Shape } from "../topology/placement";
import type { ClientWayFacts } from "../client-endpoints";
import type { MachineSettings, ExpectedTuning } from "../machine-settings";

/** The facts about one node, as the node itself reports them. */
export interface NodeFacts {
  readonly node: Pick<DeploymentNode, "name" | "zone" | "machine" | "endpoint">;
  /** Keys and values of INFO: the sections of the server's state, its counters and its numbers of keys. */
  readonly info: Observation<ReadonlyMap<string, string>>;
  /** The reply to CLUSTER INFO. If the server is not in cluster mode, there is a reason instead of a reply. */
  readonly clusterInfo: Observation<ReadonlyMap<string, string>>;
  /** The node's view of the cluster, from CLUSTER NODES. */
  readonly view: Observation<ClusterView>;
  /**
   * The atomic slot migrations in which the node takes part and that have not ended. A server without such migrations
   * reports none. Undefined in replication mode.
   */
  readonly migrations?: Observation<readonly MigrationJob[]> | undefined;
  /** Values of ANNOUNCING_DIRECTIVES that the node has. Undefined if nobody asked the node. */
  readonly announcing?: Observation<ReadonlyMap<string, string>> | undefined;
  /** Values of COMPARED_DIRECTIVES and of the configured directives, from CONFIG GET. */
  readonly settings: Observation<ReadonlyMap<string, string>>;
  /** Number of keys in all databases. */
  readonly keys: Observation<number>;
  /**
   * Differences between the users and rules of the node and the configured users and rules, one phrase each. Undefined
   * if no users are configured.
   */
  readonly users?: Observation<readonly string[]> | undefined;
  /**
   * Rules and hashed passwords of each user, from ACL LIST, in a form that can be compared. Undefined if users are
   * configured, or if settings are skipped.
   */
  readonly rules?: Observation<ReadonlyMap<string, string>> | undefined;
  /**
   * Whether a primary accepted a write of a client, or the error with which it refused the write. Undefined if no write
   * was tried: the node is not a primary that serves slots, or writes are skipped.
   */
  readonly write?: Observation<true> | undefined;
  /** Machine settings that the node's container sees. Undefined if the platform promises nothing about machines. */
  readonly machineSettings?: Observation<MachineSettings> | undefined;
}

/** An endpoint at which a node or a Sentinel is announced to clients. */
export interface AnnouncedEndpoint {
  /** Name of the node or Sentinel. Empty for a replica if nobody knows which one. */
  readonly node: string;
  /** The host is an address or a host name. It is empty if clients get host names, but the node announces none. */
  readonly endpoint: Endpoint;
  /** Whether the endpoint is for clients with TLS. */
  readonly tls: boolean;
  /** Names of the nodes and Sentinels that announce the endpoint. Empty if all nodes do. */
  readonly by: readonly string[];
  /** The servers behind the endpoint, or the reason why its host name has no address. Undefined if nobody tried it. */
  readonly servers?: readonly FoundServer[] | string | undefined;
}

/** Knowledge about the server at one address of an announced endpoint. */
export type FoundServer =
  /** Name of a node of the deployment, or a phrase for a different server. */
  | { readonly name: string }
  /** Reason why no server answers. */
  | { readonly why: string }
  /** From here, nobody can tell which server is there. */
  | "unknown";

/**
 * Assertions that the user is allowed to skip. Managed services forbid the commands that `settings` needs, and some
 * managed services do not report the facts for `zones`. Without `writes`, verification changes nothing and cannot pass,
 * because nothing shows that clients can write.
 */
export const OPTIONAL_ASSERTIONS = ["settings", "zones", "writes"] as const;
export type OptionalAssertion = (typeof OPTIONAL_ASSERTIONS)[number];

/** Whether this project deployed the servers in pods, so that `kubectl` and `pulumi up` reach them. */
export const isInPods = ({ ways }: DeploymentFacts): boolean => ways !== undefined;

/** The facts about all nodes of a deployment, and the wanted state of the deployment. */
export interface DeploymentFacts {
  readonly deployment: string;
  readonly mode: Mode;
  /** The wanted numbers of primaries and replicas. If a number is missing, verification reads it from the nodes. */
  readonly shape: Partial<Shape>;
  /** Directives that must have the given values on every node. */
  readonly directives: ReadonlyMap<string, string>;
  readonly nodes: readonly NodeFacts[];
  /** Configured ACL rules of each user except `default`, by user name. Undefined if no users are configured. */
  readonly users?: Readonly<Record<string, string>> | undefined;
  /** Machine settings that the platform promises. Undefined if the platform makes no promise. */
  readonly tuning?: ExpectedTuning | undefined;
  /** The zones over which the nodes should be spread. Undefined if zones are known only from the nodes. */
  readonly zones?: readonly string[] | undefined;
  /** The facts about the Sentinels. Undefined if the deployment should have no Sentinels. */
  readonly sentinels?: { readonly settings: SentinelSettings; readonly nodes: readonly SentinelFacts[] } | undefined;
  /**
   * Host names to which clients connect, with the ready endpoints behind each name. Undefined if the platform has no
   * such names.
   */
  readonly ways?: Observation<readonly ClientWayFacts[]> | undefined;
  /** The endpoints that nodes and Sentinels give to clients. Undefined if nobody asked for them. */
  readonly announced?: readonly AnnouncedEndpoint[] | undefined;
  /** Assertions that the user wants to skip. The verdict names the skipped assertions. */
  readonly skippedAssertions: readonly OptionalAssertion[];
}

export interface Counters {
  /** A restart sets the counters to zero. */
  readonly runId: string;
  /** Number of expired and evicted keys. */
  readonly removed: number;
  /** Number of calls of commands that may remove keys. One call may remove any number of keys. */
  readonly calls: number;
}

export interface ShardData {
  /** Empty in replication mode. */
  readonly slots: string;
  readonly replicationId: string;
  /** Offset in the replication stream that all nodes of the shard had reached, bytes. */
  readonly offset: number;
  readonly keys: number;
  readonly unsaved: boolean;
  readonly appendOnly: boolean;
  readonly counters: Readonly<Record<string, Counters>>;
}

/** The mark that a verification leaves: the state of a deployment's data at that time. */
export interface SeenData {
  readonly seenAt: string;
  readonly shards: readonly ShardData[];
}
