/** valkey.conf of a server in a pod. Pure. */
import { createHash, createHmac } from "node:crypto";
import { compact } from "../../lib/compact";
import { USERS_FILE } from "../../platforms/kubernetes/access/overlap-names";
import type { Credentials } from "../../valkey/access/users";
import { aclFile } from "../../valkey/access/users";
import { formatConfigFile } from "../../valkey/settings/settings";
import type { Tls } from "./arguments";
import type { DirectiveEngine } from "./engines";
import { ENGINE_PROGRAMS } from "./engines";
import { BUS_PORT, CLIENT_PORT, DATA_DIRECTORY, SECRET_DIRECTORY, TLS_DIRECTORY } from "./layout";

/** File of the secret that sets the password: valkey.conf is in a ConfigMap, which holds no secrets. */
export const PASSWORD_CONFIG = "password.conf";
/** File of the secret with the password and nothing else, for tools. */
export const PASSWORD_FILE = "password";

/** The last line of every valkey.conf: what is in the secret counts. */
export const ACCESS_INCLUDE = formatConfigFile(new Map([["include", `${SECRET_DIRECTORY}/${PASSWORD_CONFIG}`]]));

/** Keys of the TLS secret, as cert-manager writes them. */
export const TLS_FILES = {
  certificate: `${TLS_DIRECTORY}/tls.crt`,
  key: `${TLS_DIRECTORY}/tls.key`,
  authority: `${TLS_DIRECTORY}/ca.crt`,
} as const;

/** Text of files of a secret, by name. */
export type SecretFiles = Readonly<Record<string, (credentials: Credentials) => string>>;

/** Directive to value. */
type Directives = ReadonlyMap<string, string>;

/** Configuration that all cluster nodes have in common. The server's command line has what differs between pods. */
export function clusterConfig(directives: Directives, tls: Tls | undefined): string {
  const own = new Map([
    ...(tls === undefined
      ? [["port", String(CLIENT_PORT)] as const]
      : [...tlsDirectives(), ["tls-cluster", "yes"] as const]),
    ["dir", DATA_DIRECTORY],
    ["cluster-enabled", "yes"],
    ["cluster-config-file", "nodes.conf"],
    ["cluster-port", String(BUS_PORT)],
    // Clients get addresses, because DNS caches the name of a restarted pod. A certificate needs names.
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
 * The directives, and one more: a primary sends its data as soon as all replicas have asked, at the latest after
 * `repl-diskless-sync-delay`. Another number of replicas restarts no server.
 */
export function withReplicaCount(directives: Directives, replicas: number): Directives {
  return new Map([["repl-diskless-sync-max-replicas", String(replicas)], ...directives]);
}

/** Differences between servers in replication mode. */
export interface ReplicationConfig {
  readonly tls?: Tls | undefined;
  /** Whether Sentinels have a replica take over from a primary that stops. */
  readonly watched: boolean;
}

/**
 * Configuration that all nodes in replication mode have in common. The command line names a replica's primary. Where nobody takes over
 * from a primary that stops, it saves its data first, also where `save` is off and there is no append-only file: it would come back empty.
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

/** The secret's file that the configuration includes. A running Valkey takes other users and passwords from elsewhere. */
export function passwordConfig(password: string, engine: DirectiveEngine = "valkey"): string {
  const quoted = quote(password);
  const own = engine === "valkey" ? `aclfile ${SECRET_DIRECTORY}/${USERS_FILE}` : `requirepass ${quoted}`;
  return `${own}\n${ENGINE_PROGRAMS[engine].primaryPassword} ${quoted}\n`;
}

/** The secret's files that tell the server who may log in. */
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

/**
 * As `checksum`, of a text that nobody may guess by it.
 * @param key random, and hidden from those who see the checksum
 */
export function keyedChecksum(key: string, text: string): string {
  return createHmac("sha256", key).update(text).digest("hex").slice(0, 32);
}

/** A new checksum restarts the pods that read the text. */
export function checksum(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}
