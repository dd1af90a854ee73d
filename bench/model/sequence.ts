/** One sequence of events on fresh servers, and what it shows. */
import { setTimeout as sleep } from "node:timers/promises";
import { holdsInTime } from "../../lib/polling";
import type { Programs } from "../../platforms/host/programs/programs";
import { verify } from "../../valkey/verification/verify";
import { type Event, type ModelMode, type Persistence, formatEvents } from "./events";
import { violations } from "./oracle";
import { type Pod, ModelPods, PROBE_KEY, PROBE_MS, SILENT_MS } from "./pods";

export interface SequenceResult {
  /** Lost writes, a PASS that is not true, waits that nobody explained, and no recovery. */
  readonly problems: readonly string[];
  readonly acknowledged: number;
  readonly confirmed: number;
  readonly seconds: number;
  readonly log: readonly string[];
}

/** The servers must serve this long after all of them are back, milliseconds. */
const RECOVERY_MS = 90_000;
/** Assertions that cannot hold: only one shard of the cluster has replicas. */
const NOT_ASKED: readonly string[] = ["replicas"];

/** Runs events on fresh servers. @param runs directory of runs */
export async function runSequence(
  events: readonly Event[],
  mode: ModelMode,
  persistence: Persistence,
  { runs, programs }: { readonly runs: string; readonly programs: Programs },
): Promise<SequenceResult> {
  const pods = new ModelPods(mode, persistence, runs, programs);
  try {
    await pods.open();
    pods.note(`begins: ${formatEvents(events)}`);
    return await new Sequence(pods).run(events);
  } finally {
    await pods.close();
  }
}

class Sequence {
  readonly #problems: string[] = [];
  readonly #later = new Set<NodeJS.Timeout>();
  /** The server that was the primary last. */
  #primary: Pod | undefined;
  #keys = 0;
  #acknowledged = 0;
  #confirmed = 0;

  constructor(private readonly pods: ModelPods) {}

