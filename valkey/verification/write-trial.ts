/** Only a write shows that clients can write: a server with a failed snapshot or full memory reports a healthy role. */
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "../../lib/errors";
import { counted, formatBytes } from "../../lib/units";
import { type Connection, isTimeout } from "../connection";
import { errorPrefix } from "../error-replies";
import { type Observation, observed, unobserved } from "../observation";
import type { ClusterView } from "../topology/cluster-view";
import type { MigrationJob } from "../topology/migration-jobs";
import { hasPrimaryRole, infoNumber } from "../topology/replies";
import { slotsIn } from "../topology/slots";
import { slotTags } from "../topology/slot-tags";
import type { DeploymentFacts, NodeFacts } from "./facts";
import { selfOf } from "./shards";
import { type Judgement, unobservedViolations } from "./violations";

const WRITE_LIMIT_MS = 3_000;
/** Time after which the key expires if nothing removes it, milliseconds. */
const EXPIRY_MS = 1_000;
const NO_ANSWER = `no answer within ${WRITE_LIMIT_MS / 1000} s`;

/** In a slot of the node that is not being migrated, if possible; undefined if it serves none. */
function keyFor(view: ClusterView | undefined, migrations: readonly MigrationJob[]): string | undefined {
  const name = `valkey-measured-write-${randomBytes(8).toString("hex")}`;
  if (view === undefined) return name;
  const open = new Set([
    ...view.openSlots.map(({ slot }) => slot),
    ...migrations.flatMap(({ slots }) => slotsIn(slots)),
  ]);
  const ranges = view.topology.nodes.get(view.selfId)?.slots ?? [];
  for (const { from, to } of ranges)
    for (let slot = from; slot <= to; slot++) if (!open.has(slot)) return `${name}{${slotTags()[slot] ?? ""}}`;
  const [first] = ranges;
  return first && `${name}{${slotTags()[first.from] ?? ""}}`;
}

/**
 * Removes the key at once, so that key counts and comparisons do not contain it; it also expires. A connection without
 * an answer is closed: a paused server answers nothing else on it.
 * @returns undefined if not a serving primary
 */
export async function tryWrite(
  connection: Connection,
  { info, view, migrations }: Pick<NodeFacts, "info" | "view" | "migrations">,
): Promise<Observation<true> | undefined> {
  if (!info.known || !hasPrimaryRole(info.value) || info.value.get("loading") === "1") return undefined;
  const key = keyFor(view.known ? view.value : undefined, migrations?.known === true ? migrations.value : []);
  if (key === undefined) return undefined;
  const value = randomBytes(8).toString("hex");
  const ended = new AbortController();
  const late = sleep(WRITE_LIMIT_MS, "late" as const, { signal: ended.signal }).catch(() => "late" as const);
  // BITOP without a source removes the key. DEL and expiry would count as removed keys, on replicas too, and these counts
  // say whether the deployment has lost keys (`kept-data.ts`).
  const removal = ["AND", key, `${key}-none`] as const;
  const trial = connection
    .pipeline()
    .set(key, value, "PX", EXPIRY_MS)
    .get(key)
    .bitop(...removal)
    .exec();
  try {
    const replies = await Promise.race([trial, late]);
    if (replies === "late") {
      connection.disconnect(true);
      trial.catch(() => undefined);
      return unobserved(NO_ANSWER);
    }
    const [[refused], [unread, found]] = (replies ?? []) as [[Error | null], [Error | null, unknown]];
    if (refused !== null) return refusal(connection, refused);
    if (unread !== null) return refusal(connection, unread);
    return found === value ? observed(true) : unobserved("the read did not return what was written");
  } catch (error) {
    return refusal(connection, error);
  } finally {
    ended.abort();
  }
}

function refusal(connection: Connection, error: unknown): Observation<true> {
  if (!isTimeout(error)) return unobserved(messageOf(error));
  connection.disconnect(true);
  return unobserved(NO_ANSWER);
}

/** A primary without a trial fails the assertion. */
export function writable({ nodes, skippedAssertions }: DeploymentFacts): Judgement {
  if (skippedAssertions.includes("writes"))
    return { violations: [{ node: "", problem: "not tried, because writes are skipped on request" }] };
  const primaries = nodes.filter(servesSlots);
  const none = primaries.length === 0 ? [{ node: "", problem: "there is no primary" }] : [];
  const refused = primaries.flatMap(({ node, write, info }) => {
    if (!info.known || write?.known === true) return [];
    return [{ node: node.name, problem: describeRefusal(info.value, write?.why ?? "not tried") }];
  });
  const unasked = unobservedViolations(nodes, ({ info }) => info);
  return { violations: [...none, ...unasked, ...refused], found: counted(primaries.length, "primary", "primaries") };
}

function servesSlots(facts: NodeFacts): boolean {
  if (!facts.info.known || !hasPrimaryRole(facts.info.value)) return false;
  const self = selfOf(facts);
  return self === undefined || self.slots.length > 0;
}

type Info = ReadonlyMap<string, string>;

/** Causes of a refused write that only an intervention can remove, by the code of the reply. */
const LASTING: ReadonlySet<string> = new Set(["OOM", "NOPERM", "NOAUTH"]);

/** Whether a primary refuses writes for a cause that does not end by itself. */
export function refusesForGood({ nodes, skippedAssertions }: DeploymentFacts): boolean {
  return (
    skippedAssertions.includes("writes") ||
    nodes.some(({ write }) => write?.known === false && LASTING.has(errorPrefix(write.why)))
  );
}

const CAUSES: Readonly<Record<string, (info: Info, why: string) => string>> = {
  MISCONF: (info, why) => {
    const isFile = info.get("aof_last_write_status") === "err" || /AOF/.test(why);
    const disk = /No space left/i.test(why) ? " (the disk is full)" : "";
    return isFile
      ? `its last write to the append-only file failed${disk}`
      : `its last snapshot failed, and stop-writes-on-bgsave-error is yes${disk}`;
  },
  OOM: (info) => {
    const [used, most] = [infoNumber(info, "used_memory"), infoNumber(info, "maxmemory")];
    const sizes = used === undefined || most === undefined ? "" : ` (${formatBytes(used)} of ${formatBytes(most)})`;
    return `its memory is full${sizes}, and maxmemory-policy is ${info.get("maxmemory_policy") ?? "unknown"}`;
  },
  NOREPLICAS: (info) => {
    const linked = info.get("min_slaves_good_slaves") ?? "unknown";
    return `fewer replicas keep up than min-replicas-to-write requires (${linked} keep up)`;
  },
  NOPERM: (_info, why) =>
    /access a key/i.test(why)
      ? "the user may not write the key of this trial: allow ~valkey-measured-*, or skip the trial (--without writes)"
      : "the user that clients use has no right to write",
  READONLY: () => "it is read only",
};

/** @param why error reply of the server, or another error message */
function describeRefusal(info: Info, why: string): string {
  if (why === NO_ANSWER) {
    const paused = info.get("paused_actions") ?? "none";
    return paused === "none"
      ? `refuses writes: ${NO_ANSWER}`
      : `refuses writes: ${NO_ANSWER}, because clients are paused (${info.get("paused_reason") ?? "unknown reason"})`;
  }
  const cause = CAUSES[errorPrefix(why)];
  return cause === undefined ? `refuses writes: ${why}` : `refuses writes: ${cause(info, why)}: ${why}`;
}
