import { counted } from "../../lib/units";
import type { Endpoint } from "../node";
import { formatEndpoint } from "../node";
import type { Assertion, Violation } from "./assertion";
import { assertion } from "./assertion";
import type { SentinelFacts } from "../sentinel/facts";
import type { SentinelSettings } from "../sentinel-config";
import { majority } from "../sentinel-config";
import type { SentinelView } from "../sentinel/sentinel-view";
import { failureFlags } from "../sentinel/sentinel-view";

export interface SentinelVerdictInput {
  readonly sentinels: readonly SentinelFacts[];
  readonly settings: SentinelSettings;
  /** Only node that reports the role of a primary; undefined for none or several. */
  readonly primary: string | undefined;
  /** Finds a node by its address in a Sentinel's report. Returns the name of the node. */
  readonly nodeAt: (endpoint: Endpoint) => string | undefined;
  readonly replicas: number;
}

export function sentinelAssertions(input: SentinelVerdictInput): Assertion[] {
  const { sentinels, settings, primary = "unknown", nodeAt, replicas } = input;
  const violationsOf = (judge: (view: SentinelView) => string | undefined): Violation[] =>
    sentinels.flatMap(({ node, view }) => {
      const problem = view.known ? judge(view.value) : `unknown (${view.why})`;
      return problem === undefined ? [] : [{ node: node.name, problem }];
    });
  const isRightCount = sentinels.length === settings.count;
  const wrongCount: Violation[] = isRightCount ? [] : [{ node: "", problem: `${sentinels.length} Sentinels` }];
  const others = settings.count - 1;
  return [
    assertion("sentinels-watch", `${settings.count} Sentinels, primary ${primary}`, [
      ...wrongCount,
      ...violationsOf((view) => monitoringProblem(view, nodeAt(view.primary), input.primary)),
    ]),
    assertion(
      "sentinels-know",
      `${others} other Sentinels, ${replicas} replicas`,
      violationsOf((view) => knowledgeProblem(view, others, replicas)),
    ),
    assertion(
      "sentinels-quorum",
      `quorum ${settings.quorum}`,
      violationsOf((view) => quorumProblem(view, settings)),
    ),
    zoneLoss(sentinels, settings),
  ];
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

function zoneLoss(sentinels: readonly SentinelFacts[], { count, quorum }: SentinelSettings): Assertion {
  const needed = Math.max(quorum, majority(count));
  const zones = [...new Set(sentinels.map(({ node }) => node.zone ?? ""))].sort();
  const violations = zones.flatMap((zone): Violation[] => {
    const left = sentinels.filter(({ node }) => (node.zone ?? "") !== zone).length;
    const lost = zone === "" ? "unknown zones" : `zone ${zone}`;
    return left >= needed
      ? []
      : [{ node: "", problem: `after the loss of ${lost}, ${counted(left, "Sentinel")} would remain` }];
  });
  return assertion("sentinels-zones", `${needed} of ${count} Sentinels`, violations, `${zones.length} zones`);
}
