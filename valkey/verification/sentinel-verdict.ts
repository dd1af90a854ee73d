import { counted } from "../../lib/units";
import { formatEndpoint, nodeNameAt } from "../node";
import type { AssertionRow } from "./assertion-row";
import type { SentinelFacts } from "../sentinel/facts";
import { type SentinelSettings, majority } from "../sentinel-config";
import { type SentinelView, failureFlags } from "../sentinel/sentinel-view";
import { type JudgedFacts, solePrimary } from "./shards";
import type { Judgement, Violation } from "./violations";

type SentinelRow = "sentinels-watch" | "sentinels-know" | "sentinels-quorum" | "sentinels-zones";
type Judge = (watched: Watched) => Judgement;
interface Watched {
  readonly sentinels: readonly SentinelFacts[];
  readonly settings: SentinelSettings;
  /** Only node that reports the role of a primary; undefined for none or several. */
  readonly primary: string | undefined;
  readonly nodes: JudgedFacts["nodes"];
}

const bySentinels =
  (judge: Judge): AssertionRow["judge"] =>
  ({ sentinels, nodes, shards }) =>
    sentinels &&
    judge({ sentinels: sentinels.nodes, settings: sentinels.settings, primary: solePrimary(shards), nodes });

const CLI = "valkey-cli -h HOST -p PORT SENTINEL";

export const SENTINEL_ASSERTIONS = {
  "sentinels-watch": {
    what: "every Sentinel monitors the primary, and does not report it as failed",
    ...{ expected: "all", judge: bySentinels(primaryWatched), mode: "replication", recovers: true, repair: "heals" },
    cause: "a failover has just ended, a Sentinel missed it, does not run, or was delayed (TILT)",
    next: {
      own: "wait half a minute; then `pulumi up`",
      others: `wait half a minute; then \`${CLI} REMOVE NAME\` and \`SENTINEL MONITOR NAME HOST PORT QUORUM\` with the address of the primary`,
    },
  },
  "sentinels-know": {
    what: "every Sentinel knows all other Sentinels and all replicas, and sees them as healthy",
    ...{ expected: "all", judge: bySentinels(othersKnown), mode: "replication", recovers: true, repair: "heals" },
    cause: "a server or a Sentinel does not run, or was replaced and its former address is still known",
    next: {
      own: "start what does not run (`kubectl get pods`); then `pulumi up`",
      others: `start what does not run; for former addresses, \`${CLI} RESET NAME\`, one Sentinel after another`,
    },
  },
  "sentinels-quorum": {
    what: "every Sentinel reaches enough other Sentinels to agree on a failure and to elect a leader for the failover",
    ...{ expected: "all", judge: bySentinels(quorumReached), mode: "replication", recovers: true, repair: "heals" },
    cause: "a majority of the Sentinels does not run or cannot be reached, or the quorum was changed by hand",
    next: {
      own: "start the Sentinels that do not run (`kubectl get pods`); then `pulumi up`",
      others: `start the Sentinels that do not run; \`${CLI} CKQUORUM NAME\` says what is missing, \`SENTINEL SET NAME quorum N\` changes the quorum`,
    },
  },
  "sentinels-zones": {
    what: "after the loss of any zone, the remaining Sentinels can still fail over",
    ...{ expected: "a majority", judge: bySentinels(zoneLoss), mode: "replication" },
    cause: "one zone has so many Sentinels that the others are not a majority",
    next: {
      own: "use three zones, or a different number of Sentinels in the stack file, then `pulumi up`",
      others: "move Sentinels so that no zone has half of them",
    },
  },
} as const satisfies Readonly<Record<SentinelRow, AssertionRow>>;

function viewProblems({ sentinels }: Watched, judge: (view: SentinelView) => string | undefined): Violation[] {
  return sentinels.flatMap(({ node, view }) => {
    const problem = view.known ? judge(view.value) : `unknown (${view.why})`;
    return problem === undefined ? [] : [{ node: node.name, problem }];
  });
}

function primaryWatched(watched: Watched): Judgement {
  const { sentinels, settings, primary, nodes } = watched;
  const all = nodes.map(({ node }) => node);
  const isRightCount = sentinels.length === settings.count;
  const wrongCount: Violation[] = isRightCount ? [] : [{ node: "", problem: `${sentinels.length} Sentinels` }];
  const wrong = viewProblems(watched, (view) =>
    monitoringProblem(view, nodeNameAt(all, view.primary.host, view.primary.port), primary),
  );
  const expected = `${settings.count} Sentinels, primary ${primary ?? "unknown"}`;
  return { violations: [...wrongCount, ...wrong], expected };
}

function othersKnown(watched: Watched): Judgement {
  const [others, replicas] = [watched.settings.count - 1, watched.nodes.length - 1];
  const violations = viewProblems(watched, (view) => knowledgeProblem(view, others, replicas));
  return { violations, expected: `${others} other Sentinels, ${replicas} replicas` };
}

function quorumReached(watched: Watched): Judgement {
  const violations = viewProblems(watched, (view) => quorumProblem(view, watched.settings));
  return { violations, expected: `quorum ${watched.settings.quorum}` };
}

function monitoringProblem(
  { primary, flags, tilted }: SentinelView,
  monitored: string | undefined,
  expected: string | undefined,
): string | undefined {
  if (tilted) return "was delayed and is in TILT mode, so it starts no failover for 30 s";
  if (monitored === undefined || monitored !== expected) {
    return `monitors ${monitored ?? formatEndpoint(primary)} as the primary`;
  }
  const failures = failureFlags(flags);
  return failures.length === 0 ? undefined : `reports the primary as ${failures.join(", ")}`;
}

interface FlaggedNode {
  readonly flags: readonly string[];
}

function knowledgeProblem(
  { otherSentinels, replicas }: SentinelView,
  expectedOthers: number,
  expectedReplicas: number,
): string | undefined {
  return (
    healthProblem("other Sentinels", otherSentinels, expectedOthers) ??
    healthProblem("replicas", replicas, expectedReplicas)
  );
}

function healthProblem(noun: string, known: readonly FlaggedNode[], expected: number): string | undefined {
  const healthy = known.filter(({ flags }) => failureFlags(flags).length === 0).length;
  if (known.length === expected && healthy === expected) return undefined;
  const flags = [...new Set(known.flatMap((each) => failureFlags(each.flags)))];
  const reasons = flags.length === 0 ? "" : ` (${flags.join(", ")})`;
  return `knows ${known.length} ${noun}, ${healthy} of them healthy${reasons}`;
}

function quorumProblem({ quorum, reachesQuorum }: SentinelView, settings: SentinelSettings): string | undefined {
  if (quorum !== settings.quorum) return `its quorum is ${quorum}`;
  return reachesQuorum === true ? undefined : reachesQuorum;
}

function zoneLoss({ sentinels, settings: { count, quorum } }: Watched): Judgement {
  const needed = Math.max(quorum, majority(count));
  const zones = [...new Set(sentinels.map(({ node }) => node.zone ?? ""))].sort();
  const violations = zones.flatMap((zone): Violation[] => {
    const left = sentinels.filter(({ node }) => (node.zone ?? "") !== zone).length;
    const lost = zone === "" ? "unknown zones" : `zone ${zone}`;
    return left >= needed
      ? []
      : [{ node: "", problem: `after the loss of ${lost}, ${counted(left, "Sentinel")} would remain` }];
  });
  return { violations, expected: `${needed} of ${count} Sentinels`, found: `${zones.length} zones` };
}
