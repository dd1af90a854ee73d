/** One Valkey node: its address, its zone, and the credentials that a connection to it needs. Plain data. */

/** `replication`: one primary and its replicas. `cluster`: 16384 slots over several primaries and their replicas. */
export type Mode = "replication" | "cluster";

/** The TCP address of a server. IPv6 addresses have no brackets. */
export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

/** One Valkey node of a deployment. */
export interface DeploymentNode {
  /** Unique in its deployment. */
  readonly name: string;
  /** Undefined where it is unknown; verification then fails. */
  readonly zone: string | undefined;
  /** Machine that the node runs on: a host, or a node of Kubernetes. */
  readonly machine: string;
  /** The address that its peers and the load generators use. */
  readonly endpoint: Endpoint;
  /** The port of the cluster bus. @default the endpoint's port + 10000 */
  readonly busPort?: number | undefined;
}

/** Credentials and transport security, the same for every node. */
export interface NodeAccess {
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  /** Tried where a server refuses the password: it may not have learnt a new one yet. */
  readonly formerPassword?: string | undefined;
  readonly tls?: TlsFiles | undefined;
}

/** Files and options of TLS, named as valkey-cli's options. */
export interface TlsFiles {
  readonly cacert?: string | undefined;
  /** Trusted certificates themselves, PEM, in place of a file. */
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  readonly sni?: string | undefined;
  /** Accept any certificate. */
  readonly insecure: boolean;
  /** Accept any name on a certificate of a trusted authority, as valkey-cli does. @default false */
  readonly anyName?: boolean | undefined;
}

/** `10.0.0.1:6379`, `[fd00::1]:6379`. */
export function formatEndpoint({ host, port }: Endpoint): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/**
 * The name of the node at an address.
 * @param host an address, or a host name whose first label is the node's name, as a pod's host name is
 * @returns undefined when no node is there
 */
export function nodeNameAt(
  nodes: readonly Pick<DeploymentNode, "name" | "endpoint">[],
  host: string,
  port: number,
): string | undefined {
  const byAddress = nodes.find(({ endpoint }) => endpoint.host === host && endpoint.port === port);
  return (byAddress ?? nodes.find(({ name }) => name === host.split(".")[0]))?.name;
}
