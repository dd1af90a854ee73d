import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "../../lib/errors";
import type { Deployment } from "../deployment";
import type { Deadline, FormationOptions } from "../membership/deadline";
import { fastPingIntervalMs } from "../membership/meet";
import { type MemberState, selfEntry, participants } from "../membership/member-state";
import type { Member } from "../membership/members";
import {
  meetNode,
  memberNamed,
  missingService,
  readDisagreement,
  readMemberStates,
  readViews,
  replicate,
} from "../membership/members";
import { FAST_SYNC_SETTINGS, TemporarySettings } from "../membership/temporary-settings";
import { hasPrimaryRole, infoNumber, parseInfo } from "../topology/replies";
import { countSlots } from "../topology/slots";
import { readUsedMemory } from "./memory-use";
import type { MigrationContext } from "./migration-context";
import type { ReplicaAssignment, ResizePlan } from "./resize-plan";
import { migrateSlots } from "./slot-migration";
import type { SlotTransfer } from "./slot-transfers";

/** Without it, the primary of a shard that loses its slots becomes a replica of their new owner, with its keys. */
const KEEP_EMPTY_SHARDS: ReadonlyMap<string, string> = new Map([["cluster-allow-replica-migration", "no"]]);
/** Time after which CLUSTER FAILOVER is sent again, milliseconds. By default, a replica gives up after 5 s. */
const FAILOVER_RETRY_MS = 6000;

/** Between the last migration and the reset of nodes that leave, in which they redirect clients, milliseconds. */
const REDIRECTION_MS = 1000;

/**
 * Seconds after its start in which a pod's host name may lead clients nowhere, or to the pod's former address: CoreDNS
 * keeps what it knew of a name for 5 s (hand-over.sh).
 */
const NAME_SECONDS = 10;

/** An executor is valid only until the facts of the nodes are read again. */
export class ResizeExecutor {
  readonly #member: (name: string) => Member;
  readonly #participants: Set<string>;

  constructor(
    private readonly deployment: Deployment,
    readonly members: readonly Member[],
    private readonly states: readonly MemberState[],
    private readonly deadline: Deadline,
    private readonly options: FormationOptions,
  ) {
    this.#member = memberNamed(members);
    this.#participants = new Set(participants(states).map(({ name }) => name));
  }

  get participants(): Member[] {
    return this.members.filter(({ node }) => this.#participants.has(node.name));
  }

  get migrationContext(): MigrationContext {
    const { signal, report } = this.options;
    return { deployment: this.deployment, member: this.#member, deadline: this.deadline, signal, report };
  }

  /** After a cancelled migration, the rest is not executed. @returns descriptions of cancelled migrations */
  async execute(plan: ResizePlan): Promise<string[]> {
    const all = this.#settingsOf(this.members);
    const ofEmptied = this.#settingsOf(this.#emptiedBy(plan.migrate));
    try {
      await all.set(FAST_SYNC_SETTINGS);
      // Announcements spread with pings. With `cluster-ping-interval`, pings are frequent even with a long node
      // timeout.
      const interval = String(fastPingIntervalMs(this.members.length));
      const hasPingInterval = await all.set(new Map([["cluster-ping-interval", interval]]));
      await this.#meet(plan.meet, !hasPingInterval);
      for (const { from, to } of plan.failOver) await this.#failOver(from, to);
      await this.#makeReplicas(plan.attach);
      await this.#makePrimaries(plan.promote, !hasPingInterval);
      await this.#makeReplicas(plan.reattach);
      await ofEmptied.set(KEEP_EMPTY_SHARDS);
      const setbacks = await this.#migrate(plan.migrate);
      if (setbacks.length > 0) return setbacks;
      await this.#makeReplicas(plan.reassign);
      await this.#remove(plan.forget);
      return [];
    } finally {
      await ofEmptied.restore();
      await all.restore();
    }
  }

  async waitForAgreement(deadline = this.deadline): Promise<void> {
    const { participants } = this;
    deadline.restart();
    await deadline.poll(() => readDisagreement(participants));
    await Promise.all(participants.map((member) => deadline.pollWhileProgressing(() => missingService(member))));
  }

  /** A server deletes the keys of migrated slots a moment after it has lost the slots. */
  async waitForDeletedKeys(deadline = this.deadline): Promise<void> {
    await deadline.poll(() => describeStrayKeys(this.participants));
  }

  async #waitUntilStable(): Promise<void> {
    await this.waitForAgreement();
    await this.waitForDeletedKeys();
  }

  /** The nodes must have no slots. After FORGET, a server ignores announcements of the node for 60 s. */
  async forget(names: readonly string[]): Promise<void> {
    if (names.length === 0) return;
    const removed = names.map(this.#member);
    for (const name of names) this.#participants.delete(name);
    const ids = new Set(removed.map(({ id }) => id));
    await this.#sendForget(
      this.members.filter(({ id }) => !ids.has(id)),
      [...ids],
    );
    // HARD gives the node a new node ID. With its old ID, the node could not join again within the 60 s.
    await Promise.all(removed.map(({ connection }) => connection.cluster("RESET", "HARD")));
    await this.deadline.poll(async () => {
      const views = await readViews(this.participants);
      const isKnown = views.some(({ topology }) => [...topology.nodes.keys()].some((id) => ids.has(id)));
      return isKnown ? `some nodes still know ${names.join(", ")}` : undefined;
    });
    await this.waitForAgreement();
  }

  /** No present node has one of these IDs. */
  forgetIds(ids: readonly string[]): Promise<void> {
    return this.#sendForget(this.participants, ids);
  }

  async #sendForget(members: readonly Member[], ids: readonly string[]): Promise<void> {
    await Promise.all(
      members.flatMap(({ connection }) =>
        ids.map((id) => ignoreError(/Unknown node/i, connection.cluster("FORGET", id))),
      ),
    );
  }

