/** A deployment: the Valkey nodes that serve one data set, where they are and how to reach them. */
import type { Connection } from "./connection";
import type { Sentinels } from "./sentinel/plan";
import type { Shape } from "./topology/placement";

/** `replication`: one primary and its replicas. `cluster`: 16384 slots over several primaries and their replicas. */
export type Mode = "replication" | "cluster";

export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

/** One Valkey node. */
export interface DeploymentNode {
  /** Unique in its deployment. */
  readonly name: string;
  /** Undefined when nobody knows, which verification does not let pass. */
  readonly zone: string | undefined;
  /** What the node runs on: a host, or what Kubernetes calls a node. */
  readonly machine: string;
  /** Where its peers and the load generators find it. */
  readonly endpoint: Endpoint;
  /** The cluster bus, where it is not at the endpoint's port + 10000. */
  readonly busPort?: number | undefined;
}

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

/** Credentials and transport security, the same for every node. */
export interface Access {
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly tls?: TlsFiles | undefined;
}

/** Files as valkey-cli's options of the same names take them. */
export interface TlsFiles {
  readonly cacert?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  readonly sni?: string | undefined;
  /** Accept any certificate. */
  readonly insecure: boolean;
  /** Accept any name on a certificate of a trusted authority, as valkey-cli does. @default false */
  readonly anyName?: boolean | undefined;
}

export function formatEndpoint({ host, port }: Endpoint): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** The node at an address, or by a host name that begins with its name, as pods' do. */
export function nodeAt(nodes: readonly Pick<DeploymentNode, "name" | "endpoint">[], host: string, port: number): string | undefined {
  const found = nodes.find(({ endpoint }) => endpoint.host === host && endpoint.port === port) ?? nodes.find(({ name }) => name === host.split(".")[0]);
  return found?.name;
}
