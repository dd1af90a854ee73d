import { Failure, messageOf } from "../../lib/errors";
import { withConnections } from "../connections";
import type { Deployment } from "../deployment";
import { resizeCluster } from "../resize/resize-cluster";
import { servesAllSlots } from "../membership/member-state";
import type { ClusterPlan } from "../topology/cluster-plan";
import { infoNumber } from "../topology/replies";
import type { Shape } from "../topology/placement";
import { SLOT_COUNT } from "../topology/slots";
import { type FormationOptions, type FormationResult, Deadline } from "../membership/deadline";
import { type FormationSteps, formationState } from "./formation-steps";
import { fastPingIntervalMs, meetAll } from "../membership/meet";
import type { Member } from "../membership/members";
import {
  describeDisagreement,
  memberNamed,
  membersWithDifferentView,
  missingNodes,
  missingService,
  readClusterInfo,
  readMemberStates,
  readViews,
  replicate,
} from "../membership/members";
import { FAST_SYNC_SETTINGS, restoreLeftoverSettings, TemporarySettings } from "../membership/temporary-settings";

/** With this timeout, a node that is merely busy with the formation does not count as failed. */
const PATIENT_TIMEOUT_MS = 15_000;

/** For servers without `cluster-ping-interval` (Redis 7), which always ping at half the node timeout. */
function formationNodeTimeoutMs(nodes: number): number {
  return Math.min(PATIENT_TIMEOUT_MS, Math.max(1000, 20 * nodes));
}

/** Restores the settings that it changes for speed, also after a failure. @throws Failure with what is missing */
export async function formCluster(
  deployment: Deployment,
  plan: ClusterPlan,
  shape: Shape,
  options: FormationOptions = {},
): Promise<FormationResult> {
  const deadline = new Deadline(deployment.name, deployment.nodes.length, options);
  const { leaving = [] } = options;
  return withConnections({ ...deployment, nodes: [...deployment.nodes, ...leaving] }, async (connections) => {
    // Nodes of a new cluster have no settings of an interrupted formation.
    await restoreLeftoverSettings(deployment, [...connections.values()]);
    const { members, states } = await readMemberStates(connections);
    if (servesAllSlots(states)) return resizeCluster(deployment, connections, shape, options);
    if (options.repair !== undefined)
      throw new Failure(`${deployment.name} does not serve all slots, so it is not repaired`);
    const state = formationState(plan, shape, states);
    if (state.kind === "blocked") throw new Failure(`${deployment.name} cannot be formed: ${state.reasons.join("; ")}`);
    if (state.kind === "incomplete") await complete(deployment, members, state.steps, deadline);
    return { changed: state.kind === "incomplete", milliseconds: deadline.elapsedMs };
  });
}

async function complete(
  deployment: Deployment,
  members: readonly Member[],
  steps: FormationSteps,
  deadline: Deadline,
): Promise<void> {
  const settings = new TemporarySettings(
    deployment,
    members.map(({ connection }) => connection),
  );
  const setNodeTimeout = (milliseconds: number): Promise<boolean> =>
    settings.set(new Map([["cluster-node-timeout", String(milliseconds)]]));
  try {
    await settings.set(FAST_SYNC_SETTINGS);
    const hasPingInterval = await settings.set(pingInterval(fastPingIntervalMs(members.length)));
    await setNodeTimeout(hasPingInterval ? PATIENT_TIMEOUT_MS : formationNodeTimeoutMs(members.length));
    const pings = new PingAccelerator(settings, deadline, members.length);
    await execute(steps, members, { settings, deadline, pings });
    await Promise.all(members.map((member) => pings.poll([member], () => missingSlots(member, members.length))));
    // After a primary has met the other nodes, it refuses clients for one node timeout, at most 5 s. So the timeout is
    // set to the time that this formation has taken so far, and the primary serves at once. This timeout is still many
    // ping intervals long.
    if (hasPingInterval) await setNodeTimeout(Math.min(5000, Math.max(500, Math.floor(deadline.elapsedMs))));
    await Promise.all(members.map((member) => pings.poll([member], () => missingService(member))));
    await deadline.poll(async () => {
      const views = await readViews(members);
      await pings.accelerate(membersWithDifferentView(members, views));
      return describeDisagreement(members, views);
    });
  } finally {
    await settings.restore();
  }
}