  async #remove(names: readonly string[]): Promise<void> {
    if (names.length === 0) return;
    // Until the reset, nodes without slots redirect clients that have old routes. After the reset, these nodes refuse
    // the commands of clients.
    await sleep(REDIRECTION_MS, undefined, { signal: this.options.signal });
    this.options.report?.(`removing nodes: ${names.join(", ")}`);
    await this.forget(names);
  }

  /** @param twice whether present nodes also meet the new ones, which then learn sooner who serves which slots */
  async #meet(names: readonly string[], twice: boolean): Promise<void> {
    if (names.length === 0) return;
    this.options.report?.(`adding nodes: ${names.join(", ")}`);
    const joining = names.map(this.#member);
    const present = this.participants.filter((member) => !joining.includes(member));
    for (const name of names) this.#participants.add(name);
    await Promise.all(
      joining.flatMap((member, index) =>
        [...present, ...joining.slice(index + 1)].map((other) => meetNode(member, other.node)),
      ),
    );
    await this.deadline.poll(() => describeUnmet(this.participants));
    if (twice) await Promise.all(joining.flatMap(({ node }) => present.map((member) => meetNode(member, node))));
    // New nodes start to serve only 2 s later, but other nodes can become their replicas before that.
    await this.deadline.poll(() => readDisagreement(this.participants));
  }

  async #failOver(from: string, to: string): Promise<void> {
    this.options.report?.(`failing over from ${from} to ${to}`);
    const { connection } = this.#member(to);
    // A primary that has no bus link to the replica does not vote for it, and refuses clients until it learns of the failover by gossip.
    await this.deadline.poll(() => readDisagreement(this.participants));
    await this.#untilFound([to]);
    let sentAt = -Infinity;
    await this.deadline.poll(async () => {
      if (hasPrimaryRole(parseInfo(await connection.info("replication")))) return undefined;
      if (performance.now() - sentAt > FAILOVER_RETRY_MS) {
        sentAt = performance.now();
        await ignoreError(/send CLUSTER FAILOVER to a replica/, connection.cluster("FAILOVER"));
      }
      return `${to} has not taken over from ${from}`;
    });
    await this.#waitUntilStable();
  }

  async #makeReplicas(assignments: readonly ReplicaAssignment[]): Promise<void> {
    if (assignments.length === 0) return;
    const pairs = assignments.map(({ node, primary }) => `${node} of ${primary}`);
    this.options.report?.(`making replicas: ${pairs.join(", ")}`);
    await Promise.all(
      assignments.map(({ node, primary }) =>
        this.deadline.poll(() => replicate(this.#member(node), this.#member(primary))),
      ),
    );
    // If a node knows a replica with a higher epoch than the epoch of the replica's primary, the node ignores the new
    // role. So each primary gets a higher epoch.
    for (const primary of new Set(assignments.map((each) => each.primary))) {
      await this.#member(primary).connection.cluster("BUMPEPOCH");
    }
    await this.#waitUntilStable();
  }

  /** CLUSTER REPLICATE NO ONE (Valkey 9.0); on older servers a reset, after which the node has to meet all others. */
  async #makePrimaries(names: readonly string[], twice: boolean): Promise<void> {
    if (names.length === 0) return;
    this.options.report?.(`making primaries: ${names.join(", ")}`);
    const reset: string[] = [];
    for (const name of names) {
      const { connection } = this.#member(name);
      try {
        await connection.call("CLUSTER", "REPLICATE", "NO", "ONE");
      } catch (error) {
        if (!/unknown subcommand|wrong number of arguments/i.test(messageOf(error))) throw error;
        await connection.cluster("RESET", "SOFT");
        reset.push(name);
      }
    }
    await this.#meet(reset, twice);
    await this.deadline.poll(() => readDisagreement(this.participants));
  }

  async #migrate(transfers: readonly SlotTransfer[]): Promise<string[]> {
    if (transfers.length === 0) return [];
    await this.#waitUntilStable();
    const words = transfers.map(({ from, to, ranges }) => `${countSlots(ranges)} from ${from} to ${to}`);
    this.options.report?.(`migrating slots: ${words.join(", ")}`);
    await this.#untilFound(transfers.map(({ to }) => to));
    const sources = [...new Set(transfers.map(({ from }) => from))];
    const used = await Promise.all(sources.map((name) => readUsedMemory(this.#member(name).connection)));
    const bytesOf = (source: string): number => used[sources.indexOf(source)] ?? 0;
    const setbacks = await migrateSlots(transfers, bytesOf, this.migrationContext);
    for (const setback of setbacks) this.options.report?.(`slots were not migrated ${setback}`);
    await this.#waitUntilStable();
    return setbacks;
  }

  #emptiedBy(transfers: readonly SlotTransfer[]): Member[] {
    const givenBy = (name: string): number =>
      countSlots(transfers.filter(({ from }) => from === name).flatMap(({ ranges }) => ranges));
    const owners = this.states.filter((state) => selfEntry(state).slots.length > 0);
    const emptied = owners.filter((state) => givenBy(state.name) === countSlots(selfEntry(state).slots));
    const primaryIds = new Set(emptied.map(({ view }) => view.selfId));
    return this.members.filter((_member, index) => {
      const state = this.states[index];
      if (state === undefined) return false;
      return primaryIds.has(state.view.selfId) || primaryIds.has(selfEntry(state).primaryId ?? "");
    });
  }

  /** Waits until clients find these nodes, which shall serve them. */
  async #untilFound(names: readonly string[]): Promise<void> {
    await Promise.all([...new Set(names)].map((name) => this.deadline.poll(() => describeUnfound(this.#member(name)))));
  }

  #settingsOf(members: readonly Member[]): TemporarySettings {
    return new TemporarySettings(
      this.deployment,
      members.map(({ connection }) => connection),
    );
  }
}

async function describeUnmet(members: readonly Member[]): Promise<string | undefined> {
  const ids = members.map(({ id }) => id);
  const views = await readViews(members);
  const unaware = views.findIndex(
    ({ topology, unhealthy }) => unhealthy.length > 0 || ids.some((id) => !topology.nodes.has(id)),
  );
  return unaware < 0 ? undefined : `${members[unaware]?.node.name ?? ""} does not know all other nodes`;
}

/** @returns undefined where servers announce addresses instead of names */
export async function describeUnfound({
  node,
  connection,
}: Pick<Member, "node" | "connection">): Promise<string | undefined> {
  const [, type] = await connection.config("GET", "cluster-preferred-endpoint-type");
  if (type !== "hostname") return undefined;
  const seconds = infoNumber(parseInfo(await connection.info("server")), "uptime_in_seconds") ?? NAME_SECONDS;
  return seconds < NAME_SECONDS
    ? `clients may not find ${node.name} by its name yet, ${seconds} s after its start`
    : undefined;
}

async function describeStrayKeys(members: readonly Member[]): Promise<string | undefined> {
  const { states } = await readMemberStates(new Map(members.map(({ node, connection }) => [node, connection])));
  const holder = states.find((state) => {
    const { role, slots } = selfEntry(state);
    return role === "primary" && slots.length === 0 && state.keys > 0;
  });
  return holder === undefined
    ? undefined
    : `${holder.name} still holds ${holder.keys} keys of slots that it no longer serves`;
}

/** @throws any other error of the reply */
async function ignoreError(message: RegExp, reply: Promise<unknown>): Promise<void> {
  try {
    await reply;
  } catch (error) {
    if (!message.test(messageOf(error))) throw error;
  }
}
