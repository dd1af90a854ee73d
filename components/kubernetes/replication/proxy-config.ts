/** The configuration of the proxies that send clients to the primary. Pure. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { CLIENT_PORT } from "../layout";
import { TLS_FILES } from "../server-config";

const CONFIG = readFileSync(join(__dirname, "haproxy.cfg"), "utf8");

/**
 * HAProxy asks every server for its role, and cuts clients' connections to a server that answers twice as a replica.
 * The clients connect again and reach the new primary: `redispatch` sends them to it at once when the former one is
 * closed. By `default` a check takes the options of its server's line, those of TLS too. The role is in the first 64 bytes of the answer; without `min-recv` a replica's check lasts until its time
 * limit, and its promotion is noticed that much later. With `init-state down` a server whose pod is back gets no
 * clients before it has answered. Without `strict-limits` HAProxy starts also where the machine
 * allows fewer open files than two for each connection. The password comes from the environment.
 * @param hosts DNS names of the servers, whose addresses may change
 * @param tls whether connections are encrypted: those of clients are passed through, and the proxy's own check certificate and name
 */
export function proxyConfig(hosts: readonly string[], tls: boolean): string {
  const servers = hosts.map((host) => {
    const secure = tls
      ? ` check-ssl verify required ca-file ${TLS_FILES.authority} check-sni ${host} verifyhost ${host}`
      : "";
    return `  server ${host.split(".")[0] ?? host} ${host}:${CLIENT_PORT} check${secure}`;
  });
  return `${CONFIG}${servers.join("\n")}\n`;
}
