/**
 * Finds lost writes from the history of writes and the content of every key after recovery. Pure.
 *
 * - A write is kept if its key has the value of this write or the value of a later write.
 * - A write is lost if it was acknowledged and its key is gone, is damaged or has an older value.
 * - A write with an unknown outcome is never lost, because it was not acknowledged.
 * - An acknowledged write is undecided if a write with an unknown outcome may have overwritten it late.
 */
import { type Write, type WriteOutcome, isAcknowledged } from "./write-history";

export type KeyContent =
  | { readonly kind: "number"; readonly number: number }
  | { readonly kind: "gone" }
  /** The key has a value that was never written to this key. */
  | { readonly kind: "damaged" }
  | { readonly kind: "unread"; readonly reason: string };

export type KeyWrite = Pick<Write, "number" | "outcome">;

export interface LostWrite {
  readonly key: string;
  readonly number: number;
  readonly found: number | "gone" | "damaged";
}

export interface WriteAccounting {
  readonly acknowledged: number;
  readonly failed: number;
  readonly unknown: number;
  readonly lost: readonly LostWrite[];
  /** Writes with an unknown outcome whose value a key has. */
  readonly unknownDone: number;
  /** Acknowledged writes whose key has an older write of unknown outcome, which may have been performed after them. */
  readonly undecided: number;
  /** Contents that a correct server never has: the value of a refused write, or a value that was never written. */
  readonly anomalies: readonly string[];
  /** Nothing is known about writes to these keys. */
  readonly unread: number;
  /** Reason why a key could not be read, for the first such key; undefined if all keys were read. */
  readonly unreadReason: string | undefined;
}

export function accountForWrites(
  histories: ReadonlyMap<string, readonly KeyWrite[]>,
  contents: ReadonlyMap<string, KeyContent>,
): WriteAccounting {
  const counts: Record<WriteOutcome["kind"], number> = { acknowledged: 0, failed: 0, unknown: 0 };
  const lost: LostWrite[] = [];
  const anomalies: string[] = [];
  let [unknownDone, undecided, unread] = [0, 0, 0];
  let unreadReason: string | undefined;
  for (const [key, writes] of histories) {
    for (const { outcome } of writes) counts[outcome.kind]++;
    const content = contents.get(key) ?? { kind: "unread", reason: "the key was not read" };
    if (content.kind === "unread") {
      unread++;
      unreadReason ??= content.reason;
      continue;
    }
    const ofKey = accountForKey(key, writes, content);
    lost.push(...ofKey.lost);
    anomalies.push(...ofKey.anomalies);
    unknownDone += ofKey.unknownDone;
    undecided += ofKey.undecided;
  }
  return { ...counts, lost, unknownDone, undecided, anomalies, unread, unreadReason };
}

type KeyAccounting = Pick<WriteAccounting, "lost" | "unknownDone" | "undecided" | "anomalies">;

const NOTHING_LOST: KeyAccounting = { lost: [], unknownDone: 0, undecided: 0, anomalies: [] };

function accountForKey(
  key: string,
  writes: readonly KeyWrite[],
  content: Exclude<KeyContent, { kind: "unread" }>,
): KeyAccounting {
  const acknowledged = writes.filter(isAcknowledged).map(({ number }) => number);
  const lostWrites = (numbers: readonly number[], found: LostWrite["found"]): LostWrite[] =>
    numbers.map((number) => ({ key, number, found }));
  if (content.kind === "gone") return { ...NOTHING_LOST, lost: lostWrites(acknowledged, "gone") };
  if (content.kind === "damaged") {
    const anomalies = [`${key} holds a value that was not written to it`];
    return { ...NOTHING_LOST, lost: lostWrites(acknowledged, "damaged"), anomalies };
  }
  const held = writes.find(({ number }) => number === content.number);
  const later = acknowledged.filter((number) => number > content.number);
  if (held?.outcome.kind === "unknown") return { ...NOTHING_LOST, unknownDone: 1, undecided: later.length };
  return {
    ...NOTHING_LOST,
    lost: lostWrites(later, content.number),
    anomalies: anomaliesOf(key, content.number, held),
  };
}

function anomaliesOf(key: string, number: number, held: KeyWrite | undefined): string[] {
  if (held === undefined) return [`${key} holds write ${number}, but this write was not sent`];
  if (held.outcome.kind !== "failed") return [];
  return [`${key} holds write ${number}, but this write was refused (${held.outcome.error})`];
}
