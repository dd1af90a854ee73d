/** Archives a running deployment: copies the replication stream of one node of each shard until a signal. */
import { SteadyClock } from "../../lib/clock";
import { Failure } from "../../lib/errors";
import { pause, poll } from "../../lib/polling";
import { Semaphore } from "../../lib/semaphore";
import type { Deployment } from "../../valkey/deployment";
import { type ArchiveOptions, archiveShard } from "./archive-shard";
import { type Period, beginPeriod, endPeriod, listPeriods, shardStore } from "./periods";
import { removeUnfinishedBases } from "./sets";
import { type Layout, readDatabases, readLayout, readSlots } from "./shard-layout";

const WATCH_MS = 1_000;
/** Time after which every node is assumed to know that slots have moved, milliseconds. */
const GOSSIP_MS = 2_000;
/** Longest wait until no slots move any more, so that archiving can begin, milliseconds. */
const SETTLING_MS = 3_600_000;

/** The caller must hold the lease. @throws Failure when a stream is lost for a minute, or the buffer on disk is full */
export async function archiveDeployment(options: ArchiveOptions): Promise<void> {
  const clock = new SteadyClock((stepMs) => {
    options.onEvent({ kind: "clock", stepMs });
  });
  let isTidy = false;
  for (;;) {
    try {
      if (!isTidy) await removeUnfinished(options);
      isTidy = true;
      await archivePeriod(options, await openPeriod(options, clock.now), clock.now);
    } catch (error) {
      // A last increment that could not be written is an error, although the signal was aborted before.
      if (options.signal.aborted && error === options.signal.reason) return;
      throw error;
    }
  }
}

/** Removes what killed calls have left. It can be in any period, because slots may have moved since. */
async function removeUnfinished({ store, signal }: ArchiveOptions): Promise<void> {
  await store.removePending("");
  for (const period of await listPeriods(store))
    for (const { name } of period.shards) await removeUnfinishedBases(shardStore(store, period, name), signal);
}

async function openPeriod({ store, deployment, signal, onEvent }: ArchiveOptions, now: () => number): Promise<Period> {
  const layout = await settledLayout(deployment, signal, onEvent);
  const slots = layout.shards.map((shard) => shard.slots);
  const last = (await listPeriods(store)).at(-1);
  const isSame =
    last?.endedAt === undefined &&
    last?.shards.length === slots.length &&
    last.shards.every((shard, index) => shard.slots === slots[index]);
  const period = isSame
    ? last
    : await beginPeriod(store, {
        startedAt: now(),
        shards: slots.map((each, index) => ({ name: `shard-${index}`, slots: each })),
        databases: await readDatabases(deployment),
      });
  onEvent({ kind: "period", period, isNew: !isSame });
  return period;
}

async function settledLayout(
  deployment: Deployment,
  signal: AbortSignal,
  onEvent: ArchiveOptions["onEvent"],
): Promise<Layout> {
  let said: string | undefined;
  const settled = await poll(
    async () => {
      const layout = await readLayout(deployment);
      if (layout.unsettled === undefined) return layout;
      if (layout.unsettled !== said) onEvent({ kind: "waiting", why: layout.unsettled });
      said = layout.unsettled;
      return undefined;
    },
    { intervalMs: WATCH_MS, timeoutMs: SETTLING_MS, signal },
  );
  if (settled === undefined) throw new Failure(`${deployment.name} cannot be archived: ${said ?? "no layout"}`);
  return settled;
}

async function archivePeriod(options: ArchiveOptions, period: Period, now: () => number): Promise<void> {
  const stop = new AbortController();
  const signal = AbortSignal.any([options.signal, stop.signal]);
  // Each base makes a server fork, so there is one at a time.
  const bases = new Semaphore(1);
  const shards = period.shards.map(({ name }, index) =>
    archiveShard({ ...options, signal, now }, period, { name, index }, bases),
  );
  const watching =
    options.deployment.mode === "cluster" ? awaitMove(options.deployment, period, now, signal) : undefined;
  const running = [...shards, ...(watching === undefined ? [] : [watching])];
  try {
    const unmovedAt = await Promise.race(running);
    if (unmovedAt !== undefined) {
      options.onEvent({ kind: "moved" });
      await endPeriod(options.store, period, unmovedAt);
    }
  } catch (error) {
    if (error !== signal.reason) throw error;
  } finally {
    stop.abort();
    await Promise.allSettled(running);
  }
  throwFailed(await Promise.allSettled(running), signal.reason);
  options.signal.throwIfAborted();
}

function throwFailed(results: readonly PromiseSettledResult<unknown>[], reason: unknown): void {
  for (const each of results) if (each.status === "rejected" && each.reason !== reason) throw each.reason;
}

/** @returns the last time at which the shards still had the slots of the period, milliseconds since the epoch */
async function awaitMove(
  deployment: Deployment,
  { shards }: Period,
  now: () => number,
  signal: AbortSignal,
): Promise<number> {
  const wanted = shards.flatMap(({ slots = "" }) => slots).sort();
  let unmovedSince = performance.now();
  for (;;) {
    await pause(WATCH_MS, signal);
    const askedAt = performance.now();
    // While no node answers, the followers decide how long to wait.
    const found = await readSlots(deployment).catch(() => undefined);
    if (found === undefined) continue;
    // If the clock was set meanwhile, this is a time of the clock as it is now.
    if (found.moves || found.slots.join() !== wanted.join())
      return now() - (performance.now() - unmovedSince) - GOSSIP_MS;
    unmovedSince = askedAt;
  }
}
