/** Archives one shard: follows its stream into a set, and begins a new set on schedule before the old one ends. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { epochMs } from "../../lib/clock";
import { Failure, messageOf } from "../../lib/errors";
import { pause } from "../../lib/polling";
import type { Semaphore } from "../../lib/semaphore";
import type { Deployment } from "../deployment";
import type { DeploymentNode } from "../node";
import { followStream } from "../replication-stream/follow";
import type { StreamSource } from "../replication-stream/replica-link";
import { infoNumber, parseInfo } from "../topology/replies";
import type { WrittenFile } from "./archive-writer";
import { ArchiveWriter, resumePoint } from "./archive-writer";
import type { ArchiveSet } from "./manifests";
import type { Period } from "./periods";
import { shardStore } from "./periods";
import { listSets, readSet } from "./sets";
import { chooseSource, readLayout, sourceAt } from "./shard-layout";
import type { ArchiveStore } from "./store";

export type ArchiveEvent =
  /** A period begins or goes on. */
  | { readonly kind: "period"; readonly period: Period; readonly isNew: boolean }
  /** The program connects to a node. */
  | { readonly kind: "connect"; readonly shard: string; readonly node: string }
  /** The stream goes on where the archive ended. */
  | { readonly kind: "continued"; readonly shard: string }
  | { readonly kind: "written"; readonly shard: string; readonly file: WrittenFile }
  /** Everything that the server executed until this time is in the archive, milliseconds since the epoch. */
  | { readonly kind: "safe"; readonly shard: string; readonly at: number }
  /** A spool begins for what the store has not taken yet. `waiting`: number of bytes in it at the time of the call */
  | { readonly kind: "spool"; readonly shard: string; readonly directory: string; readonly waiting: () => number }
  /** The deployment cannot be archived at this moment. */
  | { readonly kind: "waiting"; readonly why: string }
  /** A new base on schedule has failed. The present set goes on, and a later base replaces it. */
  | { readonly kind: "postponed"; readonly shard: string; readonly why: string }
  /** Slots have moved, so the period has ended. */
  | { readonly kind: "moved" };

export interface ArchiveOptions {
  readonly store: ArchiveStore;
  readonly deployment: Deployment;
  /** Directory for what the store has not taken yet. It is created if it does not exist. */
  readonly spoolDirectory: string;
  /** Highest number of bytes of each shard that may wait for the store. @default 1 GiB */
  readonly spoolLimit?: number | undefined;
  /** Time after which a shard gets a new set with a new base, milliseconds. @default a day */
  readonly baseEveryMs?: number | undefined;
  /** Receives the sets that are being written, as PERIOD/SHARD/SET. */
  readonly liveSets?: Set<string> | undefined;
  readonly signal: AbortSignal;
  readonly onEvent: (event: ArchiveEvent) => void;
}

const SPOOL_BYTES = 1024 ** 3;
/** Time after which a shard gets a new set by default, milliseconds: a day. */
export const DEFAULT_BASE_EVERY_MS = 86_400_000;
/** Longest time until a new base is tried again after a failure, milliseconds. */
const POSTPONE_MS = 600_000;
/** Interval at which the age of the base is checked, milliseconds. */
const CHECK_MS = 1_000;

interface ShardName {
  readonly name: string;
  readonly index: number;
}

/** Follows a shard until the signal. @throws the errors of `archiveDeployment` */
export async function archiveShard(
  options: ArchiveOptions,
  period: Period,
  shard: ShardName,
  bases: Semaphore,
): Promise<undefined> {
  const { signal } = options;
  const sets = shardStore(options.store, period, shard.name);
  await sets.removePending("");
  const resume = await lastSet(sets);
  let number = 0;
  const begin = (from?: ArchiveSet): SetFollower => new SetFollower(options, period, shard, sets, number++, from);
  let current = begin(resume);
  let isOver = false;
  try {
    for (;;) {
      await Promise.race([current.done, awaitDue(current, options)]);
      // The base of a different shard may take long. Meanwhile, the present set of this shard may fail.
      const next = await Promise.race([
        bases.run(async () => (isOver ? undefined : succeed(current, begin, options, shard))),
        failureOf(current.done),
      ]);
      if (next === undefined) continue;
      const old = current;
      current = next;
      await old.end();
    }
  } catch (error) {
    const isStopped = signal.aborted && error === signal.reason;
    // After a stop, the last increment can still fail.
    const last: unknown = isStopped ? await current.done.catch((each: unknown) => each) : error;
    if (isStopped && (last === undefined || last === error)) throw error;
    throw new Failure(`${shard.name}: ${messageOf(last)}`, { cause: last });
  } finally {
    isOver = true;
    await current.end().catch(() => undefined);
  }
}

/** Rejects when the work fails, and never settles otherwise. */
async function failureOf(work: Promise<void>): Promise<never> {
  await work;
  return new Promise<never>(() => undefined);
}

/** Waits until a set is so old that a new one is due. @throws the signal's reason */
async function awaitDue(
  current: SetFollower,
  { baseEveryMs = DEFAULT_BASE_EVERY_MS, signal }: ArchiveOptions,
): Promise<void> {
  while (!current.isEnded && epochMs() < current.notBefore + baseEveryMs)
    await pause(Math.min(CHECK_MS, baseEveryMs), signal);
}

/**
 * Begins a set, and waits until it has an instant. Until then, the present set goes on, so no time is lost.
 * @returns undefined if the new set failed
 */
