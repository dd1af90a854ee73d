import type { Mode } from "../node";
import { infoNumber } from "../topology/info";
import { COMPARED_DIRECTIVES } from "../settings";
import type { Observation } from "../observation";
import type { DeploymentFacts, NodeFacts } from "./facts";
import { mapObservation } from "../observation";
import type { Shard } from "./shards";

/** One row of a verdict. */
export interface Assertion {
  /** Stable, for tools: `slots-covered`. */
  readonly id: string;
  /** What is asserted, as a sentence. */
  readonly what: string;
  readonly expected: string;
  readonly found: string;
  readonly pass: boolean;
  /** The nodes at fault. */
  readonly nodes: readonly string[];
}

export interface Verdict {
  readonly deployment: string;
  readonly mode: Mode;
  /** True only when every assertion holds. */
  readonly pass: boolean;
  readonly assertions: readonly Assertion[];
  /** Assertions left out because the user asked for that. */
  readonly skippedAssertions: readonly string[];
  /** The shards as the nodes themselves describe them; one shard in replication mode. */
  readonly shards: readonly Shard[];
}

export function makeVerdict(
  facts: DeploymentFacts,
  assertions: readonly Assertion[],
  shards: readonly Shard[],
): Verdict {
  return {
    deployment: facts.deployment,
    mode: facts.mode,
    pass: assertions.length > 0 && assertions.every((assertion) => assertion.pass),
    assertions,
    skippedAssertions: facts.skippedAssertions,
    shards,
  };
}

/** What is wrong with one node, or with the whole where `node` is empty. */
export interface Violation {
  readonly node: string;
  readonly problem: string;
}

/** An assertion that holds when there is no fault. */
export function assertion(
  id: string,
  what: string,
  expected: string,
  faults: readonly Violation[],
  foundWhenGood = "as expected",
): Assertion {
  return {
    id,
    what,
    expected,
    found: faults.length === 0 ? foundWhenGood : listFaults(faults),
    pass: faults.length === 0,
    nodes: [...new Set(faults.map((fault) => fault.node))].filter((name) => name !== ""),
  };
}

/** Faults of every node for which `learn` is not known or `judge` says what is wrong. */
export function violationsOf<T>(
  nodes: readonly NodeFacts[],
  learn: (node: NodeFacts) => Observation<T>,
  judge: (value: T) => string | undefined,
): Violation[] {
  return nodes.flatMap((each) => {
    const learnt = learn(each);
    const what = learnt.known ? judge(learnt.value) : notLearnt(each, learnt.why);
    return what === undefined ? [] : [{ node: each.node.name, problem: what }];
  });
}

/** The whole reason stands in the row that says whether nodes can be reached; once is enough. */
function notLearnt(facts: NodeFacts, why: string): string {
  return facts.info.known ? `not learnt (${why})` : "not learnt";
}

const MOST_NAMED = 4;

/** Faults with the same words share one entry: `cluster-1, cluster-3: fail`. */
function listFaults(faults: readonly Violation[]): string {
  const groups = new Map<string, string[]>();
  for (const { node, problem } of faults) groups.set(problem, [...(groups.get(problem) ?? []), node]);
  const entries = [...groups].map(([what, nodes]) => (listNames(nodes) === "" ? what : `${listNames(nodes)}: ${what}`));
  const rest = entries.length - MOST_NAMED;
  return [...entries.slice(0, MOST_NAMED), ...(rest > 0 ? [`and ${rest} more`] : [])].join("; ");
}

export function listNames(names: readonly string[]): string {
  const distinct = [...new Set(names)].filter((name) => name !== "");
  if (distinct.length <= MOST_NAMED) return distinct.join(", ");
  return `${distinct.slice(0, MOST_NAMED).join(", ")} and ${distinct.length - MOST_NAMED} more`;
}

/** Values of which all nodes should have the same, and which value that is when it is wanted. */
export function sameEverywhere(
  nodes: readonly NodeFacts[],
  name: string,
  learn: (node: NodeFacts) => Observation<string>,
  wanted?: string,
): Violation[] {
  const values = new Map<string, string[]>();
  const faults: Violation[] = [];
  for (const each of nodes) {
    const learnt = learn(each);
    if (!learnt.known) {
      faults.push({ node: each.node.name, problem: notLearnt(each, learnt.why) });
      continue;
    }
    const holders = values.get(learnt.value);
    // Appended to, not copied: of thousands of nodes nearly all have the same value.
    if (holders === undefined) values.set(learnt.value, [each.node.name]);
    else holders.push(each.node.name);
  }
  const [common] = [...values].sort((a, b) => b[1].length - a[1].length);
  const right = wanted ?? common?.[0];
  for (const [value, holders] of values) {
    if (value !== right)
      faults.push(
        ...holders.map((node) => ({
          node,
          problem: `${name} is ${value === "" ? '""' : value}, not ${right === "" ? '""' : (right ?? "?")}`,
        })),
      );
  }
  return faults;
}

// --- assertions that both modes share --------------------------------------------------------------

export function reachable({ nodes }: DeploymentFacts): Assertion {
  const faults = nodes.flatMap(({ node, info }): Violation[] =>
    info.known ? [] : [{ node: node.name, problem: info.why }],
  );
  return assertion(
    "reachable",
    "every node can be reached and asked",
    `${nodes.length} of ${nodes.length} nodes`,
    faults,
    `${nodes.length} of ${nodes.length} nodes`,
  );
}

