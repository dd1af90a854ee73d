/** Settings that cannot be used: unknown to the server, set by the deployment itself, refused by servers, or not for this shape. */
import { type Problem, problem } from "../../lib/errors";
import { SETTINGS_FIELDS } from "../../model/settings";
import { didYouMean } from "../../lib/did-you-mean";
import type { Engine } from "./engines";
import { REPLICAS_NEEDED, toDirectives, type ServerSettings } from "./settings";
import { minorVersion } from "./version";
import knownDirectives from "./known-directives.json";

const PORTS = "Services, probes and other nodes expect the ports that the deployment chooses";
const ADDRESSES = "pods change their addresses, and each node announces its own address";
const PASSWORDS = "passwords and users change without a restart; see `password` and `users`";
const ROLES = "formation and failovers choose primaries";
const FILES = "the server's files are in the directory that the deployment chooses";
const PROCESS = "the platform starts and stops the process, and reads its log";
const CERTIFICATES = "the setting `tls` names the certificate";
const PARTS = "valkey.conf is one file, and is written as a whole";

/** Reason why the configuration must not set a directive, by name of the directive. */
export const RESERVED_DIRECTIVES: Readonly<Record<string, string>> = {
  ...each(PORTS, ["port", "tls-port", "cluster-port", "unixsocket"]),
  ...each(ADDRESSES, [
    "bind",
    "protected-mode",
    "cluster-announce-ip",
    "cluster-announce-hostname",
    "cluster-announce-port",
    "cluster-announce-tls-port",
    "cluster-announce-bus-port",
    "cluster-announce-client-ipv4",
    "cluster-announce-client-ipv6",
    "cluster-announce-client-port",
    "cluster-announce-client-tls-port",
    "cluster-preferred-endpoint-type",
    "replica-announce-ip",
    "slave-announce-ip",
    "replica-announce-port",
    "slave-announce-port",
  ]),
  ...each(PASSWORDS, ["requirepass", "primaryauth", "masterauth", "primaryuser", "masteruser", "user", "aclfile"]),
  ...each(ROLES, ["replicaof", "slaveof", "cluster-enabled"]),
  ...each(FILES, ["dir", "cluster-config-file"]),
  ...each(PROCESS, ["logfile", "pidfile", "daemonize", "supervised", "shutdown-on-sigterm", "shutdown-on-sigint"]),
  ...each(CERTIFICATES, [
    "tls-cert-file",
    "tls-key-file",
    "tls-ca-cert-file",
    "tls-ca-cert-dir",
    "tls-auth-clients",
    "tls-replication",
    "tls-cluster",
  ]),
  ...each(PARTS, ["include"]),
  "syslog-ident": "a server says with it which data it has loaded",
  "availability-zone": "it is the zone of the machine that the server runs on",
  loadmodule: "the image loads its modules",
  "rename-command": "formation, verification and probes send commands by their names",
};

/** A range of whole numbers; `size`, which is a number of bytes with or without a unit; or a list, of which the value is one word or several. */
export type AcceptedValue = { readonly least: number; readonly most: number } | "size" | readonly string[];

export interface KnownDirective {
  readonly versions: readonly string[];
  /** Undefined for text, and for forms that only the server knows. */
  readonly accepts?: AcceptedValue | undefined;
}

const KNOWN = knownDirectives as unknown as Readonly<Record<string, KnownDirective>>;
const VERSIONS = [...new Set(Object.values(KNOWN).flatMap(({ versions }) => versions))].sort();

export interface SettingsTarget {
  /** @default "valkey" */
  readonly engine?: Engine | undefined;
  /** Tag of an image. If the version is unknown, the settings of all versions are allowed. */
  readonly version?: string | undefined;
  /** Names of directives of the servers that this package does not know. @default none */
  readonly newerDirectives?: readonly string[] | undefined;
  readonly replicas: number;
}

export function settingProblems(settings: ServerSettings, target: SettingsTarget): Problem[] {
  const { replicas, engine = "valkey" } = target;
  const needed = settings[REPLICAS_NEEDED] ?? 0;
  const unwritable = `with ${needed}, no primary would accept writes; expected at most ${replicas}, the number of replicas of a primary`;
  return [...toDirectives(settings)].flatMap(([name, value]) => {
    const found = problemOf(name, target);
    if (found !== undefined) return [found];
    if (name === REPLICAS_NEEDED && needed > replicas) return [problem("no-writes", name, unwritable)];
    // Of its own fields, and of the form of a line, the schema says what is wrong.
    const isChecked = engine !== "valkey" || Object.hasOwn(SETTINGS_FIELDS, name) || value.includes("\n");
    const accepted = !isChecked && Object.hasOwn(KNOWN, name) ? KNOWN[name]?.accepts : undefined;
    const expected = accepted && expectedInstead(value, accepted);
    return expected === undefined ? [] : [problem("refused-value", name, `is ${value || '""'}; expected ${expected}`)];
  });
}

/** Undefined if servers accept the value. */
function expectedInstead(value: string, accepted: AcceptedValue): string | undefined {
  if (accepted === "size")
    return /^\d+(b|[kmg]b?)?$/i.test(value) ? undefined : "bytes, or a number with the unit kb, mb or gb, such as 64mb";
  if ("least" in accepted) {
    const { least, most } = accepted;
    const number = /^-?\d+$/.test(value) ? Number(value) : NaN;
    return number >= least && number <= most ? undefined : `a whole number from ${least} to ${most}`;
  }
  const words = value.toLowerCase().split(/\s+/);
  return words.every((word) => accepted.includes(word)) ? undefined : accepted.join(", ");
}

function problemOf(
  name: string,
  { engine = "valkey", version, newerDirectives = [] }: SettingsTarget,
): Problem | undefined {
  const reserved = Object.hasOwn(RESERVED_DIRECTIVES, name) ? RESERVED_DIRECTIVES[name] : undefined;
  if (reserved !== undefined)
    return problem("reserved", name, `the deployment decides this directive itself: ${reserved}`);
  // Directives of modules begin with the name of the module and a dot. Other engines have their own directives and
  // flags.
  if (engine !== "valkey" || name.includes(".") || newerDirectives.includes(name)) return undefined;
  const versions = Object.hasOwn(KNOWN, name) ? KNOWN[name]?.versions : undefined;
  if (versions === undefined) {
    const [oldest = "", newest = ""] = [VERSIONS[0], VERSIONS.at(-1)];
    const range = `Valkey ${oldest} to ${newest} has no directive of this name`;
    const meant = didYouMean(name, settable());
    const nearest = meant === "" ? "." : `;${meant}`;
    const remedy = "If a newer version has the directive, name it in newerDirectives";
    return problem("unknown-directive", name, `${range}${nearest} ${remedy}`);
  }
  const line = version === undefined ? undefined : minorVersion(version);
  if (line === undefined || !VERSIONS.includes(line) || versions.includes(line)) return undefined;
  const message = `Valkey ${line} does not have this directive; versions with it: ${versions.join(", ")}`;
  return problem("not-in-version", name, message);
}

function settable(): string[] {
  return Object.keys(KNOWN).filter((name) => !Object.hasOwn(RESERVED_DIRECTIVES, name));
}

function each(reason: string, directives: readonly string[]): Record<string, string> {
  return Object.fromEntries(directives.map((name) => [name, reason]));
}
