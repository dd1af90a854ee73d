/** One Valkey node: where it is and what a connection to it takes. Plain data. */
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
export function nodeNameAt(
  nodes: readonly Pick<DeploymentNode, "name" | "endpoint">[],
  host: string,
  port: number,
): string | undefined {
  const found =
    nodes.find(({ endpoint }) => endpoint.host === host && endpoint.port === port) ??
    nodes.find(({ name }) => name === host.split(".")[0]);
  return found?.name;
}
