/** valkey.conf of a server in a pod. */
import { compact } from "../../lib/compact";
import { USERS_FILE } from "../../platforms/kubernetes/access/overlap-names";
import { type Credentials, aclFile } from "../../valkey/access/users";
import { formatConfigFile } from "../../valkey/settings/settings";
import type { Tls } from "./arguments";
import { type DirectiveEngine, ENGINE_PROGRAMS } from "./engines";
import { BUS_PORT, CLIENT_PORT, DATA_DIRECTORY, SECRET_DIRECTORY, TLS_DIRECTORY } from "./layout";

/** Not in valkey.conf, which a ConfigMap holds. */
const PASSWORD_CONFIG = "password.conf";
/** File in the Secret that contains only the password, for tools. */
export const PASSWORD_FILE = "password";
/** File in the Secret that contains only the password of the user `admin` of Sentinels, if there are Sentinels. */
export { SENTINEL_PASSWORD_FILE } from "../../platforms/kubernetes/access/overlap-names";

/** It is last so that the directives in the Secret override all other directives. */
const ACCESS_INCLUDE = formatConfigFile(new Map([["include", `${SECRET_DIRECTORY}/${PASSWORD_CONFIG}`]]));

/** Their names are the keys that cert-manager writes. */
export const TLS_FILES = {
  certificate: `${TLS_DIRECTORY}/tls.crt`,
  key: `${TLS_DIRECTORY}/tls.key`,
  authority: `${TLS_DIRECTORY}/ca.crt`,
} as const;

export type SecretFiles = Readonly<Record<string, (credentials: Credentials) => string>>;

type Directives = ReadonlyMap<string, string>;

/** Settings that differ between pods are on the command line. */
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
 * A primary then sends its data as soon as all replicas have asked, at the latest after `repl-diskless-sync-delay`. A
 * change of the number restarts no server.
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
 * A replica's primary is on its command line. Without Sentinels nobody takes over from a primary that stops, so it
 * saves its data, even without `save` or an append-only file: it would come back empty.
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

/** Servers read it when they start. Running servers get new users and passwords from the resource `Access`. */
function passwordConfig(password: string, engine: DirectiveEngine = "valkey"): string {
  const quoted = quote(password);
  const own = engine === "valkey" ? `aclfile ${SECRET_DIRECTORY}/${USERS_FILE}` : `requirepass ${quoted}`;
  return `${own}\n${ENGINE_PROGRAMS[engine].primaryPassword} ${quoted}\n`;
}

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
