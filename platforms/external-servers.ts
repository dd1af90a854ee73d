/** Servers that this project did not deploy and that this machine can reach. Plain data without secrets. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "../valkey/connection";
import type { Deployment } from "../valkey/deployment";
import type { NodeAccess, DeploymentNode, Mode } from "../valkey/node";
import type { Shape } from "../valkey/topology/placement";
import type { OptionalAssertion } from "../valkey/verification/facts";

/** TLS settings of the connections. */
interface ExternalTls {
  /** Certificate of the certificate authority, PEM. @default the authorities that this machine trusts */
  readonly caCertificate?: string | undefined;
  /** Name that the servers' certificates must contain. @default the host of each node */
  readonly serverName?: string | undefined;
  /** Whether any certificate is accepted. @default false */
  readonly insecure?: boolean | undefined;
}

export interface ExternalServers {
  readonly platform: "external";
  readonly name: string;
  readonly mode: Mode;
  /** Expected numbers of primaries and replicas. If a number is missing, verification reads it from the nodes. */
  readonly shape: Partial<Shape>;
  /** All nodes: primaries and replicas. */
  readonly nodes: readonly DeploymentNode[];
  /** Name of the user that logs in. @default the user `default` */
  readonly username?: string | undefined;
  /** TLS settings. @default connections are not encrypted */
  readonly tls?: ExternalTls | undefined;
  /** Assertions that verification skips. */
  readonly skippedAssertions: readonly OptionalAssertion[];
  /**
   * Whether the benchmark may overwrite and delete existing keys that have the names of its own keys. With `false`, the
   * benchmark is refused if there are such keys.
   */
  readonly overwriteKeys: boolean;
}

/**
 * Makes a deployment of servers that this project did not deploy. This function opens no connection.
 * @param password password of the servers; undefined if they have none
 * @param directory directory for a file with the certificate of the authority, which load generators need
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
    connect: (node, timeoutMs) => connect(node.name, node.endpoint, access, timeoutMs),
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
