/** The configuration of the proxies that send clients to the primary. Pure. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { CLIENT_PORT, PROXY_STATUS_PORT, SENTINEL_PORT } from "../layout";
import { TLS_FILES } from "../server-config";

const read = (name: string): string => readFileSync(join(__dirname, name), "utf8");
export const PROXY_CONFIG_FILE = "haproxy.cfg";
const CONFIG = read(PROXY_CONFIG_FILE);
const SCRIPTS = Object.fromEntries(["follow-password.lua", "follow-sentinels.lua"].map((name) => [name, read(name)]));

/**
 * Time between two checks of the primary, milliseconds. HAProxy also limits the time for the connection of a check and
 * its TLS handshake to this time. On a machine without idle processors, a handshake can take longer than 250 ms.
 */
const INTERVAL_MS = 400;
/** Lowest and highest number of failed checks after which HAProxy sends no clients to a server any more. */
const [FEWEST_CHECKS, MOST_CHECKS] = [4, 16];

/** The servers that a proxy checks, and the Sentinels that it asks. */
export interface ProxyPlan {
  /** Name of the deployment, under which Sentinels know the primary. */
  readonly deployment: string;
  /** DNS names of the servers; their addresses may change. */
  readonly servers: readonly string[];
  /** DNS names of the Sentinels. */
  readonly sentinels: readonly string[];
  /** Time without an answer after which Sentinels replace the primary, milliseconds. */
  readonly downAfterMs: number;
  /**
   * Whether connections are encrypted. Clients' connections are passed through; the proxy's own connections check the
   * certificates and names of servers and Sentinels.
   */
  readonly tls: boolean;
}

/**
 * Files of a proxy by name: the configuration of HAProxy, and its scripts. Clients reach only the server that Sentinels
 * name (follow-sentinels.lua), and only while that server says that it is the primary. HAProxy asks every server for
 * its role. When a server has answered several times that it is a replica, HAProxy closes the clients' connections to
 * this server. The clients connect again and reach the new primary. Reasons for the options:
 *
 * - `weight 0`: a server gets no clients before Sentinels have named it. Its checks go on.
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
 * Passwords come from files, so that a new password needs no restart. The control socket has no file, so that only
 * containers of the pod reach it. `frontend status` answers the readiness probe.
 */
export function proxyFiles({
  deployment,
  servers,
  sentinels,
  downAfterMs,
  tls,
}: ProxyPlan): Readonly<Record<string, string>> {
  const fall = Math.min(MOST_CHECKS, Math.max(FEWEST_CHECKS, Math.round(downAfterMs / INTERVAL_MS)));
  const verified = (host: string): string => `verify required ca-file ${TLS_FILES.authority} verifyhost ${host}`;
  const serverLine = (host: string): string =>
    `  server ${host} ${host}:${CLIENT_PORT} check${tls ? ` check-ssl check-sni ${host} ${verified(host)}` : ""}\n`;
  const sentinelSection = (host: string, index: number): string =>
    [
      `\nlisten sentinel-${index}`,
      `  bind abns@sentinel-${index}`,
      `  server sentinel ${host}:${SENTINEL_PORT}${tls ? ` ssl sni str(${host}) ${verified(host)}` : ""} ${RESOLVED}\n`,
    ].join("\n");
  const values: Readonly<Record<string, string | number>> = {
    ...{ DEPLOYMENT: deployment, COUNT: sentinels.length, STATUS_PORT: PROXY_STATUS_PORT },
    ...{ INTERVAL: INTERVAL_MS, FALL: fall, RESOLVED },
  };
  const config = CONFIG.replace(/@(\w+)@/g, (_word, name: string) => String(values[name]));
  return {
    [PROXY_CONFIG_FILE]: config + servers.map(serverLine).join("") + sentinels.map(sentinelSection).join(""),
    ...SCRIPTS,
  };
}

/** Options of a server whose address HAProxy looks up again and again. */
const RESOLVED = "resolvers cluster resolve-prefer ipv4 init-addr none";
