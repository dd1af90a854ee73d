/**
 * The oracle of the model: which acknowledged writes may be lost. Pure.
 *
 * A write may be lost if a fault has destroyed the last copy of it. Any other loss is a violation, whether WAIT had
 * confirmed the write or not: a server had the last copy, no fault took it, and the server has discarded it all the same.
 * A replica that discards its copy while it synchronizes with a primary that has the write loses nothing.
 *
 * Servers that elect (a cluster, Sentinels) may go on without servers that they do not hear. So in these modes a write may
 * also be lost if a server without it was promoted after one of these:
 *   every server with the write was silent for as long as an election needs, at the same time
 *   the server that acknowledged the write had been silent for so long shortly before, so that it may have had a successor
 *   a person promoted that server (`CLUSTER FAILOVER TAKEOVER`)
 */

/** A fact about servers. Times are milliseconds of one clock that only goes forward. */
export type Fact = { readonly at: number; readonly server: string } & (
  | { readonly kind: "acknowledged"; readonly keys: readonly string[]; readonly replicas: number }
  /** All keys that the server has. */
  | { readonly kind: "has"; readonly keys: ReadonlySet<string> }
  /** A fault, and the keys that the server's disk has after it. */
  | { readonly kind: "fault"; readonly keys: ReadonlySet<string> }
  | { readonly kind: "silent" | "answers" }
  /** A running replica became a primary. */
  | { readonly kind: "promoted"; readonly byHand: boolean }
);

export interface Loss {
  readonly key: string;
  readonly acknowledgedBy: string;
  /** Number of replicas that confirmed the write to WAIT. */
  readonly confirmed: number;
  /** Servers that discarded the last copies, or still have copies that clients do not find. */
  readonly discardedBy: readonly string[];
}

/** Time before an acknowledgement within which a silence of its server counts, milliseconds. */
const SHORTLY_MS = 15_000;

/**
 * Acknowledged writes that are lost although they need not be.
 * @param facts in the order of time
 * @param present keys that clients read in the end
 * @param electionMs shortest silence after which servers elect; undefined if nobody elects
 */
export function violations(
  facts: readonly Fact[],
  present: ReadonlySet<string>,
  electionMs: number | undefined,
): Loss[] {
  const writes = facts.flatMap((fact) =>
    fact.kind === "acknowledged"
      ? fact.keys.map((key) => ({ key, acknowledgedBy: fact.server, confirmed: fact.replicas }))
      : [],
  );
  return writes
    .filter(({ key }) => !present.has(key))
    .flatMap((write) => {
      const { discardedBy, isExcused } = historyOf(write.key, facts, electionMs);
      return discardedBy.length === 0 || isExcused ? [] : [{ ...write, discardedBy }];
    });
}

function historyOf(
  key: string,
  facts: readonly Fact[],
  electionMs = Infinity,
): { discardedBy: string[]; isExcused: boolean } {
  const holders = new Set<string>();
  const discardedBy = new Set<string>();
  const silentSince = new Map<string, number>();
  /** End of the last silence that was long enough for an election. */
  const heardAgain = new Map<string, number>();
  let isExposed = false;
  let isExcused = false;
  for (const fact of facts) {
    const { at, server } = fact;
    const since = [...holders].map((holder) => silentSince.get(holder) ?? Infinity);
    if (at - Math.max(-Infinity, ...since) >= electionMs && holders.size > 0) isExposed = true;
    switch (fact.kind) {
      case "acknowledged":
        if (!fact.keys.includes(key)) break;
        holders.add(server);
        if (at - (heardAgain.get(server) ?? -Infinity) <= SHORTLY_MS) isExcused = true;
        break;
      case "has":
      case "fault":
        if (fact.keys.has(key)) {
          holders.add(server);
          discardedBy.clear();
        } else if (holders.delete(server) && fact.kind === "has" && holders.size === 0) discardedBy.add(server);
        break;
      case "silent":
        if (!silentSince.has(server)) silentSince.set(server, at);
        break;
      case "answers":
        if (at - (silentSince.get(server) ?? Infinity) >= electionMs) heardAgain.set(server, at);
        silentSince.delete(server);
        break;
      case "promoted":
        if (electionMs === Infinity || holders.size === 0 || holders.has(server)) break;
        if (isExposed || fact.byHand) isExcused = true;
    }
  }
  // A server that still has the write in the end, but does not lead clients, is about to discard it.
  return { discardedBy: [...discardedBy, ...holders], isExcused };
}
