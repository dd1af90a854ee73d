import type { Endpoint } from "../node";
import { nodeNameAt } from "../node";
import { sentinelAssertions } from "../sentinel/verdict";
import { infoFields } from "../topology/info";
import { groupByZone } from "../topology/placement";
import type { DeploymentFacts } from "./facts";
import type { Shard } from "./shards";
import { shardsOf } from "./shards";
import type { Assertion, Violation, Verdict } from "./verdict";
import {
  assertion,
  violationsOf,
  notLoading,
  reachable,
  replicationHealth,
  sameSettings,
  sameVersion,
  makeVerdict,
  zonesKnown,
} from "./verdict";

export function replicationVerdict(facts: DeploymentFacts): Verdict {
  const shards = shardsOf(facts);
  return makeVerdict(
    facts,
    [
      reachable(facts),
      notLoading(facts),
      onePrimary(facts),
      replicaCount(facts, shards),
      followThePrimary(facts, shards),
      allOnline(facts, shards),
      ...replicationHealth(facts, shards),
      readOnly(facts),
      zonesKnown(facts),
      evenSpread(facts),
      sameVersion(facts),
      ...sameSettings(facts),
      ...watched(facts, shards),
    ],
    shards,
  );
}

function watched({ nodes, sentinels }: DeploymentFacts, shards: readonly Shard[]): Assertion[] {
  if (sentinels === undefined) return [];
  const [only] = shards.length === 1 ? shards : [];
  const at = ({ host, port }: Endpoint): string | undefined =>
    nodeNameAt(
      nodes.map(({ node }) => node),
      host,
      port,
    );
  return sentinelAssertions({
    sentinels: sentinels.nodes,
    settings: sentinels.settings,
    primary: only?.primary,
    nodeAt: at,
    replicas: nodes.length - 1,
  });
}

function onePrimary({ nodes }: DeploymentFacts): Assertion {
  const unread = violationsOf(
    nodes,
    ({ info }) => info,
    () => undefined,
  );
  const primaries = nodes
    .filter(({ info }) => info.known && info.value.get("role") === "master")
    .map(({ node }) => node.name);
  const faults =
    primaries.length === 1
      ? []
      : primaries.length === 0
        ? [{ node: "", problem: "there is no primary" }]
        : primaries.map((node) => ({ node, problem: "is a primary" }));
  return assertion(
    "one-primary",
    "there is exactly one primary",
    "1",
    [...unread, ...faults],
    `1 (${primaries[0] ?? ""})`,
  );
}

function replicaCount({ nodes, shape }: DeploymentFacts, shards: readonly Shard[]): Assertion {
  const wanted = shape.replicasPerPrimary ?? nodes.length - 1;
  const found = shards.flatMap(({ replicas }) => replicas).length;
  const unread = violationsOf(
    nodes,
    ({ info }) => info,
    () => undefined,
  );
  const faults = found === wanted ? [] : [{ node: "", problem: `${found} replicas` }];
  return assertion(
    "replicas",
    "there are as many replicas as wanted",
    String(wanted),
    [...unread, ...faults],
    String(found),
  );
}

/** Every replica follows the primary itself, not another replica and not somebody else's primary. */
function followThePrimary({ nodes }: DeploymentFacts, shards: readonly Shard[]): Assertion {
  const primaryName = shards.length === 1 ? shards[0]?.primary : undefined;
  const primary = nodes.find(({ node }) => node.name === primaryName);
  const replicationId = primary?.info.known === true ? primary.info.value.get("master_replid") : undefined;
  const faults = violationsOf(
    nodes.filter((each) => each !== primary),
    ({ info }) => info,
    (info) => {
      if (info.get("role") !== "slave") return undefined;
      if (replicationId === undefined) return "the primary to follow is not known";
      return info.get("master_replid") === replicationId
        ? undefined
        : `follows ${info.get("master_host") ?? "?"}:${info.get("master_port") ?? "?"}, another data set`;
    },
  );
  return assertion(
    "one-data-set",
    "every replica has the primary's data set",
    "one replication id",
    faults,
    "one replication id",
  );
}

/** By the primary's word: it counts each replica as online. */
function allOnline({ nodes, shape }: DeploymentFacts, shards: readonly Shard[]): Assertion {
  const primaryName = shards.length === 1 ? shards[0]?.primary : undefined;
  const primary = nodes.find(({ node }) => node.name === primaryName);
  const wanted = shape.replicasPerPrimary ?? nodes.length - 1;
  const faults = violationsOf(
    primary === undefined ? [] : [primary],
    ({ info }) => info,
    (info) => {
      const states = [...info]
        .filter(([key]) => /^slave\d+$/.test(key))
        .map(([, value]) => infoFields(value).get("state"));
      const online = states.filter((state) => state === "online").length;
      return online === wanted && states.length === wanted ? undefined : `counts ${online} online of ${states.length}`;
    },
  );
  const missing: Violation[] = primary === undefined ? [{ node: "", problem: "there is no one primary to ask" }] : [];
  return assertion(
    "all-online",
    "the primary counts every replica as online",
    `${wanted} online`,
    [...faults, ...missing],
    `${wanted} online`,
  );
}

function readOnly({ nodes }: DeploymentFacts): Assertion {
  const faults = violationsOf(
    nodes,
    ({ info }) => info,
    (info) => {
      if (info.get("role") !== "slave") return undefined;
      return info.get("slave_read_only") === "1" ? undefined : "accepts writes";
    },
  );
  return assertion("read-only", "every replica refuses writes", "all", faults, "all");
}

/** As even as it can be: no zone has two nodes more than another. */
function evenSpread({ nodes, zones: wanted = [] }: DeploymentFacts): Assertion {
  const placed = nodes.map(({ node }) => ({ name: node.name, zone: node.zone ?? "" }));
  const used = groupByZone(placed);
  const zones = [...new Set([...wanted, ...used.keys()])]
    .filter((zone) => zone !== "")
    .map((zone) => [zone, used.get(zone) ?? []] as const);
  const sizes = zones.map(([, members]) => members.length);
  const most = Math.max(0, ...sizes);
  const least = Math.min(...sizes);
  const found = zones.map(([zone, members]) => `${zone} ${members.length}`).join(", ");
  const faults: Violation[] = [];
  if (zones.length < 2 && nodes.length > 1) faults.push({ node: "", problem: `all are in one zone (${found})` });
  else if (most - least > 1) faults.push({ node: "", problem: found });
  faults.push(
    ...placed.filter(({ zone }) => zone === "").map(({ name }) => ({ node: name, problem: "its zone is unknown" })),
  );
  return assertion(
    "even-spread",
    "nodes are spread over zones as evenly as can be",
    "two zones or more, sizes at most one apart",
    faults,
    found,
  );
}
