/** One Valkey node: its address, its zone, and the credentials for connections. */

/**
 * `replication` means one primary and its replicas. `cluster` means several primaries that share the 16384 slots, and
 * their replicas.
 */
export type Mode = "replication" | "cluster";

/** The TCP address of a server. IPv6 addresses have no brackets. */
export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

/** One Valkey node of a deployment. */
export interface DeploymentNode {
  /** Name of the node, unique in its deployment. */
  readonly name: string;
  /** Zone of the node. Verification fails if the zone is undefined. */
  readonly zone: string | undefined;
  /** Machine on which the node runs: a host, or a Kubernetes node. */
  readonly machine: string;
  /** The address that the other nodes and the load generators use. */
  readonly endpoint: Endpoint;
  /** The port of the cluster bus. @default the endpoint's port + 10000 */
  readonly busPort?: number | undefined;
}

/** Credentials and transport security, the same for every node. */
export interface NodeAccess {
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  /**
   * Former password. A connection tries this password if a server refuses `password`. After a change of the password,
   * some servers can still have the former password.
   */
  readonly formerPassword?: string | undefined;
  readonly tls?: TlsFiles | undefined;
}

/** Files and options for TLS. They have the names of valkey-cli's options. */
export interface TlsFiles {
  readonly cacert?: string | undefined;
  /** Trusted certificates as PEM text, instead of a file. */
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  readonly sni?: string | undefined;
  /** Whether to accept any certificate. */
  readonly insecure: boolean;
  /** Whether to accept any name on a certificate of a trusted authority, as valkey-cli does. @default false */
  readonly anyName?: boolean | undefined;
}

/** An endpoint as text, such as `10.0.0.1:6379` or `[fd00::1]:6379`. */
export function formatEndpoint({ host, port }: Endpoint): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** @param host an address or a host name. In a pod's host name, the first label is the name of the node */
export function nodeNameAt(
  nodes: readonly Pick<DeploymentNode, "name" | "endpoint">[],
  host: string,
  port: number,
): string | undefined {
  const byAddress = nodes.find(({ endpoint }) => endpoint.host === host && endpoint.port === port);
  return (byAddress ?? nodes.find(({ name }) => name === host.split(".")[0]))?.name;
}
