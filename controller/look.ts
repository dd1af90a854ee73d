/** Result of one verification (a look) as plain data. */
import { compact } from "../lib/compact";
import { formatDuration } from "../lib/units";
import { separatedNodes } from "../valkey/verification/cluster-verdict";
import { changedSettings } from "../valkey/verification/shared-assertions";
import type { Verification } from "../valkey/verification/verify";
import { formatRanges } from "../valkey/topology/slots";
import type { OpenSlots } from "../valkey/resize/open-slots";
import type { Inspection } from "../provider/updates/drift";

export interface AssertionLook {
  readonly id: string;
  readonly holds: boolean;
  readonly found: string;
  readonly nodes: readonly string[];
}

export interface Look {
  readonly deployment: string;
  /** Time at which the verification began, ISO 8601. */
  readonly at: string;
  readonly seconds: number;
  readonly pass: boolean;
  /** Time since which `pass` has had its present value, ISO 8601. */
  readonly since: string;
  /** If no node replied, the list contains only `reachable`, with the reason. */
  readonly assertions: readonly AssertionLook[];
  /** Sentences about a deployment that passes, such as an uneven spread of primaries. */
  readonly remarks: readonly string[];
  /** In replication mode the key is an empty string. */
  readonly primaries: Readonly<Record<string, string>>;
  /** Slots whose migration was begun but not finished; undefined also if they were not read. */
  readonly openSlots?: OpenSlots | undefined;
  /** Nodes that reply, but that another node does not reach: the network may be cut. Undefined if there are none. */
  readonly separated?: readonly string[] | undefined;
  /** Names of settings that differ from the configuration, and that CONFIG SET can change without a restart. */
  readonly changedSettings?: readonly string[] | undefined;
}

/** @param former the previous look; undefined for the first one */
export function lookOf(
  deployment: string,
  { verification, drift, openSlots }: Inspection,
  { at, seconds, former }: { readonly at: Date; readonly seconds: number; readonly former: Look | undefined },
): Look {
  const time = at.toISOString();
  const verdict = verification?.verdict;
  const pass = verdict?.pass === true;
  const changed = verification === undefined || pass ? [] : settingsToRepair(verification);
  const separated = verification === undefined || pass ? [] : separatedNodes(verification.facts.nodes);
  return {
    deployment,
    at: time,
    seconds,
    pass,
    since: former?.pass === pass ? former.since : time,
    assertions: verdict?.assertions.map(({ id, pass: holds, found, nodes }) => ({ id, holds, found, nodes })) ?? [
      { id: "reachable", holds: false, found: drift.join("; "), nodes: [] },
    ],
    remarks: pass ? drift : [],
    ...(openSlots === undefined ? {} : { openSlots }),
    ...(separated.length === 0 ? {} : { separated }),
    ...(changed.length === 0 ? {} : { changedSettings: changed }),
    primaries: Object.fromEntries(
      (verdict?.shards ?? []).flatMap(({ slots, primary }) =>
        primary === undefined ? [] : [[slots.length === 0 ? "" : formatRanges(slots), primary] as const],
      ),
    ),
  };
}

function settingsToRepair({ facts, verdict }: Verification): string[] {
  const differ = verdict.assertions.some(({ id, pass }) => id === "same-settings" && !pass);
  return differ ? changedSettings(facts) : [];
}

/** For the first verification, the lines are the verdict, every failed assertion and every remark. */
export function changesOf(former: Look | undefined, look: Look): string[] {
  const { deployment } = look;
  const said = new Set(former?.remarks);
  const lines = [
    former?.pass === look.pass ? undefined : describeVerdict(former, look),
    ...describeFailures(former, look),
    ...Object.entries(look.primaries).map(([slots, primary]) => {
      const before = former?.primaries[slots];
      if (before === undefined || before === primary) return undefined;
      return `${primary} took over from ${before}${slots === "" ? "" : ` (slots ${slots})`}`;
    }),
    ...look.remarks.map((remark) => (said.has(remark) ? undefined : remark)),
  ];
  return compact(lines).map((line) => `${deployment}: ${line}`);
}

/** If a node cannot be reached, many assertions fail for this reason, so one line names all of them. */
function describeFailures(former: Look | undefined, { assertions }: Look): (string | undefined)[] {
  const failedBefore = new Set(former?.assertions.flatMap(({ id, holds }) => (holds ? [] : [id])));
  const unreached = assertions.find(({ id, holds }) => id === "reachable" && !holds)?.nodes ?? [];
  const isConsequence = ({ id, nodes }: AssertionLook): boolean =>
    id !== "reachable" && nodes.length > 0 && nodes.every((node) => unreached.includes(node));
  const fresh = assertions.filter(({ id, holds }) => !holds && !failedBefore.has(id));
  const consequences = fresh.filter(isConsequence).map(({ id }) => id);
  const again = assertions.filter(({ id, holds }) => holds && failedBefore.has(id)).map(({ id }) => id);
  return [
    ...fresh.filter((each) => !isConsequence(each)).map(({ id, found }) => `${id}: ${found}`),
    consequences.length === 0
      ? undefined
      : `these assertions fail because of nodes that cannot be reached: ${consequences.join(", ")}`,
    again.length === 0 ? undefined : `these assertions hold again: ${again.join(", ")}`,
  ];
}

function describeVerdict(former: Look | undefined, { pass, assertions, at }: Look): string {
  const failing = assertions.filter(({ holds }) => !holds).length;
  const verdict = pass
    ? `PASS — all ${assertions.length} assertions hold`
    : `FAIL — ${failing} of ${assertions.length} assertions do not hold`;
  if (former === undefined) return verdict;
  const seconds = Math.round((Date.parse(at) - Date.parse(former.since)) / 1000);
  return `${verdict}, after ${formatDuration(seconds)} of ${former.pass ? "PASS" : "FAIL"}`;
}

/** @param former primaries by slots; shards without a former primary do not count */
export function failoversBetween(former: Look["primaries"], primaries: Look["primaries"]): number {
  return Object.entries(primaries).filter(([slots, primary]) => {
    const before = former[slots];
    return before !== undefined && before !== primary;
  }).length;
}
