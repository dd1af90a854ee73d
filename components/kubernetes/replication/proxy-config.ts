/** The configuration of the proxies that send clients to the primary. Pure. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { CLIENT_PORT } from "../layout";
import { TLS_FILES } from "../server-config";

const CONFIG = readFileSync(join(__dirname, "haproxy.cfg"), "utf8");

/**
 * Time between two checks of the primary, milliseconds. HAProxy also limits the time for the connection of a check and
 * its TLS handshake to this time. On a machine without idle processors, a handshake can take longer than 250 ms.
 */
const INTERVAL_MS = 400;
/** Lowest and highest number of failed checks after which HAProxy sends no clients to a server any more. */
const [FEWEST_CHECKS, MOST_CHECKS] = [4, 16];

/**
 * Configuration of HAProxy. HAProxy asks every server for its role. When a server has answered several times that it is
 * a replica, HAProxy closes the clients' connections to this server. The clients connect again and reach the new
 * primary. Reasons for the options:
 *
 * - `inter` and `fall`: a primary that does not answer keeps its clients about as long as Sentinels wait before they
 *   replace it. Before that, there is no other primary for these clients.
 * - `fastinter 10ms`: the answers of a replica come soon after each other, so that all of them take 0.2 to 0.4 s.
 * - `redispatch`: clients get the new primary at once when the former primary refuses their connection.
 * - `tcp-check connect default`: the check uses the options of the server's line, including those for TLS.
 * - `min-recv 64`: the role is in the first 64 bytes of the answer. Without this option the check of a replica lasts
 *   until its time limit, and HAProxy notices a promotion only after this time.
 * - `init-state down`: a server in a restarted pod gets no clients before it has answered.
 * - `no strict-limits`: HAProxy starts even if the machine allows fewer than two open files for each connection.
 *
 * The password comes from a file: see follow-password.lua. The control socket has no file, so that only containers of
 * the pod reach it.
 * @param downAfterMs time without an answer after which Sentinels replace the primary, milliseconds
 * @param hosts DNS names of the servers; their addresses may change
 * @param tls whether connections are encrypted. Clients' connections are passed through; the proxy's own connections
 *   check the servers' certificates and names
 */
export function proxyConfig(hosts: readonly string[], downAfterMs: number, tls: boolean): string {
  const fall = Math.min(MOST_CHECKS, Math.max(FEWEST_CHECKS, Math.round(downAfterMs / INTERVAL_MS)));
  const servers = hosts.map((host) => {
    const secure = tls
      ? ` check-ssl verify required ca-file ${TLS_FILES.authority} check-sni ${host} verifyhost ${host}`
      : "";
    return `  server ${host.split(".")[0] ?? host} ${host}:${CLIENT_PORT} check${secure}`;
  });
  const config = CONFIG.replace("@INTERVAL@", String(INTERVAL_MS)).replace("@FALL@", String(fall));
  return `${config}${servers.join("\n")}\n`;
}
