import { Failure } from "../../lib/errors";
import type { Connection } from "../connection";
import type { Deployment } from "../deployment";
import { type FormationOptions, type FormationResult, Deadline } from "../membership/deadline";
import { type MemberState, conflictingSlots } from "../membership/member-state";
import { type Member, readMemberStates } from "../membership/members";
import type { DeploymentNode } from "../node";
import type { Shape } from "../topology/placement";
import { awaitMigrations } from "./atomic-migration";
import { readMemoryUse } from "./memory-use";
import { finishOpenMigrations, openMigrations } from "./open-migrations";
import { readWork } from "./open-slots";
import { ResizeExecutor } from "./resize-executor";
import { lostIdentities } from "../membership/returned-empty";
import { formerIdentities, halfJoinedNodes, resizeBlockers, resizeNodes } from "./resize-facts";
import { type ResizePlan, failbackPlan, planResize, repairRefusals, withoutBalancing } from "./resize-plan";

/** A new plan is needed after a failover, or after a server cancelled a migration. */
const MAX_PLANS = 5;
/** Wait for the cluster to become ready for a plan, milliseconds, without any step. */
const PATIENCE_MS = 20_000;
/** Time limit for nodes to learn of each other by gossip, milliseconds. Gossip usually takes one or two seconds. */
const GOSSIP_MS = 5000;

/** First completes an interrupted resize (see resize-states.ts). @throws Failure with the reasons */
export async function resizeCluster(
  deployment: Deployment,
  connections: ReadonlyMap<DeploymentNode, Connection>,
  shape: Shape,
  options: FormationOptions,
): Promise<FormationResult> {
  return new Resize(deployment, connections, shape, options).run();
}

interface Inspection {
  readonly states: readonly MemberState[];
  readonly executor: ResizeExecutor;
}

class Resize {
  readonly #deadline: Deadline;
  /** Time limit for changes that the cluster makes by itself. Every `inspect` creates a new limit. */
  #settlingDeadline: Deadline;
  readonly #leaving: ReadonlySet<string>;
  readonly #absent: ReadonlySet<string>;
  #inspection: Inspection | undefined;
  #plan: ResizePlan | undefined;
  #plansCarriedOut = 0;
  #changed = false;
  #setbacks: readonly string[] = [];

