/** Without Sentinels: before the primary's pod restarts or leaves, another server takes over, and Services follow. */
import { Failure } from "../../lib/errors";
import { pause } from "../../lib/polling";
import { type KubernetesReference, openRunningPart } from "../../platforms/deployment-reference";
import type { PrimaryLead } from "../../platforms/kubernetes/access/primary-lead";
import { designate, designatedPod, leadClients } from "../../platforms/kubernetes/access/primary-lead";
import type { KubernetesClient } from "../../platforms/kubernetes/api/client";
import type { RestartNext, OutdatedPod } from "../../platforms/kubernetes/pods/await-rollout";
import type { Deployment } from "../../valkey/deployment";
import { handOver } from "../../valkey/formation/hand-over";
import { Deadline } from "../../valkey/membership/deadline";
import { awaitSolePrimary, findSolePrimary } from "../../valkey/membership/replication-primary";
import { nodeCount } from "../../valkey/topology/placement";
import type { WaitOptions } from "../../lib/progress";

/**
 * kube-proxy changes its rules once a second. Before a hand-over, all machines can then route to the new primary; after
 * it, the former one refuses connections, which clients notice sooner than silence.
 */
const SETTLED_MS = 1_500;

interface LedTarget extends KubernetesReference {
  readonly lead: PrimaryLead;
}

export const isLed = (target: KubernetesReference): target is LedTarget => target.lead !== undefined;

export class PrimaryMoves {
  constructor(
    private readonly kubernetes: KubernetesClient,
    private readonly target: LedTarget,
    private readonly password: string,
    private readonly options: WaitOptions,
  ) {}

  /** If an interrupted update has left a different pod as the primary, the designated pod first becomes it. */
  async settle(): Promise<void> {
    const { kubernetes, target } = this;
    const designated = await designatedPod(kubernetes, target);
    if (designated === undefined) return;
    if (target.sentinel === undefined) {
      const running = await this.#open();
      const primary = await primaryOf(running);
      if (primary !== undefined && primary !== designated && running.nodes.some(({ name }) => name === designated))
        await this.#move(running, designated);
    }
    await leadClients(kubernetes, target, designated);
  }

  /** Before the primary restarts, a different server takes over. */
  readonly restartNext: RestartNext = async (outdated) => {
    const running = await this.#open();
    const primary = await primaryOf(running);
    const designated = await designatedPod(this.kubernetes, this.target);
    const { pod, successor } = nextRestart({
      outdated,
      running: running.nodes.map(({ name }) => name),
      primary,
      designated,
    });
    if (successor !== undefined) await this.#move(running, successor);
    return pod;
  };

  /**
   * A pod that is the primary only for a time (start-replication.sh) counts.
   * @throws Failure when data could be lost: there is not exactly one primary, or no remaining pod runs
   */
  async keep(): Promise<void> {
    const { target, kubernetes } = this;
    const staying = new Set(Array.from({ length: nodeCount(target.shape) }, (_, at) => `${target.statefulSet}-${at}`));
    const designated = await designatedPod(kubernetes, target);
    if (designated === undefined) return;
    const running = await this.#open();
    // If no server runs, no other pod has the role.
    if (running.nodes.length === 0 && staying.has(designated)) return;
    const primary = await primaryOf(running);
    if (primary === designated && staying.has(primary)) return;
    const successor = staying.has(designated) ? designated : running.nodes.find(({ name }) => staying.has(name))?.name;
    if (primary === undefined || successor === undefined) throw new Failure(leavesWithData(target.name));
    await this.#move(running, successor);
  }

  /** The primary is the one that the Sentinels elected. @throws Failure when there is not exactly one primary in time */
  async designateElected(stop: () => Promise<void>): Promise<void> {
    const running = await this.#open();
    if (running.nodes.length === 0) return stop();
    const deadline = new Deadline(running.name, running.nodes.length, this.options, "ready to run without Sentinels");
    await awaitSolePrimary(running, deadline);
    await stop();
    // The Sentinels may have failed over before they stopped.
    const { name } = await awaitSolePrimary(running, deadline);
    await designate(this.kubernetes, this.target, name);
  }

  #open(): Promise<Deployment> {
    const { sentinel: _watching, ...servers } = this.target;
    return openRunningPart(this.kubernetes, servers, this.password);
  }

  /** If it is interrupted before the pod is designated, the former primary comes back (keep-replication.sh). */
  async #move(running: Deployment, to: string): Promise<void> {
    const { kubernetes, target, options } = this;
    const lead = async (): Promise<void> => {
      // The order matters, because the former primary becomes the primary again only if the Service does not route to a
      // different primary.
      await again(async () => {
        await leadClients(kubernetes, target, to);
        await designate(kubernetes, target, to);
      });
      await pause(SETTLED_MS, options.signal);
    };
    await pause(SETTLED_MS, options.signal);
    await handOver(running, { to, lead }, options);
  }
}

/** Clients cannot write until the change has succeeded. */
async function again(change: () => Promise<unknown>): Promise<void> {
  for (let left = 5; ; left--) {
    try {
      await change();
      return;
    } catch (error) {
      if (left === 1) throw error;
      await pause(500);
    }
  }
}

const leavesWithData = (name: string): string =>
  `pods of ${name} cannot be removed now, because data could be lost. Before pods are removed, exactly one primary ` +
  `must run, and at least one of the remaining pods must run. Start the servers of ${name} again, or undo the ` +
  `change that removes pods`;

/**
 * Name of the only primary among the running servers; undefined if there is no primary, or if there are several
 * primaries.
 */
async function primaryOf(running: Deployment): Promise<string | undefined> {
  return findSolePrimary(running).then(
    ({ name }) => name,
    () => undefined,
  );
}

interface RestartState {
  /** Pods with an old template; at least one. */
  readonly outdated: readonly OutdatedPod[];
  readonly running: readonly string[];
  /** The only primary; undefined if there is none, or if there are several. */
  readonly primary: string | undefined;
  /** The only pod that may start as the primary; undefined if no pod is designated. */
  readonly designated: string | undefined;
}

interface Restart {
  /** Name of the pod; undefined if no pod may restart yet. */
  readonly pod?: string | undefined;
  /** Pod that takes over from the primary before the primary restarts. @default none */
  readonly successor?: string | undefined;
}

/** The primary comes last, after a pod with the newest template has taken over. Elsewhere the StatefulSet decides. */
export function nextRestart({ outdated, running, primary, designated }: RestartState): Restart {
  const others = outdated.filter(({ name }) => name !== primary);
  const broken = others.find(({ name, ready }) => !ready && (name !== designated || outdated.length === 1));
  if (broken !== undefined) return { pod: broken.name };
  // Servers may all be replicas for a moment, before one of them becomes the primary.
  if (primary === undefined) return {};
  const [next] = others;
  if (next !== undefined) return { pod: next.name };
  return { pod: primary, successor: running.find((name) => outdated.every((pod) => pod.name !== name)) };
}
