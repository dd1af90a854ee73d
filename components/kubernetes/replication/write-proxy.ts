/** The configuration of the proxies that send clients to the primary, whoever that is. Pure. */
import { CLIENT_PORT } from "../layout";

/** Milliseconds between two questions to a node; whoever says twice that it is not the primary is not. */
const ASK_MS = 500;

/**
 * HAProxy asks every node whether it is the primary, and cuts clients' connections when it is no more: they connect anew and land with the
 * next. The password comes from the environment.
 * @param hosts of the nodes, as DNS has them; their addresses may change
 */
export function writeProxyConfig(hosts: readonly string[]): string {
  const servers = hosts.map((host) => `  server ${host.split(".")[0] ?? host} ${host}:${CLIENT_PORT} check`);
  return `global
  maxconn 20000
  log stdout format raw local0 notice

defaults
  mode tcp
  timeout connect 2s
  timeout client 24h
  timeout server 24h
  timeout check 1s

resolvers cluster
  parse-resolv-conf
  hold valid 1s
  hold nx 1s
  hold other 1s
  resolve_retries 3
  timeout resolve 1s
  timeout retry 1s

frontend write
  bind :${CLIENT_PORT}
  default_backend primary

backend primary
  option tcp-check
  tcp-check connect
  tcp-check send-lf "AUTH %[env(PASSWORD)]\\r\\n"
  tcp-check expect string +OK
  tcp-check send "INFO replication\\r\\n"
  tcp-check expect string role:master
  tcp-check send "QUIT\\r\\n"
  tcp-check expect string +OK
  default-server inter ${ASK_MS}ms fastinter ${ASK_MS / 2}ms downinter ${ASK_MS}ms fall 2 rise 1 on-marked-down shutdown-sessions resolvers cluster resolve-prefer ipv4 init-addr none
${servers.join("\n")}
`;
}
