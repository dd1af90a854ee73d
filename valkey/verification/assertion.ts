/** The assertions of a verdict, and the violations because of which assertions fail. */
import { compact } from "../../lib/compact";
import { groupBy } from "../../lib/group-by";
import { formatList } from "../../lib/units";
import type { Observation } from "../observation";
import type { NodeFacts } from "./facts";

interface AssertionMeaning {
  readonly what: string;
  /** Whether it can recover by itself: with a large data set, replicas take minutes to get their data. */
  readonly recovers?: true;
  /**
   * `heals`: a repair by the controller can make it true. `needed`: it must hold before the controller repairs
   * anything. Without a value, the controller does not repair because of it.
   */
  readonly repair?: "heals" | "needed";
  /** Whether the assertion must hold for the running nodes, so that these nodes have all data of the deployment. */
  readonly part?: true;
}

/** All assertions by name. The names never change, because tools that read verdicts depend on them. */
export const ASSERTIONS = {
  reachable: { what: "every node can be reached", recovers: true, repair: "needed", part: true },
  "not-loading": { what: "no node is loading its data", recovers: true, repair: "needed", part: true },
  writable: { what: "every primary accepts a write of a client, and returns what was written", recovers: true },
  "same-version": { what: "every node runs the same version" },
  "same-settings": { what: "the compared settings are the same on every node, and as configured" },
  users: { what: "every node has the configured users with their rules, and no other users" },
  "zones-known": { what: "the zone of every node is known" },
  "zones-told": { what: "every server tells clients the zone of its machine, or no zone" },
  "links-up": { what: "every replica's link to its primary is up", recovers: true, repair: "heals", part: true },
  "lag-bounded": { what: "every replica keeps up with its primary", recovers: true, repair: "needed", part: true },
  primaries: { what: "the cluster has the expected number of primaries", repair: "heals", part: true },
  replicas: { what: "every primary has the expected number of replicas", recovers: true, repair: "heals" },
  "replica-elsewhere": { what: "every primary has a replica in a different zone", repair: "heals" },
  "zones-apart": { what: "no replica is in the zone of its primary", repair: "heals" },
  "one-primary": { what: "there is exactly one primary", repair: "needed", part: true },
  "one-data-set": {
    what: "every replica has the data set of the primary",
    recovers: true,
    repair: "heals",
    part: true,
  },
  "all-online": { what: "the primary counts every replica as online", recovers: true, repair: "heals", part: true },
  "read-only": { what: "every replica refuses writes" },
  "even-spread": { what: "nodes are spread over zones as evenly as possible", repair: "heals" },
  "data-kept": { what: "no data has vanished since the last verification" },
  "clients-led": {
    what: "every Service and every announced endpoint leads clients to the right nodes, and to no other server",
    recovers: true,
  },
  "state-ok": { what: "every node reports cluster_state ok", recovers: true, repair: "heals", part: true },
  "slots-covered": {
    ...{ what: "every node reports that all slots are assigned and ok", recovers: true, repair: "heals", part: true },
  },
  "none-failing": { what: "no node reports another node as failing", recovers: true, repair: "heals" },
  "views-agree": { what: "all nodes agree on node IDs, roles, slots and epochs", recovers: true, repair: "heals" },
  members: { what: "the cluster has all nodes of the deployment, and no other nodes", repair: "heals" },
  "one-owner": { what: "every slot has exactly one primary", repair: "needed", part: true },
  "no-moves": { what: "no slot is being migrated", part: true },
  "sentinels-watch": {
    what: "every Sentinel monitors the primary, and does not report it as failed",
    ...{ recovers: true, repair: "heals" },
  },
  "sentinels-know": {
    what: "every Sentinel knows all other Sentinels and all replicas, and sees them as healthy",
    ...{ recovers: true, repair: "heals" },
  },
  "sentinels-quorum": {
    what: "every Sentinel reaches enough other Sentinels to agree on a failure and to elect a leader for the failover",
    ...{ recovers: true, repair: "heals" },
  },
  "sentinels-zones": { what: "after the loss of any zone, the remaining Sentinels can still fail over" },
  "accept-queue": { what: "the kernel allows the accept queue that every server requests" },
  "boot-script": { what: "the boot script of every machine succeeded" },
  "huge-pages-off": { what: "transparent huge pages are off on every machine" },
  "interrupts-pinned": { what: "only CPUs for interrupts handle the interrupts of the network card" },
  "memory-overcommitted": { what: "every machine overcommits memory" },
  "open-files": { what: "every server process may open enough files" },
  "own-cpus": { what: "every server has exclusive CPUs" },
} as const satisfies Readonly<Record<string, AssertionMeaning>>;

/** The name of an assertion. */
export type AssertionId = keyof typeof ASSERTIONS;

export function meaningOf(id: string): AssertionMeaning | undefined {
  return Object.hasOwn(ASSERTIONS, id) ? ASSERTIONS[id as AssertionId] : undefined;
}

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

/** If `node` is empty, the whole deployment has the problem. */
export interface Violation {
  readonly node: string;
  readonly problem: string;
}

/** Holds if there are no violations. @param found text about the found state. @default the expected state */
export function assertion(
  id: AssertionId,
  expected: string,
  violations: readonly Violation[],
  found = expected,
): Assertion {
  const pass = violations.length === 0;
  const nodes = [...new Set(violations.map(({ node }) => node))].filter((name) => name !== "");
  return { id, what: ASSERTIONS[id].what, expected, found: pass ? found : listViolations(violations), pass, nodes };
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