  async run(events: readonly Event[]): Promise<SequenceResult> {
    for (const event of events) {
      await this.#apply(event);
      await this.pods.observe();
    }
    await this.#end();
    const { log, now, unexplained } = this.pods;
    return {
      ...{ problems: [...this.#problems, ...unexplained], log, seconds: now / 1000 },
      ...{ acknowledged: this.#acknowledged, confirmed: this.#confirmed },
    };
  }

  /** The server that a word names. A server that clients cannot find keeps its role. */
  async #target(word: string | undefined): Promise<Pod> {
    this.#primary = (await this.pods.leader()) ?? this.#primary ?? this.pods.shard[0];
    const others = this.pods.shard.filter((pod) => pod !== this.#primary);
    const pod = word === "primary" ? this.#primary : others[word === "first" ? 0 : 1];
    if (pod === undefined) throw new Error(`there is no ${word ?? "server"}`);
    return pod;
  }

  #in(seconds: string | undefined, what: () => void): void {
    if (Number(seconds) === 0) {
      what();
      return;
    }
    const timer = setTimeout(
      () => {
        this.#later.delete(timer);
        what();
      },
      Number(seconds) * 1000,
    );
    this.#later.add(timer);
  }

  async #apply(event: Event): Promise<void> {
    const [verb, word, more] = event;
    const { pods } = this;
    if (verb === "write") return this.#write(Number(word), Number(more));
    if (verb === "wait") return sleep(Number(word) * 1000);
    if (verb === "verify") return this.#verify();
    if (verb === "all") return this.#all(word, more);
    if (verb === "sentinel") {
      const pod = pods.pods.filter(({ isSentinel }) => isSentinel)[Number(more)];
      if (pod === undefined) return;
      pods.note(event.join(" "));
      await pods.end(pod, word === "lose" ? "lose" : "kill");
      pods.start(pod);
      return;
    }
    const pod = await this.#target(word);
    pods.note(`${event.join(" ")} (${pod.node.name})`);
    switch (verb) {
      case "freeze":
        await pods.freeze(pod);
        this.#in(more, () => {
          pods.thaw(pod);
        });
        return;
      case "thaw":
        pods.thaw(pod);
        return;
      case "kill":
      case "power":
      case "lose":
      case "stop":
        await pods.end(pod, verb);
        this.#in(more, () => {
          pods.start(pod);
        });
        return;
      case "clock":
        pods.step(pod, Number(more));
        return;
      case "promote":
        await pods.promote(pod);
        return;
      case "fill":
      case "empty":
        pods.fill(pod, verb === "fill");
        return;
      case "save":
        await pods.call(pod, "SAVE").catch(() => undefined);
    }
  }

  async #write(count: number, wait: number): Promise<void> {
    const keys = Array.from({ length: count }, () => `w${String(this.#keys++).padStart(6, "0")}`);
    const { acknowledged, replicas } = await this.pods.write(keys, wait);
    this.#acknowledged += acknowledged.length;
    if (replicas > 0) this.#confirmed += acknowledged.length;
    this.pods.note(`write ${keys[0] ?? ""} …: ${acknowledged.length} acknowledged, ${replicas} replicas confirmed`);
  }

  async #all(how: string | undefined, down: string | undefined): Promise<void> {
    const { pods } = this;
    pods.note(`all ${how ?? ""} ${down ?? ""}`);
    const ended = pods.pods.map((pod) => {
      if (pod.isSentinel) return pods.end(pod, how === "replace" ? "lose" : "kill");
      return pods.end(pod, how === "power" ? "power" : "kill");
    });
    await Promise.all(ended);
    this.#in(down, () => {
      for (const pod of pods.pods) pods.start(pod);
    });
  }

  async #passes(): Promise<boolean> {
    const { verdict } = await verify(this.pods.deployment, ["zones"]);
    const failing = verdict.assertions.filter(({ pass, id }) => !pass && !NOT_ASKED.includes(id));
    this.pods.note(`verification: ${failing.length === 0 ? "PASS" : failing.map(({ id }) => id).join(", ")}`);
    return failing.length === 0;
  }

  /** Verdicts that pass, while a client cannot write, for longer than it takes the kubelet to see that a server is ready. */
  async #verify(): Promise<void> {
    const isTrue = async (): Promise<boolean> => !(await this.#passes()) || (await this.#probe());
    // A verdict takes long while a server does not answer, so the time begins after the first one.
    if ((await isTrue()) || (await holdsInTime(isTrue, { timeoutMs: 3 * PROBE_MS, intervalMs: 500 }))) return;
    this.#problems.push("PASS although a client cannot write");
  }

  async #probe(): Promise<boolean> {
    return (await this.pods.write([PROBE_KEY], 0)).acknowledged.length > 0;
  }

  /** Brings everything back, and compares what clients were told with what they find. */
  async #end(): Promise<void> {
    const { pods } = this;
    for (const timer of this.#later) clearTimeout(timer);
    pods.note("all come back");
    for (const pod of pods.pods) {
      if (pod.full) pods.fill(pod, false);
      pods.thaw(pod);
      pods.start(pod);
    }
    const serves = async (): Promise<boolean> => {
      await pods.observe();
      return (await this.#passes()) && (await this.#probe());
    };
    const isBack = await holdsInTime(serves, { timeoutMs: RECOVERY_MS, intervalMs: 1000 });
    if (!isBack) {
      this.#problems.push(`does not serve ${RECOVERY_MS / 1000} s after all servers are back`);
      return;
    }
    let keys: ReadonlySet<string> | undefined;
    const says = async (): Promise<boolean> => {
      const leader = await pods.leader();
      if (leader !== undefined) keys = (await pods.observe()).get(leader);
      return keys !== undefined;
    };
    if (!(await holdsInTime(says, { timeoutMs: 20_000, intervalMs: 500 })) || keys === undefined)
      throw new Error("the primary does not say what it has");
    const lost = violations(pods.facts, keys, pods.mode === "replication" ? undefined : SILENT_MS - 1000);
    const [first] = lost;
    if (first === undefined) return;
    const confirmed = lost.filter((each) => each.confirmed > 0).length;
    const which = `${first.key}, which ${first.acknowledgedBy} acknowledged and ${first.discardedBy.join(" and ")} discarded`;
    this.#problems.push(`${lost.length} writes lost (${confirmed} that WAIT confirmed), and PASS: ${which}`);
  }
}
