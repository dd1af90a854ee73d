/**
 * Which acknowledged writes are lost: the journal beside what is there after healing. Pure.
 *
 * A write is kept when its key holds its value or that of a later write. It is lost when it was acknowledged and the key is
 * gone, damaged or holds an older value. A write whose outcome is unknown is never lost, for nobody was promised it; and
 * since it may take effect late, an acknowledged write that it has overwritten is not called lost either.
 */
import type { WriteOutcome, Write } from "./write-history";

/** What a key holds. */
export type KeyContent =
  | { readonly kind: "number"; readonly number: number }
  | { readonly kind: "gone" }
  /** There is a value, and it is none of this key's. */
  | { readonly kind: "damaged" }
  | { readonly kind: "unread"; readonly why: string };

export type KeyWrite = Pick<Write, "number" | "outcome">;

export interface LostWrite {
  readonly key: string;
  readonly number: number;
  /** What the key holds instead: the number of an older write, or why there is none. */
  readonly found: number | "gone" | "damaged";
}

export interface WriteAccounting {
  readonly acknowledged: number;
  readonly failed: number;
  readonly unknown: number;
  readonly lost: readonly LostWrite[];
  /** Writes of unknown outcome that are there: they were done. */
  readonly unknownDone: number;
  /** Acknowledged writes of keys that hold an older write of unknown outcome, which may have been done after them. */
  readonly undecided: number;
  /** What no server may do: a refused write that is there, a value nobody wrote. */
  readonly anomalies: readonly string[];
  /** Keys that could not be read, with the first reason: nothing is known of their writes. */
  readonly unread: number;
  readonly whyUnread: string | undefined;
}

/**
 * @param histories the writes of each key, by number
 * @param found of each key; one that is missing here is unread
 */
export function accountForWrites(
  histories: ReadonlyMap<string, readonly KeyWrite[]>,
  found: ReadonlyMap<string, KeyContent>,
): WriteAccounting {
  const counts: Record<WriteOutcome["kind"], number> = { acknowledged: 0, failed: 0, unknown: 0 };
  const lost: LostWrite[] = [];
  const anomalies: string[] = [];
  let [unknownDone, undecided, unread] = [0, 0, 0];
  let whyUnread: string | undefined;
  for (const [key, writes] of histories) {
    for (const { outcome } of writes) counts[outcome.kind]++;
    const here = found.get(key) ?? { kind: "unread", why: "it was not asked for" };
    if (here.kind === "unread") {
      unread++;
      whyUnread ??= here.why;
      continue;
    }
    const judged = judgeKey(key, writes, here);
    lost.push(...judged.lost);
    anomalies.push(...judged.anomalies);
    unknownDone += judged.unknownDone;
    undecided += judged.undecided;
  }
  return { ...counts, lost, unknownDone, undecided, anomalies, unread, whyUnread };
}

type KeyJudgement = Pick<WriteAccounting, "lost" | "unknownDone" | "undecided" | "anomalies">;

function judgeKey(
  key: string,
  writes: readonly KeyWrite[],
  found: Exclude<KeyContent, { kind: "unread" }>,
): KeyJudgement {
  const acknowledged = writes.filter(({ outcome }) => outcome.kind === "acknowledged").map(({ number }) => number);
  const none = { lost: [], unknownDone: 0, undecided: 0, anomalies: [] };
  const lose = (numbers: readonly number[], instead: LostWrite["found"]): LostWrite[] =>
    numbers.map((number) => ({ key, number, found: instead }));
  if (found.kind === "gone") return { ...none, lost: lose(acknowledged, "gone") };
  if (found.kind === "damaged")
    return {
      ...none,
      lost: lose(acknowledged, "damaged"),
      anomalies: [`${key} holds a value that was not written to it`],
    };

  const { number } = found;
  const there = writes.find((write) => write.number === number);
  const later = acknowledged.filter((each) => each > number);
  if (there === undefined)
    return { ...none, lost: lose(later, number), anomalies: [`${key} holds write ${number}, which was not sent`] };
  if (there.outcome.kind === "unknown") return { ...none, unknownDone: 1, undecided: later.length };
  const anomalies =
    there.outcome.kind === "failed" ? [`${key} holds write ${number}, which was refused (${there.outcome.error})`] : [];
  return { ...none, lost: lose(later, number), anomalies };
}
