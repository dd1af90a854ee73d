import { pause } from "../../lib/polling";
import type { Inspection } from "./drift";
import type { SeenData } from "../../valkey/verification/facts";
import { type Look, lookOf } from "./look";

export interface Watched {
  readonly name: string;
  /** Never throws. @param former data that earlier verifications saw */
  readonly inspect: (signal: AbortSignal, former: SeenData | undefined) => Promise<Inspection>;
}

interface WatchOptions {
  /** Milliseconds between starts. A verification that takes longer delays the next one. */
  readonly everyMs: number;
  /** Time between two verifications while the deployment fails verification, milliseconds. @default `everyMs` */
  readonly failingEveryMs?: number | undefined;
  /** Resolves after a change: the next verification then comes early. @default changes cause no early verification */
  readonly untilChange?: ((signal: AbortSignal) => Promise<void>) | undefined;
  /** Milliseconds. A verification that hangs must not leave the last verdict. @default 60000 */
  readonly longestMs?: number | undefined;
  readonly signal: AbortSignal;
  /** The next verification begins when this has finished. @param former undefined for the first one */
  readonly onLook: (look: Look, former: Look | undefined) => void | Promise<void>;
}

const LONGEST_MS = 60_000;

/** @returns the last result; undefined if the first verification was not finished */
export async function watch(watched: Watched, options: WatchOptions): Promise<Look | undefined> {
  const { everyMs, failingEveryMs = everyMs, longestMs: limitMs = LONGEST_MS, untilChange, signal, onLook } = options;
  const isOver = (): boolean => signal.aborted;
  let former: Look | undefined;
  let data: SeenData | undefined;
  for (;;) {
    const at = new Date();
    const began = performance.now();
    const inspection = await inspectInTime(watched, limitMs, signal, data);
    // An interrupted verification is incomplete, so it is discarded.
    if (isOver()) return former;
    data = inspection.data ?? data;
    const elapsedMs = performance.now() - began;
    const look = lookOf(watched.name, inspection, { at, seconds: elapsedMs / 1000, former });
    await onLook(look, former);
    former = look;
    if (isOver()) return former;
    const shortestMs = Math.max(0, failingEveryMs - elapsedMs);
    const isHealthy = look.pass && look.remarks.length === 0;
    const longestMs = isHealthy ? Math.max(0, everyMs - elapsedMs) : shortestMs;
    await pauseUntilChange({ shortestMs, longestMs, untilChange, signal });
  }
}

async function inspectInTime(
  { inspect }: Watched,
  limitMs: number,
  signal: AbortSignal,
  data: SeenData | undefined,
): Promise<Inspection> {
  const ended = new AbortController();
  const limited = AbortSignal.any([signal, ended.signal]);
  const late = pause(limitMs, limited).then(
    () => ({ verification: undefined, drift: [`the verification did not end within ${limitMs / 1000} s`] }),
    () => new Promise<never>(() => undefined),
  );
  try {
    return await Promise.race([inspect(limited, data), late]);
  } finally {
    ended.abort();
  }
}

async function pauseUntilChange({
  shortestMs,
  longestMs,
  untilChange,
  signal,
}: Pick<WatchOptions, "untilChange" | "signal"> & {
  readonly shortestMs: number;
  readonly longestMs: number;
}): Promise<void> {
  await pause(shortestMs, signal).catch(() => undefined);
  const ended = new AbortController();
  const rest = AbortSignal.any([signal, ended.signal]);
  const waits = [pause(longestMs - shortestMs, rest).catch(() => undefined)];
  if (untilChange !== undefined) waits.push(untilChange(rest));
  await Promise.race(waits);
  ended.abort();
}
