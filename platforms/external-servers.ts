/** Servers that somebody else runs and that this machine can reach: plain data without secrets. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "../valkey/connection";
import type { Deployment } from "../valkey/deployment";
import type { NodeAccess, DeploymentNode, Mode } from "../valkey/node";
import type { Shape } from "../valkey/topology/placement";
import type { OptionalAssertion } from "../valkey/verification/facts";

/** Encryption of connections. */
export interface ExternalTls {
  /** Certificate of the authority, PEM. @default the authorities that this machine trusts */
  readonly caCertificate?: string | undefined;
  /** Name on the servers' certificates. @default the host of each node */
  readonly serverName?: string | undefined;
  /** Accept any certificate. @default false */
  readonly insecure?: boolean | undefined;
}

export interface ExternalServers {
  readonly platform: "external";
  readonly name: string;
  readonly mode: Mode;
  /** The wanted numbers of nodes. Those left out are inferred from the nodes. */
  readonly shape: Partial<Shape>;
  /** Primaries and replicas. */
  readonly nodes: readonly DeploymentNode[];
  /** @default the user `default` */
  readonly username?: string | undefined;
  /** @default connections are not encrypted */
  readonly tls?: ExternalTls | undefined;
  /** Assertions that verification leaves out. */
  readonly skippedAssertions: readonly OptionalAssertion[];
  /** Whether keys that have the benchmark's names are overwritten and removed, instead of refused. */
  readonly overwriteKeys: boolean;
}

/**
 * Connects to nothing yet.
 * @param password undefined where the servers have none
 * @param directory where the authority's certificate is written for load generators, which take a file
 */
export function openExternalServers(
  { name, mode, shape, nodes, username, tls }: ExternalServers,
  password: string | undefined,
  directory: string,
): Deployment {
  const access: NodeAccess = {
    username,
    password,
    ...(tls === undefined ? {} : { tls: tlsFiles(tls, join(directory, `${name}-ca.pem`)) }),
  };
  return {
    name,
    mode,
    shape,
    nodes,
    directives: new Map(),
    access,
    connect: (node) => connect(node.name, node.endpoint, access),
  };
}

function tlsFiles({ caCertificate, serverName, insecure = false }: ExternalTls, path: string): NodeAccess["tls"] {
  if (caCertificate !== undefined) writeFileSync(path, caCertificate);
  return { cacert: caCertificate === undefined ? undefined : path, sni: serverName, insecure };
}

/** Whether a host is this machine. */
export function isLocalHost(host: string): boolean {
  return ["localhost", "::1"].includes(host) || host.startsWith("127.");
}
