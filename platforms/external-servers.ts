/** Servers that this project did not deploy and that this machine can reach. Plain data without secrets. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "../valkey/connection";
import type { Deployment } from "../valkey/deployment";
import type { NodeAccess, DeploymentNode, Mode } from "../valkey/node";
import type { Shape } from "../valkey/topology/placement";
import type { OptionalAssertion } from "../valkey/verification/facts";

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
  /** If a number is missing, verification reads it from the nodes. */
  readonly shape: Partial<Shape>;
  readonly nodes: readonly DeploymentNode[];
  /** Name of the user that logs in. @default the user `default` */
  readonly username?: string | undefined;
  /** TLS settings. @default connections are not encrypted */
  readonly tls?: ExternalTls | undefined;
  readonly skippedAssertions: readonly OptionalAssertion[];
  /** Whether existing keys with the names of the benchmark's own may be overwritten and deleted; else it is refused. */
  readonly overwriteKeys: boolean;
}

/** Opens no connection. @param directory for a file with the certificate of the authority, for load generators */
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

export function isLocalHost(host: string): boolean {
  return ["localhost", "::1"].includes(host) || host.startsWith("127.");
}
