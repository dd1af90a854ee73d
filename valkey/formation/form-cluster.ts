import { withConnections } from "../connections";
import type { Deployment } from "../deployment";
import { Failure, messageOf } from "../../lib/errors";
import type { ClusterPlan } from "../topology/cluster-plan";
import { infoNumber } from "../topology/info";
import type { Shape } from "../topology/placement";
import { SLOT_COUNT } from "../topology/slots";
import type { FormationOptions, FormationResult } from "./deadline";
import { Deadline } from "./deadline";
import type { FormationSteps } from "./formation-steps";
import { formationState } from "./formation-steps";
import { fastPingIntervalMs, meetAll } from "./meet";
import type { Member } from "./members";
import {
  readClusterInfo,
  describeDisagreement,
  membersWithDifferentView,
  missingNodes,
  missingService,
  readMemberStates,
  readViews,
  replicate,
} from "./members";
import { resizeCluster } from "../resize/resize-cluster";
import { servesAllSlots } from "../resize/resize-facts";
import { FAST_SYNC_SETTINGS, TemporarySettings } from "./temporary-settings";

/** The server's default, at which no node is taken for failed merely because it is busy forming. */
const PATIENT_TIMEOUT = 15_000;

/** Node timeout while forming, milliseconds, for servers (Redis 7) whose ping interval is half of it, always. */
export function formationNodeTimeoutMs(nodes: number): number {
  return Math.min(PATIENT_TIMEOUT, Math.max(1000, 20 * nodes));
}

/**
 * Forms the cluster a plan describes. Settings that are changed meanwhile to be quick are put back, also on
 * failure. A cluster that serves all slots already is given the wanted shape while it serves; if it has it,
 * nothing changes.
 * @throws Failure saying what stands in the way, or what was still missing when the time was up
 */
export async function formCluster(
  deployment: Deployment,
  plan: ClusterPlan,
  shape: Shape,
  options: FormationOptions = {},
): Promise<FormationResult> {
  const awaiting = new Deadline(deployment.name, deployment.nodes.length, options);
  const { leaving = [] } = options;
  return withConnections({ ...deployment, nodes: [...deployment.nodes, ...leaving] }, async (connections) => {
    const { members, states } = await readMemberStates(connections);
    if (servesAllSlots(states)) return resizeCluster(deployment, connections, shape, options);
    const state = formationState(plan, shape, states);
    if (state.kind === "blocked") throw new Failure(`${deployment.name} cannot be formed: ${state.reasons.join("; ")}`);
    if (state.kind === "incomplete") await complete(deployment, members, state.steps, awaiting);
    return { changed: state.kind === "incomplete", milliseconds: awaiting.elapsedMs };
  });
}

async function complete(
  deployment: Deployment,
  members: readonly Member[],
  steps: FormationSteps,
  awaiting: Deadline,
): Promise<void> {
  const settings = new TemporarySettings(
    deployment,
    members.map(({ connection }) => connection),
  );
  const timeout = (milliseconds: number): Promise<boolean> =>
    settings.set(new Map([["cluster-node-timeout", String(milliseconds)]]));
  try {
    await settings.set(FAST_SYNC_SETTINGS);
    const pingsApart = await settings.set(
      new Map([["cluster-ping-interval", String(fastPingIntervalMs(members.length))]]),
    );
    await timeout(pingsApart ? PATIENT_TIMEOUT : formationNodeTimeoutMs(members.length));
    const latecomers = new Latecomers(settings, awaiting, members.length);
    await carryOut(steps, members, { settings, awaiting, latecomers });
    await Promise.all(members.map((member) => latecomers.until([member], () => lacksSlots(member, members.length))));
    // A primary that was alone serves only after a node timeout, of 5 s at most; one no longer than the time that
    // has passed lets it serve at once, and is still long beside the pings.
    if (pingsApart) await timeout(Math.min(5000, Math.max(500, Math.floor(awaiting.elapsedMs))));
    await Promise.all(members.map((member) => latecomers.until([member], () => missingService(member))));
    await awaiting.poll(async () => {
      const views = await readViews(members);
      await latecomers.ask(membersWithDifferentView(members, views));
      return describeDisagreement(members, views);
    });
  } finally {
    await settings.restore();
  }
}

