/** At intervals, a new set of a shard begins, and only then the old set ends. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { Failure, messageOf } from "../../lib/errors";
import { pause } from "../../lib/polling";
import type { Semaphore } from "../../lib/semaphore";
import type { Deployment } from "../../valkey/deployment";
import type { DeploymentNode } from "../../valkey/node";
import { followStream } from "../replication-stream/follow";
import type { StreamSource } from "../replication-stream/replica-link";
import { infoNumber, parseInfo } from "../../valkey/topology/replies";
import { type WrittenFile, ArchiveWriter, resumePoint } from "./archive-writer";
import type { ArchiveSet } from "./manifests";
import { type Period, shardStore } from "./periods";
import { listSets, readSet } from "./sets";
import { chooseSource, readLayout, sourceAt } from "./shard-layout";
import type { ArchiveStore } from "./store";
import { withConnection } from "../../valkey/connections";

export type ArchiveEvent =
  /** `isNew` is false if the archive's last period continues. */
  | { readonly kind: "period"; readonly period: Period; readonly isNew: boolean }
  | { readonly kind: "connect"; readonly shard: string; readonly node: string }
  /** The server continues the stream after the last archived command, so no new RDB file is needed. */
  | { readonly kind: "continued"; readonly shard: string }
  | { readonly kind: "written"; readonly shard: string; readonly file: WrittenFile }
  /** Every command that the server executed until the time `at` is in the archive. */
  | { readonly kind: "safe"; readonly shard: string; readonly at: number }
  /** `waiting` returns the number of bytes in the buffer. */
  | { readonly kind: "spool"; readonly shard: string; readonly directory: string; readonly waiting: () => number }
  | { readonly kind: "waiting"; readonly why: string }
  /** `stepMs`: milliseconds by which the times of later events go on; negative if the clock was set back. */
  | { readonly kind: "clock"; readonly stepMs: number }
  /** The old set continues, and a later attempt replaces it. */
  | { readonly kind: "postponed"; readonly shard: string; readonly why: string }
  | { readonly kind: "moved" };

export interface ArchiveOptions {
  readonly store: ArchiveStore;
  readonly deployment: Deployment;
  /** It is created if it does not exist. */
  readonly spoolDirectory: string;
  /** Highest number of bytes of all shards that may wait in the buffer directory; at most 1 GiB for each shard. */
  readonly spoolBytes?: number | undefined;
  /** @default a day */
  readonly baseEveryMs?: number | undefined;
  /** Names of the sets that are being written at this moment, as PERIOD/SHARD/SET. */
  readonly liveSets?: Set<string> | undefined;
  readonly signal: AbortSignal;
  readonly onEvent: (event: ArchiveEvent) => void;
}

const SHARD_SPOOL_BYTES = 1024 ** 3;
export const DEFAULT_BASE_EVERY_MS = 86_400_000;
/** Longest wait after a failed attempt to begin a new set, milliseconds. */
const POSTPONE_MS = 600_000;
const CHECK_MS = 1_000;

interface ShardOptions extends ArchiveOptions {
  /** Returns the time for the archive, milliseconds since the epoch. */
  readonly now: () => number;
}

interface ShardName {
  readonly name: string;
  readonly index: number;
}

export async function archiveShard(
  options: ShardOptions,
  period: Period,
  shard: ShardName,
  bases: Semaphore,
): Promise<undefined> {
  const { signal } = options;
  const sets = shardStore(options.store, period, shard.name);
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

async function awaitDue(
  current: SetFollower,
  { baseEveryMs = DEFAULT_BASE_EVERY_MS, signal }: ArchiveOptions,
): Promise<void> {
  while (!current.isEnded && performance.now() < current.notBefore + baseEveryMs)
    await pause(Math.min(CHECK_MS, baseEveryMs), signal);
}

/** The current set continues until data can be restored from the new one. @returns undefined if the new set failed */
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
    current.notBefore = performance.now() - baseEveryMs + Math.min(POSTPONE_MS, baseEveryMs);
    onEvent({ kind: "postponed", shard: name, why: messageOf(outcome) });
    return undefined;
  } catch (error) {
    await next.end().catch(() => undefined);
    throw error;
  }
}