function pingInterval(milliseconds: number): ReadonlyMap<string, string> {
  return new Map([["cluster-ping-interval", String(milliseconds)]]);
}

/** The reply to a ping repeats announcements of roles and slots, which some nodes may have missed. */
class PingAccelerator {
  readonly #accelerated = new Set<Member>();
  readonly #intervalMs: number;
  /** Time limit for an announcement, milliseconds. When the limit has passed, all nodes must ping more often. */
  readonly #announcementMs: number;

  constructor(
    private readonly settings: TemporarySettings,
    private readonly deadline: Deadline,
    nodes: number,
  ) {
    this.#intervalMs = fastPingIntervalMs(nodes);
    this.#announcementMs = Math.max(1000, this.#intervalMs);
  }

  /** If this takes longer than `#announcementMs`, makes all given nodes ping more often. */
  async poll(members: readonly Member[], missing: () => Promise<string | undefined>): Promise<void> {
    const began = performance.now();
    await this.deadline.poll(async () => {
      const message = await missing();
      const isLate = performance.now() - began > this.#announcementMs;
      if (message !== undefined && isLate) await this.accelerate(members);
      return message;
    });
  }

  async accelerate(members: readonly Member[]): Promise<void> {
    const more = members.filter((member) => !this.#accelerated.has(member));
    for (const member of more) this.#accelerated.add(member);
    if (more.length === 0) return;
    const connections = more.map(({ connection }) => connection);
    await this.settings.set(pingInterval(this.#intervalMs), connections);
  }
}

interface FormationContext {
  readonly settings: TemporarySettings;
  readonly deadline: Deadline;
  readonly pings: PingAccelerator;
}

async function execute(
  steps: FormationSteps,
  members: readonly Member[],
  { settings, deadline, pings }: FormationContext,
): Promise<void> {
  const member = memberNamed(members);
  // One Promise.all covers both lists, so that no rejection is unhandled if the other list fails.
  const [, epochsSet] = await Promise.all([
    Promise.all(
      steps.addSlots.map(({ node, ranges }) =>
        member(node).connection.call("CLUSTER", "ADDSLOTSRANGE", ...ranges.flatMap(({ from, to }) => [from, to])),
      ),
    ),
    Promise.all(steps.setEpoch.map(({ node, epoch }) => setEpoch(member(node), epoch))),
  ]);
  if (steps.meet) await meetAll(members, settings, deadline);
  await Promise.all(
    steps.replicate.map(({ node, primary }) =>
      pings.poll([member(node), member(primary)], () => replicate(member(node), member(primary))),
    ),
  );
  const primariesWithReplicas = [...new Set(steps.replicate.map(({ primary }) => primary))];
  const toBump = epochsSet.includes(false) ? primariesWithReplicas : steps.bumpEpoch;
  for (const primary of toBump) await member(primary).connection.cluster("BUMPEPOCH");
}

/** @returns false if the node has met another node since its view was read */
async function setEpoch({ connection }: Member, epoch: number): Promise<boolean> {
  try {
    await connection.cluster("SET-CONFIG-EPOCH", epoch);
    return true;
  } catch (error) {
    if (/does not know any other node/.test(messageOf(error))) return false;
    throw error;
  }
}

async function missingSlots(member: Member, nodes: number): Promise<string | undefined> {
  const info = await readClusterInfo(member);
  const unmet = missingNodes(member, info, nodes);
  if (unmet !== undefined) return unmet;
  const slots = infoNumber(info, "cluster_slots_ok");
  return slots === SLOT_COUNT
    ? undefined
    : `${member.node.name} reports that ${slots ?? "?"} of ${SLOT_COUNT} slots are served`;
}