async function succeed(
  current: SetFollower,
  begin: () => SetFollower,
  { onEvent, baseEveryMs = DEFAULT_BASE_EVERY_MS }: ArchiveOptions,
  { name }: ShardName,
): Promise<SetFollower | undefined> {
  const next = begin();
  try {
    const ready = next.hasInstant.then(() => true);
    const failed = next.done.then(
      () => new Failure("it has ended"),
      (error: unknown) => error,
    );
    const outcome = await Promise.race([ready, failed, current.done]);
    if (outcome === true) return next;
    current.notBefore = epochMs() - baseEveryMs + Math.min(POSTPONE_MS, baseEveryMs);
    onEvent({ kind: "postponed", shard: name, why: messageOf(outcome) });
    return undefined;
  } catch (error) {
    await next.end().catch(() => undefined);
    throw error;
  }
}

/** Follows a stream into one set. A stream that is interrupted begins a new one. */
class SetFollower {
  /** Time of the base, or of a new attempt after a failure, milliseconds since the epoch. Infinity before the base. */
  notBefore: number;
  isEnded = false;
  /** Settled when the stream ends. */
  readonly done: Promise<void>;
  readonly hasInstant: Promise<void>;
  readonly #stop = new AbortController();
  #live: string | undefined;
  /** Memory of the followed server. Its base is hardly ever larger. */
  #expectedBytes: number | undefined;
  #reportInstant: () => void = () => undefined;

  /** @param resume set that is continued. Undefined for a new base */
  constructor(
    private readonly options: ArchiveOptions,
    private readonly period: Period,
    private readonly shard: ShardName,
    private readonly sets: ArchiveStore,
    private readonly number: number,
    private readonly resume: ArchiveSet | undefined,
  ) {
    this.notBefore = resume?.base.startedAt ?? Infinity;
    this.hasInstant = new Promise((resolve) => {
      this.#reportInstant = resolve;
    });
    this.done = this.#follow().finally(() => {
      this.isEnded = true;
    });
    // Whoever waits for it gets the error. Nobody has to.
    this.done.catch(() => undefined);
  }

  /** Ends the stream after what has arrived is in the store. @throws the store's error */
  async end(): Promise<void> {
    this.#stop.abort(new Failure("a new set has begun"));
    await this.done.catch((error: unknown) => {
      if (error !== this.#stop.signal.reason) throw error;
    });
  }

  async #follow(): Promise<void> {
    const { spoolDirectory, spoolLimit = SPOOL_BYTES, onEvent } = this.options;
    const shard = this.shard.name;
    const signal = AbortSignal.any([this.options.signal, this.#stop.signal]);
    const writer = new ArchiveWriter(
      this.sets,
      {
        onWritten: (file) => {
          onEvent({ kind: "written", shard, file });
        },
        expectedBytes: () => this.#expectedBytes,
        onInstant: () => {
          this.#reportInstant();
        },
        onSafe: (at) => {
          onEvent({ kind: "safe", shard, at });
        },
      },
      this.resume,
    );
    const own = join(spoolDirectory, shard, String(this.number));
    await mkdir(own, { recursive: true, mode: 0o700 });
    const resume = this.resume === undefined ? undefined : resumePoint(this.resume).position;
    if (this.resume !== undefined) onEvent({ kind: "safe", shard, at: lastTime(this.resume) });
    const onSpool = (waiting: () => number): void => {
      onEvent({ kind: "spool", shard, directory: own, waiting });
    };
    const following = { source: () => this.#source(), spoolDirectory: own, spoolLimit, signal, resume, onSpool };
    try {
      this.#setLive(this.resume?.name);
      for await (const item of followStream(following)) {
        if (item.event.kind === "continued") onEvent({ kind: "continued", shard });
        if (item.event.kind === "base") this.notBefore = item.event.at;
        await writer.write(item);
        this.#setLive(writer.set);
      }
    } finally {
      try {
        await writer.close();
      } finally {
        this.#setLive(undefined);
      }
    }
  }

  #setLive(set: string | undefined): void {
    const live = set === undefined ? undefined : `${this.period.name}/${this.shard.name}/${set}`;
    if (live === this.#live) return;
    const { liveSets } = this.options;
    if (live !== undefined) liveSets?.add(live);
    if (this.#live !== undefined) liveSets?.delete(this.#live);
    this.#live = live;
  }

  async #source(): Promise<StreamSource> {
    const { deployment, onEvent } = this.options;
    const { name, index } = this.shard;
    const { shards } = await readLayout(deployment);
    const slots = this.period.shards[index]?.slots;
    const live = shards.find((each) => each.slots === slots);
    const node = live === undefined ? undefined : chooseSource(live);
    if (node === undefined) throw new Failure(`no node of ${name} can be followed: it has no primary that answers`);
    onEvent({ kind: "connect", shard: name, node: node.name });
    this.#expectedBytes = await usedMemory(deployment, node);
    return sourceAt(deployment, node);
  }
}

/** Memory that a server uses, bytes. Undefined if it does not say. */
async function usedMemory(deployment: Deployment, node: DeploymentNode): Promise<number | undefined> {
  try {
    const connection = await deployment.connect(node);
    try {
      return infoNumber(parseInfo(await connection.info("memory")), "used_memory");
    } finally {
      connection.disconnect();
    }
  } catch {
    return undefined;
  }
}

/** Time of the last instant of a set, milliseconds since the epoch. */
function lastTime({ base, increments }: ArchiveSet): number {
  return increments.at(-1)?.instants.at(-1)?.[0] ?? base.startedAt;
}

/** The newest set. Undefined if there is none, or if it is damaged or lacks files: then a new set begins. */
async function lastSet(store: ArchiveStore): Promise<ArchiveSet | undefined> {
  const name = (await listSets(store)).at(-1);
  const set = name === undefined ? undefined : await readSet(store, name).catch(() => undefined);
  return set?.damage === undefined ? set : undefined;
}