  readonly #handlers: ResizeHandlers = {
    inspect: () => this.#inspect(),
    forgetLost: () => this.#forgetLost(),
    resetHalfJoined: () => this.#resetHalfJoined(),
    agree: () => this.#agree(),
    awaitMigrations: () => this.#awaitMigrations(),
    finishOpenMigrations: () => this.#finishOpenMigrations(),
    awaitDeletedKeys: () => this.#awaitDeletedKeys(),
    plan: () => this.#makePlan(),
    execute: () => this.#execute(),
  };

  constructor(
    private readonly deployment: Deployment,
    private readonly connections: ReadonlyMap<DeploymentNode, Connection>,
    private readonly shape: Shape,
    private readonly options: FormationOptions,
  ) {
    this.#deadline = new Deadline(deployment.name, connections.size, options, "resized");
    this.#settlingDeadline = this.#newSettlingDeadline();
    this.#leaving = new Set((options.leaving ?? []).map(({ name }) => name));
    this.#absent = new Set(options.absent);
  }

  async run(): Promise<FormationResult> {
    let state: ResizeState | "fitted" = "inspect";
    while (state !== "fitted") {
      this.options.signal?.throwIfAborted();
      state = await this.#pass(state);
    }
    return { changed: this.#changed, milliseconds: this.#deadline.elapsedMs };
  }

  #pass(state: ResizeState): Promise<ResizeState | "fitted"> {
    return this.#handlers[state]();
  }

  async #inspect(): Promise<"forgetLost" | "resetHalfJoined" | "agree"> {
    this.#settlingDeadline = this.#newSettlingDeadline();
    let { states } = await this.#read();
    if (lostIdentities(states, this.#leaving, this.#absent).length > 0) return "forgetLost";
    const began = performance.now();
    await this.#settlingDeadline.poll(async () => {
      const unknown = halfJoinedNodes(states, this.#leaving).filter((name) => !this.#leaving.has(name));
      if (unknown.length === 0 || performance.now() - began > GOSSIP_MS) return undefined;
      ({ states } = await this.#read());
      return `some nodes do not know ${unknown.join(", ")}`;
    });
    return halfJoinedNodes(states, this.#leaving).length > 0 ? "resetHalfJoined" : "agree";
  }

  async #forgetLost(): Promise<"inspect"> {
    const { states, executor } = this.#last();
    const ids = lostIdentities(states, this.#leaving, this.#absent);
    this.options.report?.(`removing nodes that will not come back (CLUSTER FORGET): ${ids.join(", ")}`);
    await executor.forgetIds(ids);
    this.#changed = true;
    return "inspect";
  }

  async #resetHalfJoined(): Promise<"agree"> {
    if (this.options.repair !== undefined) await this.#forgetFormer();
    const { states, executor } = this.#last();
    const names = halfJoinedNodes(states, this.#leaving);
    // A reset drops the data of a replica, which may be the only second copy.
    const withKeys = states.filter(({ name, keys }) => names.includes(name) && keys !== 0).map(({ name }) => name);
    if (this.options.repair !== undefined && withKeys.length > 0)
      throw this.#refusal([`a repair does not reset nodes that may have keys: ${withKeys.join(", ")}`]);
    if (names.length === 0) return "agree";
    // A reset gives a node a new node ID. The other nodes accept the new ID at once, because they forgot only the
    // former ID.
    this.options.report?.(`resetting nodes that only some of the other nodes know: ${names.join(", ")}`);
    await executor.forget(names);
    this.#changed = true;
    await this.#read();
    return "agree";
  }

  /** During a repair, this must happen before a node that remembers such an ID is reset. */
  async #forgetFormer(): Promise<void> {
    const { states, executor } = this.#last();
    const ids = formerIdentities(states);
    if (ids.length === 0) return;
    this.options.report?.(`removing former IDs of nodes (CLUSTER FORGET): ${ids.join(", ")}`);
    await executor.forgetIds(ids);
    this.#changed = true;
    await this.#read();
  }

  async #agree(): Promise<"awaitMigrations"> {
    await this.#last().executor.waitForAgreement(this.#settlingDeadline);
    return "awaitMigrations";
  }

  async #awaitMigrations(): Promise<"finishOpenMigrations"> {
    await awaitMigrations(this.#last().executor.participants, this.#deadline);
    return "finishOpenMigrations";
  }

  async #finishOpenMigrations(): Promise<"awaitDeletedKeys"> {
    const { states, executor } = await this.#read();
    const open = openMigrations(states);
    this.#refuse(open.reasons);
    if (open.begun.length + open.stale.length > 0) {
      await this.#refuseForeignWork(states);
      await finishOpenMigrations(open, executor.migrationContext);
      await executor.waitForAgreement();
      this.#changed = true;
      this.#settlingDeadline = this.#deadline;
    }
    return "awaitDeletedKeys";
  }

  /** Refuses to repair while somebody may be moving slots by hand. */
  async #refuseForeignWork(states: readonly MemberState[]): Promise<void> {
    const { repair } = this.options;
    if (repair === undefined) return;
    if (repair.abandoned === undefined) throw this.#refusal(["a slot migration has not ended"]);
    const work = await readWork(this.#last().executor.members, states);
    if (work !== repair.abandoned)
      throw this.#refusal(["somebody is still working on a slot migration that has not ended"]);
  }

  // This step comes after `finishOpenMigrations`, because an open migration may have left keys on a node without slots.
  async #awaitDeletedKeys(): Promise<"plan"> {
    await this.#last().executor.waitForDeletedKeys(this.#settlingDeadline);
    return "plan";
  }

  async #makePlan(): Promise<"execute" | "fitted"> {
    const { members, states } = await readMemberStates(this.connections);
    const nodes = resizeNodes(states, this.#leaving, await readMemoryUse(members));
    const decision = planResize(nodes, this.shape);
    if (decision.kind === "refused") throw this.#refusal(decision.reasons);
    // After other changes, no replica takes over, because some nodes may still look for a new node at its former
    // address.
    const mayHandOver = !this.#changed && this.options.repair?.handOver !== false;
    const { repair } = this.options;
    const resize = decision.kind === "resize" ? decision.plan : undefined;
    const limited = resize && repair !== undefined ? withoutBalancing(resize) : resize;
    const plan = limited ?? (mayHandOver ? failbackPlan(nodes, this.shape) : undefined);
    if (plan === undefined) return "fitted";
    this.#refuse(repair === undefined ? [] : repairRefusals(plan, repair));
    if (this.#plansCarriedOut === MAX_PLANS) {
      const slots = `slots were not migrated ${this.#setbacks.join("; ")}`;
      const why = this.#setbacks.length > 0 ? slots : "the cluster changed after each plan";
      throw new Failure(`${this.deployment.name} is not resized after ${MAX_PLANS} plans: ${why}`);
    }
    this.#inspection = { states, executor: this.#executorOf(members, states) };
    this.#plan = plan;
    return "execute";
  }

  async #execute(): Promise<"inspect"> {
    if (this.#plan === undefined) throw new Error("there is no plan to carry out");
    this.#changed = true;
    this.#plansCarriedOut++;
    this.#setbacks = await this.#last().executor.execute(this.#plan);
    return "inspect";
  }

  /** @throws Failure when the cluster must not be changed */
  async #read(): Promise<Inspection> {
    let now = await readMemberStates(this.connections);
    this.#refuse(resizeBlockers(now.states, this.#leaving, this.#absent));
    this.#settlingDeadline.restart();
    // The new owner of migrated slots serves them a moment before the old owner learns of the change.
    await this.#settlingDeadline.poll(async () => {
      const [conflict] = conflictingSlots(now.states);
      if (conflict !== undefined) now = await readMemberStates(this.connections);
      return conflict;
    });
    this.#inspection = { states: now.states, executor: this.#executorOf(now.members, now.states) };
    return this.#inspection;
  }

  #last(): Inspection {
    if (this.#inspection === undefined) throw new Error("no node was read yet");
    return this.#inspection;
  }

  #executorOf(members: readonly Member[], states: readonly MemberState[]): ResizeExecutor {
    return new ResizeExecutor(this.deployment, members, states, this.#deadline, this.options);
  }

  #newSettlingDeadline(): Deadline {
    const timeoutMs = Math.min(this.options.timeoutMs ?? PATIENCE_MS, PATIENCE_MS);
    const options = { ...this.options, timeoutMs };
    return new Deadline(this.deployment.name, this.connections.size, options, "ready to be resized");
  }

  #refuse(reasons: readonly string[]): void {
    if (reasons.length > 0) throw this.#refusal(reasons);
  }

  #refusal(reasons: readonly string[]): Failure {
    return new Failure(`${this.deployment.name} cannot be resized: ${reasons.join("; ")}`);
  }
}

