/**
 * Shards of a cluster that have lost their primary and cannot elect a replica. With consent, the controller makes a
 * replica take over. Without consent, it says what a person can type.
 */
import type { KubernetesReference } from "../platforms/deployment-reference";
import type { KubernetesClient } from "../platforms/kubernetes/api/client";
import type { EventText } from "../platforms/kubernetes/api/events";
import {
  describeTakeover,
  readStoppedServers,
  takeoverCommand,
  takeOverLostShards,
} from "../provider/updates/takeover";
import type { TakeoverPlan } from "../valkey/membership/takeover-plan";
import type { Look } from "./look";
import type { OnLostMajority } from "./pod-settings";

/** Assertions that fail if a shard has no primary. */
const SIGNS: ReadonlySet<string> = new Set(["reachable", "state-ok", "slots-covered", "one-owner"]);
/** Time that an election has before the controller acts, as a multiple of the node timeout. */
const ELECTION_TIMEOUTS = 4;
const DEFAULT_NODE_TIMEOUT_MS = 15_000;

/** The part of the controller that acts on lost shards. */
export interface LostShardsContext {
  readonly kubernetes: KubernetesClient;
  readonly target: KubernetesReference;
  readonly reaction: OnLostMajority;
  readonly log: (line: string) => void;
  readonly tell: (event: EventText) => Promise<void>;
  /** Holds the Lease while it works. @returns false if it did not work, because something else holds the Lease */
  readonly withLease: (signal: AbortSignal, work: (held: AbortSignal) => Promise<void>) => Promise<boolean>;
}

export class LostShards {
  /** Time since which a shard waits for an election, by the monotonic clock, milliseconds. */
  #waitsSince: number | undefined;
  /** The last reasons and advice, so that they are said once. */
  #said = "";

  constructor(private readonly context: LostShardsContext) {}

  /** Acts on a look. @throws Failure when pods, machines or nodes may not be read, or a takeover fails */
  async onLook(look: Look, password: string, signal: AbortSignal): Promise<void> {
    const { target, reaction } = this.context;
    if (target.mode !== "cluster" || look.pass || !look.assertions.some(({ id, holds }) => !holds && SIGNS.has(id))) {
      this.#waitsSince = undefined;
      this.#said = "";
      return;
    }
    await (reaction === "takeover" ? this.#takeOver(password, signal) : this.#advise(password, signal));
  }

  async #takeOver(password: string, signal: AbortSignal): Promise<void> {
    const { kubernetes, target, log, tell, withLease } = this.context;
    const { stopped, doubts } = await readStoppedServers(kubernetes, target);
    const scene = { kubernetes, target, password, stopped: new Set(stopped.keys()) };
    const mayPerform = (plan: TakeoverPlan): Promise<boolean> => Promise.resolve(!this.#mayElect(plan));
    const { plan } = await takeOverLostShards(scene, { mayPerform: () => Promise.resolve(false), signal, report: log });
    this.#say([...plan.refusals, ...(plan.refusals.length > 0 ? doubts : [])].map((why) => `no takeover: ${why}`));
    if (plan.takeovers.length === 0) this.#waitsSince = undefined;
    if (plan.takeovers.length === 0 || !(await mayPerform(plan))) return;
    const done: string[] = [];
    const report = (line: string): void => {
      done.push(line);
      log(line);
    };
    // Planned again while the Lease is held: somebody else may have changed the cluster meanwhile.
    await withLease(signal, async (held) => {
      for (const { primary } of plan.takeovers) log(`${primary} is off: ${stopped.get(primary) ?? ""}`);
      try {
        await takeOverLostShards(scene, { mayPerform, signal: held, report });
        this.#waitsSince = undefined;
      } finally {
        if (done.length > 0) await tell({ reason: "TookOver", message: done.join("; "), isWarning: true });
      }
    });
  }

  /** Whether the nodes can still elect a replica themselves, and have not had the time for it yet. */
  #mayElect({ withoutVotes }: TakeoverPlan): boolean {
    if (withoutVotes > 0) return false;
    this.#waitsSince ??= performance.now();
    const timeout = Number(this.context.target.directives["cluster-node-timeout"] ?? DEFAULT_NODE_TIMEOUT_MS);
    return performance.now() - this.#waitsSince < ELECTION_TIMEOUTS * timeout;
  }

  /** Says what a person can type if the servers that do not reply are off. */
  async #advise(password: string, signal: AbortSignal): Promise<void> {
    const { kubernetes, target, tell } = this.context;
    const scene = { kubernetes, target, password, stopped: undefined };
    const never = (): Promise<boolean> => Promise.resolve(false);
    const { plan } = await takeOverLostShards(scene, { mayPerform: never, signal, report: () => undefined });
    const lines = this.#mayElect(plan) || plan.takeovers.length === 0 ? [] : [adviceFor(plan, target)];
    if (!this.#say(lines)) return;
    for (const message of lines) await tell({ reason: "ShardsLost", message, isWarning: true });
  }

  /** @returns whether the lines are new */
  #say(lines: readonly string[]): boolean {
    const text = lines.join("\n");
    if (text === this.#said) return false;
    this.#said = text;
    for (const line of lines) this.context.log(line);
    return lines.length > 0;
  }
}

function adviceFor(plan: TakeoverPlan, { namespace, container }: KubernetesReference): string {
  const { takeovers } = plan;
  const lost = takeovers.map(({ primary }) => primary).join(", ");
  const commands = takeovers.map(({ replica }, index) => {
    const command = takeoverCommand(plan, index).join(" ");
    return `kubectl -n ${namespace} exec ${replica} -c ${container} -- sh -c '. /valkey/scripts/node.sh; echo "${command}" | tell localhost 5'`;
  });
  const effect = takeovers.map(describeTakeover).join(", ");
  return `nobody can elect a primary in place of ${lost}. If their machines are off for good, run: ${commands.join("; ")}. Then ${effect}`;
}
