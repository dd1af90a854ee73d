/** The verdict on a deployment in replication mode: one primary and its replicas. */
import { compact } from "../../lib/compact";
import type { Endpoint } from "../node";
import { nodeNameAt } from "../node";
import { sentinelAssertions } from "./sentinel-verdict";
import { hasPrimaryRole, infoFields } from "../topology/replies";
import { groupByZone } from "../topology/placement";
import type { Assertion, Violation } from "./assertion";
import { assertion, unobservedViolations, violationsOf } from "./assertion";
import { clientsLed } from "./clients-led";
import type { DeploymentFacts, NodeFacts } from "./facts";
import {
  notLoading,
  reachable,
  replicationHealth,
  sameSettings,
  sameVersion,
  desiredUsers,
  zonesKnown,
  zonesTold,
} from "./shared-assertions";
import { tuningAssertions } from "./machine-tuning";
import type { Shard } from "./shards";
import { shardsOf } from "./shards";
import type { Verdict } from "./verdict";
import { writable } from "./write-trial";
import { makeVerdict } from "./verdict";

export function replicationVerdict(facts: DeploymentFacts): Verdict {
  const shards = shardsOf(facts);
  const assertions = [
    reachable(facts),
    notLoading(facts),
    writable(facts),
    onePrimary(facts),
    replicaCount(facts, shards),
    oneDataSet(facts, shards),
    allOnline(facts, shards),
    ...replicationHealth(facts, shards),
    readOnly(facts),
    ...(facts.skippedAssertions.includes("zones") ? [] : [zonesKnown(facts), evenSpread(facts), ...zonesTold(facts)]),
    sameVersion(facts),
    ...sameSettings(facts),
    ...desiredUsers(facts),
    ...tuningAssertions(facts),
    ...sentinelRows(facts, shards),
    ...clientsLed(facts, solePrimary(shards)),
  ];
  return makeVerdict(facts, assertions, shards);
}

function sentinelRows({ nodes, sentinels }: DeploymentFacts, shards: readonly Shard[]): Assertion[] {
  if (sentinels === undefined) return [];
  const all = nodes.map(({ node }) => node);
  return sentinelAssertions({
    sentinels: sentinels.nodes,
    settings: sentinels.settings,
    primary: solePrimary(shards),
    nodeAt: ({ host, port }: Endpoint) => nodeNameAt(all, host, port),
    replicas: nodes.length - 1,
  });
}

/** Undefined if no node or several nodes report the role of a primary. */
function solePrimary(shards: readonly Shard[]): string | undefined {
  return shards.length === 1 ? shards[0]?.primary : undefined;
}

const replicationInfo = ({ info }: NodeFacts): NodeFacts["info"] => info;

function onePrimary({ nodes }: DeploymentFacts): Assertion {
  const isPrimary = ({ info }: NodeFacts): boolean => info.known && hasPrimaryRole(info.value);
  const primaries = nodes.filter(isPrimary).map(({ node }) => node.name);
  const none: Violation[] = primaries.length === 0 ? [{ node: "", problem: "there is no primary" }] : [];
  const several = primaries.length > 1 ? primaries.map((node) => ({ node, problem: "is a primary" })) : [];
  const violations = [...unobservedViolations(nodes, replicationInfo), ...none, ...several];
  return assertion("one-primary", "1", violations, `1 (${primaries[0] ?? ""})`);
}

function replicaCount({ nodes, shape }: DeploymentFacts, shards: readonly Shard[]): Assertion {
  const wanted = shape.replicasPerPrimary ?? nodes.length - 1;
  const found = shards.flatMap(({ replicas }) => replicas).length;
  const wrong = found === wanted ? [] : [{ node: "", problem: `${found} replicas` }];
  const violations = [...unobservedViolations(nodes, replicationInfo), ...wrong];
  return assertion("replicas", String(wanted), violations);
}