/** If the stream breaks and the server cannot continue it, a new set begins. */
class SetFollower {
  /** Time, by `performance.now`, from which the set's age is counted; infinity before the RDB file begins. */
  notBefore: number;
  isEnded = false;
  readonly done: Promise<void>;
  readonly hasInstant: Promise<void>;
  readonly #stop = new AbortController();
  #live: string | undefined;
  /** Memory that the followed server uses, bytes: its RDB file is hardly ever larger. */
  #expectedBytes: number | undefined;
  #reportInstant: () => void = () => undefined;

  constructor(
    private readonly options: ShardOptions,
    private readonly period: Period,
    private readonly shard: ShardName,
    private readonly sets: ArchiveStore,
    private readonly number: number,
    private readonly resume: ArchiveSet | undefined,
  ) {
    // A clock that was set back must not make the set last longer.
    const ageMs = Math.max(0, options.now() - (resume?.base.startedAt ?? -Infinity));
    this.notBefore = resume === undefined ? Infinity : performance.now() - ageMs;
    this.hasInstant = new Promise((resolve) => {
      this.#reportInstant = resolve;
    });
    this.done = this.#follow().finally(() => {
      this.isEnded = true;
    });
    // Whoever waits for it gets the error. Nobody has to.
    this.done.catch(() => undefined);
  }

  async end(): Promise<void> {
    this.#stop.abort(new Failure("a new set has begun"));
    await this.done.catch((error: unknown) => {
      if (error !== this.#stop.signal.reason) throw error;
    });
  }

  async #follow(): Promise<void> {
    const { spoolDirectory, spoolBytes = Infinity, onEvent, now } = this.options;
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
        now,
      },
      this.resume,
    );
    const spoolLimit = Math.min(SHARD_SPOOL_BYTES, Math.floor(spoolBytes / this.period.shards.length));
    const own = join(spoolDirectory, shard, String(this.number));
    await mkdir(own, { recursive: true, mode: 0o700 });
    const resume = this.resume === undefined ? undefined : resumePoint(this.resume).position;
    if (this.resume !== undefined) onEvent({ kind: "safe", shard, at: lastTime(this.resume) });
    const onSpool = (waiting: () => number): void => {
      onEvent({ kind: "spool", shard, directory: own, waiting });
    };
    const following = { source: () => this.#source(), spoolDirectory: own, spoolLimit, signal, resume, onSpool, now };
    try {
      this.#setLive(this.resume?.name);
      for await (const item of followStream(following)) {
        if (item.event.kind === "continued") onEvent({ kind: "continued", shard });
        if (item.event.kind === "base") this.notBefore = performance.now();
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

/** Memory that a server uses, bytes. */
async function usedMemory(deployment: Deployment, node: DeploymentNode): Promise<number | undefined> {
  try {
    const info = await withConnection(deployment.connect(node), (connection) => connection.info("memory"));
    return infoNumber(parseInfo(info), "used_memory");
  } catch {
    return undefined;
  }
}

/** Milliseconds since the epoch; the time of the RDB file before the first instant. */
function lastTime({ base, increments }: ArchiveSet): number {
  return increments.at(-1)?.instants.at(-1)?.[0] ?? base.startedAt;
}

/** Undefined also if the newest set is damaged. A newer set without an instant reaches no further than this one. */
async function lastSet(store: ArchiveStore): Promise<ArchiveSet | undefined> {
  let newest: ArchiveSet | undefined;
  for (const name of (await listSets(store)).toReversed()) {
    const set = await readSet(store, name).catch(() => undefined);
    if (set === undefined || set.damage !== undefined) break;
    if (set.increments.some(({ instants }) => instants.length > 0)) return set;
    newest ??= set;
  }
  return newest;
}
