/** The steps of a resize, as commands to nodes, each awaited until all nodes agree on what came of it. */
import type { Connection } from "../connection";
import type { Deployment } from "../deployment";
import { messageOf } from "../../lib/errors";
import { parseInfo } from "../topology/info";
import type { ReplicaAssignment, ResizePlan } from "./resize-plan";
import type { SlotTransfer } from "./slot-transfers";
import { countSlots } from "../topology/slots";
import type { Deadline, FormationOptions } from "../formation/deadline";
import type { MemberState } from "../formation/formation-steps";
import { selfEntry } from "../formation/formation-steps";
import { fastPingIntervalMs } from "../formation/meet";
import type { Member } from "../formation/members";
import {
  readDisagreement,
  meetNode,
  missingService,
  readMemberStates,
  readViews,
  replicate,
} from "../formation/members";
import { participants } from "./resize-facts";
import type { MigrationContext } from "./migration-context";
import { migrateSlots } from "./slot-migration";
import { FAST_SYNC_SETTINGS, TemporarySettings } from "../formation/temporary-settings";

/** Shards that lose their last slot would else become replicas of whoever takes it, and copy all of its data. */
const STAY_APART: ReadonlyMap<string, string> = new Map([["cluster-allow-replica-migration", "no"]]);
const DEFAULTS: ReadonlyMap<string, string> = new Map([["cluster-allow-replica-migration", "yes"]]);
/** A replica gives up taking over after 5 s, by default, and must be told again. Milliseconds. */
const HAND_OVER_MS = 6000;

export class ResizeExecutor {
  readonly #byName: ReadonlyMap<string, Member>;
  /** Those who take part at present, by name. */
  readonly #taking: Set<string>;

  /** @param states of the members, in the same order */
  constructor(
    private readonly deployment: Deployment,
    private readonly members: readonly Member[],
    private readonly states: readonly MemberState[],
    private readonly awaiting: Deadline,
    private readonly options: FormationOptions,
  ) {
    this.#byName = new Map(members.map((member) => [member.node.name, member]));
    this.#taking = new Set(participants(states).map(({ name }) => name));
  }