/** Asserts that every replica has the data set of the primary, and that no replica follows a different primary. */
function oneDataSet({ nodes }: DeploymentFacts, shards: readonly Shard[]): Assertion {
  const primary = nodes.find(({ node }) => node.name === solePrimary(shards));
  const replicationId = primary?.info.known === true ? primary.info.value.get("master_replid") : undefined;
  const others = nodes.filter((each) => each !== primary);
  const violations = violationsOf(others, replicationInfo, (info) => {
    if (info.get("role") !== "slave") return undefined;
    if (replicationId === undefined) return "its primary is unknown";
    if (info.get("master_replid") === replicationId) return undefined;
    return `follows ${info.get("master_host") ?? "?"}:${info.get("master_port") ?? "?"}, which has a different data set`;
  });
  return assertion("one-data-set", "one replication ID", violations);
}

function allOnline({ nodes, shape }: DeploymentFacts, shards: readonly Shard[]): Assertion {
  const primary = nodes.filter(({ node }) => node.name === solePrimary(shards));
  const wanted = shape.replicasPerPrimary ?? nodes.length - 1;
  const wrong = violationsOf(primary, replicationInfo, (info) => {
    const replicas = [...info].filter(([key]) => /^slave\d+$/.test(key));
    const online = replicas.filter(([, value]) => infoFields(value).get("state") === "online").length;
    const isRight = online === wanted && replicas.length === wanted;
    return isRight ? undefined : `counts ${online} of ${replicas.length} replicas as online`;
  });
  const unasked: Violation[] =
    primary.length === 0 ? [{ node: "", problem: "there is not exactly one primary to ask" }] : [];
  return assertion("all-online", `${wanted} online`, [...chained(nodes), ...wrong, ...unasked]);
}

/** A replica may know its primary by a different host, but at the same port. */
function chained(nodes: readonly NodeFacts[]): Violation[] {
  const all = nodes.map(({ node }) => node);
  const replicas = nodes.filter(({ info }) => info.known && info.value.get("role") === "slave");
  return replicas.flatMap((replica) =>
    violationsOf([replica], replicationInfo, (info) => {
      const port = Number(info.get("master_port"));
      const [only, ...others] = all.filter(({ endpoint }) => endpoint.port === port);
      const name =
        nodeNameAt(all, info.get("master_host") ?? "", port) ?? (others.length === 0 ? only?.name : undefined);
      const followed = replicas.find((each) => each !== replica && each.node.name === name);
      return followed && `is a replica of ${followed.node.name}, which is a replica itself`;
    }),
  );
}

function readOnly({ nodes }: DeploymentFacts): Assertion {
  const violations = violationsOf(nodes, replicationInfo, (info) => {
    const isWritable = info.get("role") === "slave" && info.get("slave_read_only") !== "1";
    return isWritable ? "accepts writes" : undefined;
  });
  return assertion("read-only", "all", violations);
}

function evenSpread({ nodes, zones: wanted = [] }: DeploymentFacts): Assertion {
  const placed = nodes.map(({ node }) => ({ name: node.name, zone: node.zone ?? "" }));
  const byZone = groupByZone(placed);
  const zones = [...new Set([...wanted, ...byZone.keys()])].filter((zone) => zone !== "");
  const sizes = zones.map((zone) => byZone.get(zone)?.length ?? 0);
  const found = zones.map((zone, index) => `${zone} ${sizes[index] ?? 0}`).join(", ");
  const isOneZone = zones.length < 2 && nodes.length > 1;
  const isUneven = !isOneZone && Math.max(0, ...sizes) - Math.min(...sizes) > 1;
  const unplaced = placed.filter(({ zone }) => zone === "");
  const violations: Violation[] = compact([
    isOneZone ? { node: "", problem: `all are in one zone (${found})` } : undefined,
    isUneven ? { node: "", problem: found } : undefined,
    ...unplaced.map(({ name }) => ({ node: name, problem: "its zone is unknown" })),
  ]);
  const expected = "at least two zones, and in each zone the same number of nodes or one more";
  return assertion("even-spread", expected, violations, found);
}
