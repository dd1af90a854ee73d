/** Directives that the configuration must not set, because the deployment sets them. Pure. */

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
  "availability-zone": "it is the zone of the machine that the server runs on",
  loadmodule: "the image loads its modules",
  "rename-command": "formation, verification and probes send commands by their names",
};

function each(reason: string, directives: readonly string[]): Record<string, string> {
  return Object.fromEntries(directives.map((name) => [name, reason]));
}
