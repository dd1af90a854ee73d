import { Failure } from "../../lib/errors";
import type { Connection } from "../../valkey/connection";
import { type ConnectionAttempt, withEveryNode, withConnection } from "../../valkey/connections";
import { readClusterDatabases } from "../../valkey/databases";
import type { Deployment } from "../../valkey/deployment";
import { type DeploymentNode, formatEndpoint } from "../../valkey/node";
import type { StreamSource } from "../replication-stream/replica-link";
import { type ClusterView, type KnownNode, ViewParser } from "../../valkey/topology/cluster-view";
import { hasPrimaryRole, infoNumber, parseFlatReply, parseInfo } from "../../valkey/topology/replies";
import { type SlotRange, SLOT_COUNT, countSlots, formatRanges } from "../../valkey/topology/slots";

interface ShardMember {
  readonly node: DeploymentNode;
  readonly isPrimary: boolean;
  readonly isLinked: boolean;
}

interface LiveShard {
  readonly slots: string | undefined;
  readonly members: readonly ShardMember[];
}

export interface Layout {
  readonly shards: readonly LiveShard[];
  /** Reason why it cannot be archived now, such as slots that move. */
  readonly unsettled: string | undefined;
}

export async function readLayout(deployment: Deployment): Promise<Layout> {
  return withEveryNode(deployment, async (attempts) => {
    refuseSilence(deployment, attempts);
    return deployment.mode === "cluster" ? clusterLayout(attempts) : replicationLayout(attempts);
  });
}

async function replicationLayout(attempts: readonly ConnectionAttempt[]): Promise<Layout> {
  const members = await Promise.all(reached(attempts).map(readMember));
  const primaries = members.filter(({ isPrimary }) => isPrimary);
  const unsettled =
    primaries.length > 1
      ? `several nodes are primaries: ${primaries.map(({ node }) => node.name).join(", ")}`
      : undefined;
  return { shards: [{ slots: undefined, members }], unsettled };
}

async function clusterLayout(attempts: readonly ConnectionAttempt[]): Promise<Layout> {
  const parser = new ViewParser();
  const found = await Promise.all(
    reached(attempts).map(async (each) => {
      const text = String(await each.connection.cluster("NODES"));
      return { member: await readMember(each), view: parser.parse(text) };
    }),
  );
  const lacking = lackingNodes(found.map(({ view }) => view));
  if (lacking.length > attempts.length - found.length)
    throw new Failure(
      `nodes with slots are not in the list of nodes: ${lacking.join(", ")}; ` +
        "start the command again with a list that has them",
    );
  const shards = new Map<string, { slots: readonly SlotRange[]; members: ShardMember[] }>();
  for (const { member, view } of found) {
    const primary = ownerOf(view);
    if (primary === undefined) continue;
    const key = formatRanges(primary.slots);
    const shard = shards.get(key) ?? { slots: primary.slots, members: [] };
    shard.members.push(member);
    shards.set(key, shard);
  }
  const sorted = [...shards].sort(([, a], [, b]) => (a.slots[0]?.from ?? 0) - (b.slots[0]?.from ?? 0));
  const covered = countSlots(sorted.flatMap(([, { slots }]) => slots));
  const isMoving = found.some(({ view }) => view.openSlots.length > 0);
  return {
    shards: sorted.map(([slots, { members }]) => ({ slots, members })),
    unsettled: isMoving
      ? "slots move between shards"
      : covered === SLOT_COUNT
        ? undefined
        : `the shards that answer have ${covered} slots, not exactly ${SLOT_COUNT}`,
  };
}

function ownerOf({ selfId, topology: { nodes } }: ClusterView): KnownNode | undefined {
  const self = nodes.get(selfId);
  const primary = self?.primaryId === undefined ? self : nodes.get(self.primaryId);
  return primary === undefined || primary.slots.length === 0 ? undefined : primary;
}

/** Views of nodes that belong to no shard do not count, because they may be old. */
export function lackingNodes(views: readonly ClusterView[]): string[] {
  const current = views.filter((view) => ownerOf(view) !== undefined);
  const answered = new Set(current.flatMap((view) => [view.selfId, ownerOf(view)?.id]));
  const lacking = new Map<string, string>();
  for (const { topology } of current)
    for (const { id, slots, address } of topology.nodes.values())
      if (slots.length > 0 && !answered.has(id)) lacking.set(id, formatEndpoint(address));
  return [...lacking.values()];
}

/** The view of a node in no shard does not count: it may have left. @throws Failure if none answers */
export async function readSlots(
  deployment: Deployment,
): Promise<{ readonly slots: string[]; readonly moves: boolean }> {
  let last: unknown;
  for (const node of deployment.nodes) {
    try {
      const text = await withConnection(deployment.connect(node), (connection) => connection.cluster("NODES"));
      const view = new ViewParser().parse(String(text));
      if (ownerOf(view) === undefined) continue;
      const ranges = [...view.topology.nodes.values()].map(({ slots }) => slots).filter((slots) => slots.length > 0);
      return { slots: ranges.map(formatRanges).sort(), moves: view.openSlots.length > 0 };
    } catch (error) {
      last = error;
    }
  }
  throw new Failure(`no node of ${deployment.name} answers`, { cause: last });
}

/** Number of databases of each server. Undefined if the program's user has no right to read it. */
export async function readDatabases(deployment: Deployment): Promise<number | undefined> {
  return withEveryNode(deployment, async (attempts) => {
    const [first] = reached(attempts);
    if (first === undefined) return undefined;
    try {
      if (deployment.mode === "cluster") return await readClusterDatabases(first.connection);
      return infoNumber(parseFlatReply(await first.connection.config("GET", "databases")), "databases");
    } catch {
      return undefined;
    }
  });
}

/** A replica is better, because a primary would list this program as one of its replicas. */
export function chooseSource({ members }: LiveShard): DeploymentNode | undefined {
  const replica = members.find(({ isPrimary, isLinked }) => !isPrimary && isLinked);
  return (replica ?? members.find(({ isPrimary }) => isPrimary))?.node;
}

export function sourceAt(deployment: Deployment, node: DeploymentNode): StreamSource {
  return { name: node.name, endpoint: node.endpoint, access: deployment.access };
}

type Reached = Extract<ConnectionAttempt, { readonly connection: Connection }>;

const reached = (attempts: readonly ConnectionAttempt[]): Reached[] =>
  attempts.filter((each): each is Reached => each.connection !== undefined);

async function readMember({ node, connection }: Reached): Promise<ShardMember> {
  const info = parseInfo(await connection.info("replication"));
  return { node, isPrimary: hasPrimaryRole(info), isLinked: info.get("master_link_status") === "up" };
}

function refuseSilence({ name }: Deployment, attempts: readonly ConnectionAttempt[]): void {
  if (reached(attempts).length > 0) return;
  const reasons = attempts.flatMap((each) => (each.connection === undefined ? [each.why] : []));
  throw new Failure(`no node of ${name} answers: ${reasons.join("; ")}`);
}
