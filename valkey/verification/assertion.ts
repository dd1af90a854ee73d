/** The assertions of a verdict, and the violations because of which assertions fail. Pure. */
import { compact } from "../../lib/compact";
import { groupBy } from "../../lib/group-by";
import { formatList } from "../../lib/units";
import type { Observation } from "../observation";
import type { NodeFacts } from "./facts";

/** Names of assertions. These names never change, because tools that read verdicts depend on these names. */
export type AssertionId =
  | "reachable"
  | "not-loading"
  | "same-version"
  | "same-settings"
  | "users"
  | "zones-known"
  | "zones-told"
  | "links-up"
  | "lag-bounded"
  | "primaries"
  | "replicas"
  | "replica-elsewhere"
  | "zones-apart"
  | "one-primary"
  | "one-data-set"
  | "all-online"
  | "read-only"
  | "even-spread"
  | "data-kept"
  | "clients-led"
  | "state-ok"
  | "slots-covered"
  | "none-failing"
  | "views-agree"
  | "members"
  | "one-owner"
  | "no-moves"
  | "sentinels-watch"
  | "sentinels-know"
  | "sentinels-quorum"
  | "sentinels-zones"
  | "accept-queue"
  | "boot-script"
  | "huge-pages-off"
  | "interrupts-pinned"
  | "memory-overcommitted"
  | "open-files"
  | "own-cpus";

/** One assertion of a verdict, with its result. */
export interface Assertion {
  readonly id: AssertionId;
  /** The assertion as a sentence. */
  readonly what: string;
  readonly expected: string;
  readonly found: string;
  readonly pass: boolean;
  /** Names of the nodes that violate the assertion. */
  readonly nodes: readonly string[];
}

/** Problem of one node. If `node` is empty, the whole deployment has the problem. */
export interface Violation {
  readonly node: string;
  readonly problem: string;
}

/**
 * Makes an assertion. The assertion holds if there are no violations.
 * @param found text about the state that was found, for an assertion that holds. @default the text about the expected
 *   state
 */
export function assertion(
  id: AssertionId,
  what: string,
  expected: string,
  violations: readonly Violation[],
  found = expected,
): Assertion {
  const pass = violations.length === 0;
  const nodes = [...new Set(violations.map(({ node }) => node))].filter((name) => name !== "");
  return { id, what, expected, found: pass ? found : listViolations(violations), pass, nodes };
}

/**
 * Judges an observed value of each node.
 * @param pick returns the observation that is judged
 * @param judge returns the problem of an observed value. Undefined if the value has no problem
 * @returns violations of the judged values, and one violation for every node whose value could not be observed
 */
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

/** A violation for every node from which a value could not be observed. */
export function unobservedViolations(
  nodes: readonly NodeFacts[],
  pick: (node: NodeFacts) => Observation<unknown>,
): Violation[] {
  return violationsOf(nodes, pick, () => undefined);
}

/**
 * Problem of a value that could not be observed. If the node is unreachable, the text omits the reason, because the
 * assertion `reachable` already contains this reason.
 */
function unobservedProblem(facts: NodeFacts, why: string): string {
  return facts.info.known ? `unknown (${why})` : "unknown";
}

/**
 * Violations of the nodes whose value could not be observed or differs from the `wanted` value. If there is no `wanted`
 * value, the most common value counts instead.
 * @param name name of the value, for the messages
 */
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

/** Violations as text. Nodes with the same problem share one entry, such as `cluster-1, cluster-3: fail`. */
function listViolations(violations: readonly Violation[]): string {
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
