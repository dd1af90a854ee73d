import { formatEndpoint } from "../node";
import type { Endpoint } from "../node";
import type { Assertion, Violation } from "../verification/verdict";
import { assertion } from "../verification/verdict";
import type { SentinelFacts } from "./facts";
import type { SentinelSettings } from "./plan";
import { majority } from "./plan";
import type { SentinelView } from "./sentinel-view";
import { failureFlags } from "./sentinel-view";

export interface SentinelVerdictInput {
  readonly sentinels: readonly SentinelFacts[];
  readonly settings: SentinelSettings;
  /** The node that says it is the primary; undefined where that is not one. */
  readonly primary: string | undefined;
  /** The node at an address, as Sentinels have it. */
  readonly nodeAt: (endpoint: Endpoint) => string | undefined;
  readonly replicas: number;
}

export function sentinelAssertions({
  sentinels,
  settings,
  primary,
  nodeAt,
  replicas,
}: SentinelVerdictInput): Assertion[] {
  const count = sentinels.length;
  const each = (judge: (watch: SentinelView) => string | undefined): Violation[] =>
    sentinels.flatMap(({ node, view }) => {
      const what = view.known ? judge(view.value) : `not learnt (${view.why})`;
      return what === undefined ? [] : [{ node: node.name, problem: what }];
    });
  const missing: Violation[] = count === settings.count ? [] : [{ node: "", problem: `${count} Sentinels` }];
  return [
    assertion(
      "sentinels-watch",
      "every Sentinel watches the primary, and misses nobody",
      `${settings.count} of ${primary ?? "unknown"}`,
      [...missing, ...each((watch) => watchFault(watch, nodeAt(watch.primary), primary))],
      `${count} of ${primary ?? "unknown"}`,
    ),
    assertion(
      "sentinels-know",
      "every Sentinel knows all others and all replicas, each of them well",
      `${settings.count - 1} others, ${replicas} replicas`,
      each((watch) => knowledgeFault(watch, settings.count - 1, replicas)),
      `${count - 1} others, ${replicas} replicas`,
    ),
    assertion(
      "sentinels-quorum",
      "enough Sentinels can be reached to agree and to elect who acts",
      `quorum ${settings.quorum}`,
      each((watch) => quorumFault(watch, settings)),
      `quorum ${settings.quorum}`,
    ),
    zoneLoss(sentinels, settings),
  ];
}

function watchFault(
  { primary, flags, tilted }: SentinelView,
  watched: string | undefined,
  wanted: string | undefined,
): string | undefined {
  const trouble = failureFlags(flags);
  if (tilted) return "was held up, and acts on nothing for half a minute (TILT)";
  if (watched === undefined || watched !== wanted) return `takes ${watched ?? formatEndpoint(primary)} for the primary`;
  return trouble.length === 0 ? undefined : `says of the primary: ${trouble.join(", ")}`;
}

function knowledgeFault(
  { otherSentinels, replicas }: SentinelView,
  others: number,
  wanted: number,
): string | undefined {
  const well = (each: { readonly flags: readonly string[] }): boolean => failureFlags(each.flags).length === 0;
  if (otherSentinels.length !== others || !otherSentinels.every(well))
    return `knows ${otherSentinels.length} others, ${otherSentinels.filter(well).length} of them well${said(otherSentinels)}`;
  if (replicas.length !== wanted || !replicas.every(well))
    return `knows ${replicas.length} replicas, ${replicas.filter(well).length} of them well${said(replicas)}`;
  return undefined;
}

/** What it says of those that are not. */
function said(all: readonly { readonly flags: readonly string[] }[]): string {
  const words = [...new Set(all.flatMap(({ flags }) => failureFlags(flags)))];
  return words.length === 0 ? "" : ` (${words.join(", ")})`;
}

function quorumFault({ quorum, reachesQuorum }: SentinelView, settings: SentinelSettings): string | undefined {
  if (quorum !== settings.quorum) return `its quorum is ${quorum}`;
  return reachesQuorum === true ? undefined : reachesQuorum;
}

/** Whatever zone is lost, those left can agree and elect. */
function zoneLoss(sentinels: readonly SentinelFacts[], { count, quorum }: SentinelSettings): Assertion {
  const needed = Math.max(quorum, majority(count));
  const zones = [...new Set(sentinels.map(({ node }) => node.zone ?? ""))].sort();
  const faults = zones.flatMap((zone): Violation[] => {
    const left = sentinels.filter(({ node }) => (node.zone ?? "") !== zone).length;
    return left >= needed
      ? []
      : [{ node: "", problem: `without ${zone === "" ? "those whose zone is unknown" : zone} there are ${left}` }];
  });
  return assertion(
    "sentinels-zones",
    "the Sentinels left after the loss of any zone can still have a replica take over",
    `${needed} of ${count}`,
    faults,
    `${zones.length} zones`,
  );
}