/**
 * The state machine of a resize.
 *
 * ```
 * inspect ⇄ forgetLost
 * inspect ──► resetHalfJoined ──► agree ──► awaitMigrations ──► finishOpenMigrations ──► awaitDeletedKeys ──► plan
 *  ▲   │                            ▲                                                                        │  │
 *  │   └────────────────────────────┘                                                                        │  ▼
 *  └──────────────────────────────────── execute ◄───────────────────────────────────────────────────────────┘ fitted
 * ```
 *
 * A resize stores no progress. Every state finds its work by reading from the nodes, and repeated work does no harm.
 * To continue an interrupted resize, call `resizeCluster` again, for the same or a different shape. The states repair
 * the effects of interruptions and failures:
 *
 * - nodes that came back without their data and with new node IDs: `forgetLost` makes the cluster forget the old IDs;
 * - directives that a killed resize left changed: `restoreLeftoverSettings` restores them before the resize;
 * - nodes that only some nodes have met so far: `inspect` waits for gossip;
 * - nodes that only some nodes have forgotten: `resetHalfJoined` resets them, so that they get new node IDs;
 * - nodes that report different roles, slots or epochs, and replicas that are behind: `agree` waits for these nodes;
 * - an atomic slot migration that the servers continue: `awaitMigrations` waits for the end of the migration;
 * - slots that are marked MIGRATING or IMPORTING, with keys on both sides: `finishOpenMigrations` ends these
 *   migrations;
 * - keys of migrated slots that the former owner deletes a moment later: `awaitDeletedKeys` waits for the deletion;
 * - a plan that was executed only in part: `plan` plans the rest.
 */
export const RESIZE_TRANSITIONS = {
  /** Throws if a change could lose keys, or could damage a cluster that others use. */
  inspect: ["forgetLost", "resetHalfJoined", "agree"],
  forgetLost: ["inspect"],
  /** Resets the nodes that only some nodes of the cluster know, after the cluster has forgotten these nodes. */
  resetHalfJoined: ["agree"],
  agree: ["awaitMigrations"],
  awaitMigrations: ["finishOpenMigrations"],
  finishOpenMigrations: ["awaitDeletedKeys"],
  awaitDeletedKeys: ["plan"],
  /** Throws if the primaries that stay lack memory, or if too many plans were needed. */
  plan: ["execute", "fitted"],
  execute: ["inspect"],
} as const;

/** The final state `fitted` has no handler. */
type ResizeState = keyof typeof RESIZE_TRANSITIONS;

type ResizeHandlers = {
  readonly [State in ResizeState]: () => Promise<(typeof RESIZE_TRANSITIONS)[State][number]>;
};
