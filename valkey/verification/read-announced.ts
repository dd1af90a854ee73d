/** Open connections tell most servers behind endpoints. A new one is opened only where no connection leads. */
import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { connect as connectSocket, isIP, isIPv6 } from "node:net";
import { Failure, codeOf, messageOf } from "../../lib/errors";
import { Semaphore } from "../../lib/semaphore";
import { connect } from "../connection";
import { type ConnectionAttempt, withConnection } from "../connections";
import type { Deployment } from "../deployment";
import { type Endpoint, formatEndpoint } from "../node";
import { announcedEndpoints, listeningPort } from "./announced-endpoints";
import type { AnnouncedEndpoint, FoundServer, NodeFacts } from "./facts";

const ANSWER_MS = 2_000;
const AT_ONCE = 64;
/** Codes of errors that say that this machine has no way to an address of IPv6, though a client may have one. */
const NO_WAY = new Set(["ENETUNREACH", "EHOSTUNREACH", "EADDRNOTAVAIL", "EAFNOSUPPORT"]);

/** @param nodes facts of the attempts' nodes, in the same order @returns undefined in replication mode */
export async function readAnnounced(
  deployment: Deployment,
  attempts: readonly ConnectionAttempt[],
  nodes: readonly NodeFacts[],
): Promise<AnnouncedEndpoint[] | undefined> {
  if (deployment.mode !== "cluster") return undefined;
  const tls = deployment.access.tls !== undefined;
  const at = new Map(
    attempts.flatMap(({ node, connection }) => {
      // A forwarded connection has no address.
      const { remoteAddress: host, remotePort: port } = connection?.stream ?? {};
      return host === undefined || port === undefined ? [] : [[node.name, { host, port }] as const];
    }),
  );
  const servers = new AnnouncedServers(deployment, nodes, at, tls);
  return Promise.all(
    announcedEndpoints(nodes, at, tls).map(async (each) => ({ ...each, servers: await servers.behind(each) })),
  );
}

class AnnouncedServers {
  /** Nodes by endpoint, and whether they listen there with TLS, as far as the open connections tell. */
  readonly #known = new Map<string, { readonly name: string; readonly tls: boolean }>();
  readonly #nameOf: ReadonlyMap<string, string>;
  readonly #found = new Map<string, Promise<AnnouncedEndpoint["servers"]>>();
  readonly #tries = new Semaphore(AT_ONCE);

  constructor(
    private readonly deployment: Deployment,
    nodes: readonly NodeFacts[],
    at: ReadonlyMap<string, Endpoint>,
    private readonly tls: boolean,
  ) {
    this.#nameOf = new Map(nodes.flatMap(({ node, view }) => (view.known ? [[view.value.selfId, node.name]] : [])));
    for (const each of nodes) {
      const { name } = each.node;
      const reached = at.get(name);
      const other = listeningPort(each, !tls);
      if (reached === undefined || !each.view.known) continue;
      this.#known.set(keyOf(reached), { name, tls });
      if (other !== undefined) this.#known.set(keyOf({ ...reached, port: other }), { name, tls: !tls });
    }
  }

  /** The servers behind an endpoint, or the reason why its host name has no address. */
  behind({ endpoint, tls }: AnnouncedEndpoint): Promise<AnnouncedEndpoint["servers"]> {
    const key = `${formatEndpoint(endpoint)} ${tls}`;
    const found = this.#found.get(key) ?? this.#find(endpoint, tls);
    this.#found.set(key, found);
    return found;
  }

  async #find({ host, port }: Endpoint, tls: boolean): Promise<AnnouncedEndpoint["servers"]> {
    if (host === "" || (isIP(host) === 0 && this.deployment.hasClientsElsewhere === true)) return undefined;
    try {
      const addresses = isIP(host) > 0 ? [host] : (await lookup(host, { all: true })).map(({ address }) => address);
      return await Promise.all(addresses.map((address) => this.#serverAt({ host: address, port }, host, tls)));
    } catch (error) {
      return messageOf(error);
    }
  }

  async #serverAt(endpoint: Endpoint, name: string, tls: boolean): Promise<FoundServer> {
    const known = this.#known.get(keyOf(endpoint));
    if (known?.tls === tls) return { name: known.name };
    if (known !== undefined) return { why: `${known.name} listens there ${known.tls ? "with" : "without"} TLS` };
    if (this.deployment.hasClientsElsewhere === true) return "unknown";
    try {
      return await this.#tries.run(() => (tls === this.tls ? this.#identify(endpoint, name) : knock(endpoint)));
    } catch (error) {
      const cause = error instanceof Failure && error.cause !== undefined ? error.cause : error;
      if (isIPv6(endpoint.host) && NO_WAY.has(codeOf(cause) ?? "")) return "unknown";
      return { why: messageOf(cause) };
    }
  }

  async #identify(endpoint: Endpoint, name: string): Promise<FoundServer> {
    const { access } = this.deployment;
    // The certificate must be for the name that clients get.
    const tls = access.tls && { ...access.tls, sni: access.tls.sni ?? (isIP(name) > 0 ? undefined : name) };
    const opening = connect(name, endpoint, { ...access, tls }, ANSWER_MS);
    const id = await withConnection(opening, (connection) => connection.cluster("MYID"));
    return { name: this.#nameOf.get(id) ?? `a different server (node ID ${id.slice(0, 8)}…)` };
  }
}

/**
 * No certificates without TLS in verification, and no password over plain TCP with it.
 * @throws Error without an answer
 */
async function knock(endpoint: Endpoint): Promise<FoundServer> {
  const socket = connectSocket(endpoint);
  const late = setTimeout(() => void socket.destroy(new Error(`no answer within ${ANSWER_MS / 1000} s`)), ANSWER_MS);
  try {
    await once(socket, "connect");
    return "unknown";
  } finally {
    clearTimeout(late);
    socket.destroy();
  }
}

function keyOf({ host, port }: Endpoint): string {
  // An address of IPv6 has many forms. URLs contain the shortest one.
  const shortest = isIPv6(host) && !host.includes("%") ? new URL(`http://[${host}]`).hostname.slice(1, -1) : host;
  return formatEndpoint({ host: shortest, port });
}