/** Those that missed what others said, and so ask them again by pings. */
class Latecomers {
  readonly #asking = new Set<Member>();
  readonly #intervalMs: number;
  /** How long news may be on its way before anyone is made to ask for it. */
  readonly #newsMs: number;

  constructor(
    private readonly settings: TemporarySettings,
    private readonly awaiting: Deadline,
    nodes: number,
  ) {
    this.#intervalMs = fastPingIntervalMs(nodes);
    this.#newsMs = Math.max(1000, this.#intervalMs);
  }

  /** Waits until nothing is missing; when that takes longer than news does, these are made to ask. */
  async until(members: readonly Member[], missing: () => Promise<string | undefined>): Promise<void> {
    const since = performance.now();
    await this.awaiting.poll(async () => {
      const what = await missing();
      if (what !== undefined && performance.now() - since > this.#newsMs) await this.ask(members);
      return what;
    });
  }

  async ask(members: readonly Member[]): Promise<void> {
    const more = members.filter((member) => !this.#asking.has(member));
    for (const member of more) this.#asking.add(member);
    if (more.length > 0)
      await this.settings.set(
        new Map([["cluster-ping-interval", String(this.#intervalMs)]]),
        more.map(({ connection }) => connection),
      );
  }
}

interface Forming {
  readonly settings: TemporarySettings;
  readonly awaiting: Deadline;
  readonly latecomers: Latecomers;
}

async function carryOut(
  steps: FormationSteps,
  members: readonly Member[],
  { settings, awaiting, latecomers }: Forming,
): Promise<void> {
  const byName = new Map(members.map((member) => [member.node.name, member]));
  const member = (name: string): Member => {
    const found = byName.get(name);
    if (found === undefined) throw new Error(`no member is named ${name}`);
    return found;
  };
  // Awaited together: what is under way when the other fails must have somebody to fail to.
  const [, inTime] = await Promise.all([
    Promise.all(
      steps.addSlots.map(({ node, ranges }) =>
        member(node).connection.call("CLUSTER", "ADDSLOTSRANGE", ...ranges.flatMap(({ from, to }) => [from, to])),
      ),
    ),
    Promise.all(steps.setEpoch.map(({ node, epoch }) => setEpoch(member(node), epoch))),
  ]);
  if (steps.meet) await meetAll(members, settings, awaiting);
  await Promise.all(
    steps.replicate.map(({ node, primary }) =>
      latecomers.until([member(node), member(primary)], () => replicate(member(node), member(primary))),
    ),
  );
  const outrun = inTime.every((set) => set)
    ? steps.bumpEpoch
    : [...new Set(steps.replicate.map(({ primary }) => primary))];
  for (const primary of outrun) await member(primary).connection.cluster("BUMPEPOCH");
}

/** @returns false when the node has met another since it was asked whom it knows, by an introduction still under way */
async function setEpoch({ connection }: Member, epoch: number): Promise<boolean> {
  try {
    await connection.cluster("SET-CONFIG-EPOCH", epoch);
    return true;
  } catch (error) {
    if (/does not know any other node/.test(messageOf(error))) return false;
    throw error;
  }
}

/** By the node's own word: whom it knows and which slots it sees served. */
async function lacksSlots(member: Member, nodes: number): Promise<string | undefined> {
  const info = await readClusterInfo(member);
  const slots = infoNumber(info, "cluster_slots_ok");
  return (
    missingNodes(member, info, nodes) ??
    (slots === SLOT_COUNT ? undefined : `${member.node.name} sees ${slots ?? "?"} of ${SLOT_COUNT} slots served`)
  );
}
