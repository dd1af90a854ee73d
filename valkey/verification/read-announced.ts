/** Open connections tell most servers behind endpoints. A new one is opened only where no connection leads. */
import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { connect as connectSocket, isIP, isIPv6 } from "node:net";
import { Failure, codeOf, messageOf } from "../../lib/errors";
import { Semaphore } from "../../lib/semaphore";
import { connect, readInfoSections } from "../connection";
import { type ConnectionAttempt, withConnection } from "../connections";
import type { Deployment } from "../deployment";
import { type Endpoint, formatEndpoint } from "../node";
import { type SentinelFacts, addressOf } from "../sentinel/facts";
import { parseInfo } from "../topology/replies";
import {
  announcedEndpoints,
  announcedReplicas,
  endpointsBySentinels,
  listeningPort,
  replicaEndpoints,
} from "./announced-endpoints";
import type { AnnouncedEndpoint, FoundServer, NodeFacts } from "./facts";

const ANSWER_MS = 2_000;
const AT_ONCE = 64;
/** Codes of errors that say that this machine has no way to an address of IPv6, though a client may have one. */
const NO_WAY = new Set(["ENETUNREACH", "EHOSTUNREACH", "EADDRNOTAVAIL", "EAFNOSUPPORT"]);

/** @param nodes facts of the attempts' nodes, in the same order */
export async function readAnnounced(
  deployment: Deployment,
  attempts: readonly ConnectionAttempt[],
  nodes: readonly NodeFacts[],
  sentinels: readonly SentinelFacts[],
): Promise<AnnouncedEndpoint[]> {
  const tls = deployment.access.tls !== undefined;
  const at = new Map(
    attempts.flatMap(({ node, connection }) => {
      const address = addressOf(connection);
      return address === undefined ? [] : [[node.name, address] as const];
    }),
  );
  const servers = new AnnouncedServers(deployment, nodes, at, tls, sentinels);
  const withServers = <T extends Omit<AnnouncedEndpoint, "node">>(endpoints: readonly T[]): Promise<T[]> =>
    Promise.all(endpoints.map(async (each) => ({ ...each, servers: await servers.behind(each) })));
  if (deployment.mode === "cluster") return withServers(announcedEndpoints(nodes, at, tls));
  const isTls = replicatesWithTls(nodes) ?? tls;
  const replicas = announcedReplicas(nodes, await withServers(replicaEndpoints(nodes, sentinels, isTls)));
  return withServers([...replicas, ...endpointsBySentinels(nodes, sentinels, isTls)]);
}

function replicatesWithTls(nodes: readonly NodeFacts[]): boolean | undefined {
  const [told] = nodes.flatMap(({ announcing }) =>
    announcing?.known === true ? (announcing.value.get("tls-replication") ?? []) : [],
  );
  return told === undefined ? undefined : told === "yes";
}

class AnnouncedServers {
  /** Nodes by endpoint, and whether they listen there with TLS, as far as the open connections tell. */
  readonly #known = new Map<string, { readonly name: string; readonly tls: boolean }>();
  readonly #nameOf: ReadonlyMap<string | undefined, string>;
  readonly #found = new Map<string, Promise<AnnouncedEndpoint["servers"]>>();
  readonly #tries = new Semaphore(AT_ONCE);

  constructor(
    private readonly deployment: Deployment,
    nodes: readonly NodeFacts[],
    at: ReadonlyMap<string, Endpoint>,
    private readonly tls: boolean,
    sentinels: readonly SentinelFacts[],
  ) {
    this.#nameOf = new Map([
      ...nodes.map((each) => [this.#idOf(each), each.node.name] as const),
      ...sentinels.map(({ node, runId }) => [runId, node.name] as const),
    ]);
    for (const { node, address } of sentinels)
      if (address !== undefined) this.#known.set(keyOf(address), { name: node.name, tls });
    for (const each of nodes) {
      const { name } = each.node;
      const reached = at.get(name);
      const other = listeningPort(each, !tls);
      if (reached === undefined || this.#idOf(each) === undefined) continue;
      this.#known.set(keyOf(reached), { name, tls });
      if (other !== undefined) this.#known.set(keyOf({ ...reached, port: other }), { name, tls: !tls });
    }
  }

  #idOf({ view, info }: NodeFacts): string | undefined {
    if (this.deployment.mode === "cluster") return view.known ? view.value.selfId : undefined;
    return info.known ? info.value.get("run_id") : undefined;
  }

  /** The servers behind an endpoint, or the reason why its host name has no address. */
  behind({ endpoint, tls }: Omit<AnnouncedEndpoint, "node">): Promise<AnnouncedEndpoint["servers"]> {
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
    const isCluster = this.deployment.mode === "cluster";
    const id = await withConnection(opening, async (connection) =>
      isCluster
        ? connection.cluster("MYID")
        : (parseInfo(await readInfoSections(connection, "server")).get("run_id") ?? ""),
    );
    const kind = isCluster ? "node ID" : "run ID";
    return { name: this.#nameOf.get(id) ?? `a different server (${kind} ${id.slice(0, 8)}…)` };
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