  /** The members that take part. */
  get participants(): Member[] {
    return this.members.filter(({ node }) => this.#taking.has(node.name));
  }

  get migrationContext(): MigrationContext {
    return {
      deployment: this.deployment,
      member: (name) => this.#member(name),
      deadline: this.awaiting,
      signal: this.options.signal,
      report: this.options.report,
    };
  }

  /** @returns what went wrong without harm, and is worth another attempt */
  async execute(plan: ResizePlan): Promise<string[]> {
    const directives = new Map([...DEFAULTS, ...this.deployment.directives]);
    const settings = (members: readonly Member[]): TemporarySettings =>
      new TemporarySettings(
        { ...this.deployment, directives },
        members.map(({ connection }) => connection),
      );
    const [all, some] = [settings(this.members), settings(this.#dissolved(plan.migrate))];
    try {
      await all.set(FAST_SYNC_SETTINGS);
      // News spread with pings: where they can be had often without declaring nodes failed sooner, they are.
      const pingsApart = await all.set(
        new Map([["cluster-ping-interval", String(fastPingIntervalMs(this.members.length))]]),
      );
      await this.#meet(plan.meet, !pingsApart);
      for (const { from, to } of plan.failOver) await this.#handOver(from, to);
      await this.#attach(plan.attach);
      await this.#release(plan.promote, !pingsApart);
      await this.#attach(plan.reattach);
      await some.set(STAY_APART);
      const setbacks = await this.#move(plan.migrate);
      if (setbacks.length > 0) return setbacks;
      await this.#attach(plan.reassign);
      if (plan.forget.length > 0) this.options.report?.(`taking out ${plan.forget.join(", ")}`);
      await this.forget(plan.forget);
      return [];
    } finally {
      await some.restore();
      await all.restore();
    }
  }

  /** Waits until those who take part see one healthy cluster, in touch with their primaries. */
  async waitForAgreement(awaiting = this.awaiting): Promise<void> {
    const { participants } = this;
    awaiting.restart();
    await awaiting.poll(() => readDisagreement(participants));
    await Promise.all(participants.map((member) => awaiting.pollWhileProgressing(() => missingService(member))));
  }

  /** Waits until no keys are left where no slots are. */
  async waitForDeletedKeys(awaiting = this.awaiting): Promise<void> {
    await awaiting.poll(() => leftovers(this.participants));
  }

  async #agreed(): Promise<void> {
    await this.waitForAgreement();
    await this.waitForDeletedKeys();
  }

  /**
   * Makes all others forget nodes without slots, and then those all others. For 60 s, the servers then take no news
   * of them from each other, which is time enough for all to forget.
   */
  async forget(names: readonly string[]): Promise<void> {
    if (names.length === 0) return;
    const gone = names.map((name) => this.#member(name));
    for (const name of names) this.#taking.delete(name);
    const ids = new Set(gone.map(({ id }) => id));
    const rest = this.members.filter(({ id }) => !ids.has(id));
    await Promise.all(
      rest.flatMap(({ connection }) => gone.map(({ id }) => unless(/Unknown node/i, connection.cluster("FORGET", id)))),
    );
    // Hard: under its old id a node could not come back within those 60 s.
    await Promise.all(gone.map(({ connection }) => connection.cluster("RESET", "HARD")));
    await this.awaiting.poll(async () => {
      const views = await readViews(this.participants);
      return views.some(({ topology }) => [...topology.nodes.keys()].some((id) => ids.has(id)))
        ? `some node still knows ${names.join(", ")}`
        : undefined;
    });
    await this.waitForAgreement();
  }

  /** @param twice whether new nodes would else hear late who serves what: they believe it of a greeting by one they know */
  async #meet(names: readonly string[], twice: boolean): Promise<void> {
    if (names.length === 0) return;
    this.options.report?.(`introducing ${names.join(", ")}`);
    const joining = names.map((name) => this.#member(name));
    const present = this.participants.filter((member) => !joining.includes(member));
    for (const name of names) this.#taking.add(name);
    await Promise.all(
      joining.flatMap((member, index) =>
        [...present, ...joining.slice(index + 1)].map((other) => meetNode(member, other.node)),
      ),
    );
    const ids = this.participants.map(({ id }) => id);
    await this.awaiting.poll(async () => {
      const views = await readViews(this.participants);
      const unaware = views.findIndex(
        ({ topology, unhealthy }) => unhealthy.length > 0 || ids.some((id) => !topology.nodes.has(id)),
      );
      return unaware < 0 ? undefined : `${this.participants[unaware]?.node.name ?? ""} does not know all others`;
    });
    if (twice) await Promise.all(joining.flatMap(({ node }) => present.map((member) => meetNode(member, node))));
    // That new nodes serve takes them 2 s more, in which others may be attached to them.
    await this.awaiting.poll(() => readDisagreement(this.participants));
  }

  async #handOver(from: string, to: string): Promise<void> {
    this.options.report?.(`${to} takes over from ${from}`);
    const { connection } = this.#member(to);
    let asked = -Infinity;
    await this.awaiting.poll(async () => {
      if (parseInfo(await connection.info("replication")).get("role") === "master") return undefined;
      if (performance.now() - asked > HAND_OVER_MS) {
        asked = performance.now();
        await unless(/send CLUSTER FAILOVER to a replica/, connection.cluster("FAILOVER"));
      }
      return `${to} has not taken over from ${from}`;
    });
    await this.#agreed();
  }

  async #attach(attachments: readonly ReplicaAssignment[]): Promise<void> {
    if (attachments.length === 0) return;
    this.options.report?.(
      `making replicas: ${attachments.map(({ node, primary }) => `${node} of ${primary}`).join(", ")}`,
    );
    await Promise.all(
      attachments.map(({ node, primary }) =>
        this.awaiting.poll(() => replicate(this.#member(node), this.#member(primary))),
      ),
    );
    // A replica that was heard of by an epoch larger than its primary's would not be listened to about its new role.
    for (const primary of new Set(attachments.map((each) => each.primary)))
      await this.#member(primary).connection.cluster("BUMPEPOCH");
    await this.#agreed();
  }

  /** By REPLICATE NO ONE (Valkey 9.0), else by a reset, after which the node has to meet the others again. */
  async #release(names: readonly string[], twice: boolean): Promise<void> {
    if (names.length === 0) return;
    this.options.report?.(`making primaries of ${names.join(", ")}`);
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
    await this.awaiting.poll(() => readDisagreement(this.participants));
  }

  async #move(transfers: readonly SlotTransfer[]): Promise<string[]> {
    if (transfers.length === 0) return [];
    await this.#agreed();
    this.options.report?.(
      `moving slots: ${transfers.map(({ from, to, ranges }) => `${countSlots(ranges)} from ${from} to ${to}`).join(", ")}`,
    );
    const sources = [...new Set(transfers.map(({ from }) => from))];
    const bytes = new Map(
      await Promise.all(sources.map(async (name) => [name, await usedMemory(this.#member(name).connection)] as const)),
    );
    const setbacks = await migrateSlots(transfers, (source) => bytes.get(source) ?? 0, this.migrationContext);
    for (const setback of setbacks) this.options.report?.(`slots were not moved: ${setback}`);
    await this.#agreed();
    return setbacks;
  }

  /** The members of shards that give all their slots away. */
  #dissolved(move: readonly SlotTransfer[]): Member[] {
    const given = (name: string): number =>
      countSlots(move.filter(({ from }) => from === name).flatMap(({ ranges }) => ranges));
    const primaries = new Set(
      this.states
        .filter(
          (state) => selfEntry(state).slots.length > 0 && given(state.name) === countSlots(selfEntry(state).slots),
        )
        .map(({ view }) => view.selfId),
    );
    return this.members.filter((_member, index) => {
      const state = this.states[index];
      return (
        state !== undefined && (primaries.has(state.view.selfId) || primaries.has(selfEntry(state).primaryId ?? ""))
      );
    });
  }

  #member(name: string): Member {
    const found = this.#byName.get(name);
    if (found === undefined) throw new Error(`no member is named ${name}`);
    return found;
  }
}

async function usedMemory(connection: Connection): Promise<number> {
  return Number(parseInfo(await connection.info("memory")).get("used_memory") ?? 0);
}

/** Keys of slots that were given away are deleted a moment later. */
async function leftovers(members: readonly Member[]): Promise<string | undefined> {
  const { states } = await readMemberStates(new Map(members.map(({ node, connection }) => [node, connection])));
  const holder = states.find(
    (state) => selfEntry(state).role === "primary" && selfEntry(state).slots.length === 0 && state.keys > 0,
  );
  return holder === undefined ? undefined : `${holder.name} serves no slots and holds ${holder.keys} keys`;
}

/** Awaits a command, to which an error of this kind is no error. */
async function unless(kind: RegExp, reply: Promise<unknown>): Promise<void> {
  try {
    await reply;
  } catch (error) {
    if (!kind.test(messageOf(error))) throw error;
  }
}