export function notLoading({ nodes }: DeploymentFacts): Assertion {
  const faults = violationsOf(
    nodes,
    ({ info }) => info,
    (info) => {
      if (info.get("loading") === "0") return undefined;
      return info.get("loading") === "1" ? "is loading its data" : "does not say whether it is loading";
    },
  );
  return assertion("not-loading", "no node is loading its data", "none", faults, "none");
}

export function sameVersion({ nodes }: DeploymentFacts): Assertion {
  const version = ({ info }: NodeFacts): Observation<string> => mapObservation(info, serverVersion);
  const faults = sameEverywhere(nodes, "version", version);
  const [first] = nodes.flatMap(({ info }) => (info.known ? [serverVersion(info.value)] : []));
  return assertion("same-version", "every node runs the same version", "one version", faults, first ?? "none");
}

/** `valkey 9.1.2` */
export function serverVersion(info: ReadonlyMap<string, string>): string {
  const name = info.get("server_name") ?? "redis";
  return `${name} ${info.get(`${name}_version`) ?? info.get("redis_version") ?? "unknown"}`;
}

/**
 * The same everywhere, and as configured. Directives that are not typed are compared between nodes only, for CONFIG GET
 * prints many of them in another form than they are written in.
 */
export function sameSettings({ nodes, directives, skippedAssertions }: DeploymentFacts): Assertion[] {
  if (skippedAssertions.includes("settings")) return [];
  const readable = nodes.filter(({ settings }) => settings.known);
  const names = [
    ...new Set([...readable.flatMap(({ settings }) => (settings.known ? [...settings.value.keys()] : []))]),
  ];
  const unread = violationsOf(
    nodes,
    ({ settings }) => settings,
    () => undefined,
  );
  const none: Violation[] =
    readable.length > 0 && names.length === 0 ? [{ node: "", problem: "no setting could be read" }] : [];
  const unknown = [...directives.keys()]
    .filter((name) => names.length > 0 && !names.includes(name))
    .map((name): Violation => ({ node: "", problem: `${name} is unknown to the servers` }));
  const differing = names.flatMap((name) =>
    sameEverywhere(
      readable,
      name,
      ({ settings }) => mapObservation(settings, (values) => values.get(name) ?? "unknown to it"),
      COMPARED_DIRECTIVES.includes(name) ? directives.get(name) : undefined,
    ),
  );
  return [
    assertion(
      "same-settings",
      "the settings that matter are the same on every node, and as configured",
      `${names.length} settings the same`,
      [...unread, ...none, ...unknown, ...differing],
      `${names.length} settings the same`,
    ),
  ];
}

export function zonesKnown({ nodes }: DeploymentFacts): Assertion {
  const faults = nodes.flatMap(({ node }): Violation[] =>
    node.zone === undefined || node.zone === "" ? [{ node: node.name, problem: "its zone is unknown" }] : [],
  );
  const zones = new Set(nodes.map(({ node }) => node.zone));
  return assertion("zones-known", "every node's zone is known", "all", faults, `${zones.size} zones`);
}

/** How far a replica may be behind: bytes of the replication stream, and seconds since it last heard from its primary. */
export const MAX_LAG_BYTES = 1024 * 1024;
export const MAX_LAG_SECONDS = 15;

/** Links and lag of the replicas of shards, from the replicas' own words. */
export function replicationHealth(facts: DeploymentFacts, shards: readonly Shard[]): Assertion[] {
  const byName = new Map(facts.nodes.map((each) => [each.node.name, each]));
  const pairs = shards.flatMap((shard) =>
    shard.replicas.flatMap((name) => {
      const replica = byName.get(name);
      return replica === undefined
        ? []
        : [{ replica, primary: shard.primary === undefined ? undefined : byName.get(shard.primary) }];
    }),
  );
  const links = violationsOf(
    pairs.map(({ replica }) => replica),
    ({ info }) => info,
    (info) => {
      const link = info.get("master_link_status");
      return link === "up" ? undefined : `its link to its primary is ${link ?? "not there"}`;
    },
  );
  const unasked = facts.nodes
    .filter(({ info }) => !info.known)
    .map(({ node }) => ({ node: node.name, problem: "not learnt" }));
  const lag = pairs.flatMap(({ replica, primary }): Violation[] => {
    const what = lagFault(replica, primary);
    return what === undefined ? [] : [{ node: replica.node.name, problem: what }];
  });
  return [
    assertion(
      "links-up",
      "every replica's link to its primary is up",
      `${pairs.length} up`,
      dedupe([...links, ...unasked]),
      `${pairs.length} up`,
    ),
    assertion(
      "lag-bounded",
      "every replica keeps up",
      `at most ${MAX_LAG_BYTES} bytes and ${MAX_LAG_SECONDS} s behind`,
      dedupe([...lag, ...unasked]),
      "all within",
    ),
  ];
}

function lagFault(replica: NodeFacts, primary: NodeFacts | undefined): string | undefined {
  if (!replica.info.known || primary?.info.known !== true) return "its lag could not be learnt";
  const has = infoNumber(replica.info.value, "slave_repl_offset");
  const should = infoNumber(primary.info.value, "master_repl_offset");
  const silent = infoNumber(replica.info.value, "master_last_io_seconds_ago");
  if (has === undefined || should === undefined || silent === undefined) return "its lag could not be learnt";
  if (should - has > MAX_LAG_BYTES) return `is ${should - has} bytes behind`;
  if (silent < 0 || silent > MAX_LAG_SECONDS)
    return silent < 0 ? "has not heard from its primary" : `last heard from its primary ${silent} s ago`;
  return undefined;
}

function dedupe(faults: readonly Violation[]): Violation[] {
  return [...new Map(faults.map((fault) => [`${fault.node} ${fault.problem}`, fault])).values()];
}
