import { compact } from "../../lib/compact";
import { groupBy } from "../../lib/group-by";
import { formatList } from "../../lib/units";
import type { Observation } from "../observation";
import type { NodeFacts } from "./facts";

/** If `node` is empty, the whole deployment has the problem. */
export interface Violation {
  readonly node: string;
  readonly problem: string;
}

/** @param found text about the found state if nothing is violated. @default the expected state */
export interface Judgement {
  readonly violations: readonly Violation[];
  /** @default the row's expected state */
  readonly expected?: string;
  readonly found?: string;
}

/** @param judge undefined if the value has no problem. A node whose value was not observed is a violation */
export function violationsOf<T>(
  nodes: readonly NodeFacts[],
  pick: (node: NodeFacts) => Observation<T>,
  judge: (value: T) => string | undefined,
): Violation[] {
  return nodes.flatMap((each) => {
    const observation = pick(each);
    const problem = observation.known ? judge(observation.value) : unobservedProblem(each, observation.why);
    return problem === undefined ? [] : [{ node: each.node.name, problem }];
  });
}

export function unobservedViolations(
  nodes: readonly NodeFacts[],
  pick: (node: NodeFacts) => Observation<unknown>,
): Violation[] {
  return violationsOf(nodes, pick, () => undefined);
}

/** Without the reason if the node is unreachable, because the assertion `reachable` already contains it. */
function unobservedProblem(facts: NodeFacts, why: string): string {
  return facts.info.known ? `unknown (${why})` : "unknown";
}

/** Without a `wanted` value, the most common value counts. @param name name of the value, for messages */
export function differencesOf(
  nodes: readonly NodeFacts[],
  name: string,
  pick: (node: NodeFacts) => Observation<string>,
  wanted?: string,
): Violation[] {
  const observed = nodes.flatMap((each) => {
    const observation = pick(each);
    return observation.known ? [{ node: each.node.name, value: observation.value }] : [];
  });
  const byValue = groupBy(observed, ({ value }) => value);
  const [mostCommon] = [...byValue].sort(([, a], [, b]) => b.length - a.length);
  const right = wanted ?? mostCommon?.[0] ?? "";
  const quote = (value: string): string => (value === "" ? '""' : value);
  const wrong = [...byValue].filter(([value]) => value !== right);
  const differing = wrong.flatMap(([value, holders]) =>
    holders.map(({ node }) => ({ node, problem: `${name} is ${quote(value)}, not ${quote(right)}` })),
  );
  return [...unobservedViolations(nodes, pick), ...differing];
}

const MAX_NAMED = 4;

/** Nodes with the same problem share one entry, such as `cluster-1, cluster-3: fail`. */
export function describeViolations(violations: readonly Violation[]): string {
  const entries = [...groupBy(violations, ({ problem }) => problem)].map(([problem, own]) => {
    const names = listNames(own.map(({ node }) => node));
    return names === "" ? problem : `${names}: ${problem}`;
  });
  const rest = entries.length - MAX_NAMED;
  return compact([...entries.slice(0, MAX_NAMED), rest > 0 ? `and ${rest} more` : undefined]).join("; ");
}

/** The first four names as text, such as `a, b, c, d and 3 more` */
export function listNames(names: readonly string[]): string {
  const distinct = [...new Set(names)].filter((name) => name !== "");
  return formatList(distinct, MAX_NAMED);
}
