/** valkey.conf of a server in a pod. Pure. */
import { compact } from "../../lib/compact";
import { USERS_FILE } from "../../platforms/kubernetes/access/overlap-names";
import type { Credentials } from "../../valkey/access/users";
import { aclFile } from "../../valkey/access/users";
import { formatConfigFile } from "../../valkey/settings/settings";
import type { Tls } from "./arguments";
import type { DirectiveEngine } from "./engines";
import { ENGINE_PROGRAMS } from "./engines";
import { BUS_PORT, CLIENT_PORT, DATA_DIRECTORY, SECRET_DIRECTORY, TLS_DIRECTORY } from "./layout";

/**
 * File in the Secret that sets the password. The password is not in valkey.conf, because a ConfigMap holds valkey.conf.
 */
const PASSWORD_CONFIG = "password.conf";
/** File in the Secret that contains only the password, for tools. */
export const PASSWORD_FILE = "password";
/** File in the Secret that contains only the password of the user `admin` of Sentinels, if there are Sentinels. */
export { SENTINEL_PASSWORD_FILE } from "../../platforms/kubernetes/access/overlap-names";

/** Last line of every valkey.conf. It is last so that the directives in the Secret override all other directives. */
const ACCESS_INCLUDE = formatConfigFile(new Map([["include", `${SECRET_DIRECTORY}/${PASSWORD_CONFIG}`]]));

/** Files of the TLS Secret. Their names are the keys that cert-manager writes. */
export const TLS_FILES = {
  certificate: `${TLS_DIRECTORY}/tls.crt`,
  key: `${TLS_DIRECTORY}/tls.key`,
  authority: `${TLS_DIRECTORY}/ca.crt`,
} as const;

/** Files of a Secret by name, each with a function that makes its text from the credentials. */
export type SecretFiles = Readonly<Record<string, (credentials: Credentials) => string>>;

/** Values of directives of valkey.conf, by name of the directive. */
type Directives = ReadonlyMap<string, string>;

/** Configuration that all cluster nodes have in common. Settings that differ between pods are on the command line. */
export function clusterConfig(directives: Directives, tls: Tls | undefined): string {
  const own = new Map([
    ...(tls === undefined
      ? [["port", String(CLIENT_PORT)] as const]
      : [...tlsDirectives(), ["tls-cluster", "yes"] as const]),
    ["dir", DATA_DIRECTORY],
    ["cluster-enabled", "yes"],
    ["cluster-config-file", "nodes.conf"],
    ["cluster-port", String(BUS_PORT)],
    // Clients get IP addresses, because DNS caches would give them the old address of a restarted pod. With TLS they
    // get names, because certificates contain names.
    ["cluster-preferred-endpoint-type", tls === undefined ? "ip" : "hostname"],
  ]);
  return formatConfigFile(own) + formatConfigFile(directives) + ACCESS_INCLUDE;
}

function tlsDirectives(): (readonly [string, string])[] {
  return [
    ["port", "0"],
    ["tls-port", String(CLIENT_PORT)],
    ["tls-cert-file", TLS_FILES.certificate],
    ["tls-key-file", TLS_FILES.key],
    ["tls-ca-cert-file", TLS_FILES.authority],
    // Clients authenticate by password, nodes by certificate.
    ["tls-auth-clients", "optional"],
    ["tls-replication", "yes"],
  ];
}

/**
 * The given directives, and one additional directive that contains the number of replicas. With this directive, a
 * primary sends its data as soon as all replicas have asked for the data, and at the latest after
 * `repl-diskless-sync-delay`. A change of the number of replicas restarts no server.
 */
export function withReplicaCount(directives: Directives, replicas: number): Directives {
  return new Map([["repl-diskless-sync-max-replicas", String(replicas)], ...directives]);
}

interface ReplicationConfig {
  readonly tls?: Tls | undefined;
  /** Whether there are Sentinels, which promote a replica when the primary stops. */
  readonly watched: boolean;
}

/**
 * Configuration that all nodes in replication mode have in common. A replica gets the address of its primary on its
 * command line. Without Sentinels no replica takes over from a primary that stops. So the primary saves its data before
 * it stops, even if `save` is off and there is no append-only file. Without saved data, the primary would come back
 * empty.
 */
export function replicationConfig(directives: Directives, { tls, watched }: ReplicationConfig): string {
  const own = new Map(
    compact([
      ...(tls === undefined ? [["port", String(CLIENT_PORT)] as const] : tlsDirectives()),
      ["dir", DATA_DIRECTORY],
      watched ? undefined : (["shutdown-on-sigterm", "save"] as const),
    ]),
  );
  return formatConfigFile(own) + formatConfigFile(directives) + ACCESS_INCLUDE;
}

/**
 * Text of the file with the password, which valkey.conf includes from the Secret. Servers read this file when they
 * start. Running Valkey servers get new users and passwords from the resource `Access` instead.
 */
function passwordConfig(password: string, engine: DirectiveEngine = "valkey"): string {
  const quoted = quote(password);
  const own = engine === "valkey" ? `aclfile ${SECRET_DIRECTORY}/${USERS_FILE}` : `requirepass ${quoted}`;
  return `${own}\n${ENGINE_PROGRAMS[engine].primaryPassword} ${quoted}\n`;
}

/** Files of the Secret with the users and passwords that the server accepts. */
export function accessFiles(engine: DirectiveEngine = "valkey"): SecretFiles {
  return {
    [PASSWORD_CONFIG]: ({ password }) => passwordConfig(password, engine),
    ...(engine === "valkey" ? { [USERS_FILE]: (credentials: Credentials) => aclFile(credentials) } : {}),
  };
}

/** Quotes one argument of valkey.conf. */
function quote(value: string): string {
  return `"${value.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}
