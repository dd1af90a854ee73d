import { compact } from "../../lib/compact";
import { nodeNameAt } from "../node";
import { hasPrimaryRole, infoFields } from "../topology/replies";
import { groupByZone } from "../topology/placement";
import type { DeploymentFacts, NodeFacts } from "./facts";
import { type JudgedFacts, solePrimary } from "./shards";
import { type Judgement, type Violation, unobservedViolations, violationsOf } from "./violations";

const replicationInfo = ({ info }: NodeFacts): NodeFacts["info"] => info;

export function onePrimary({ nodes }: DeploymentFacts): Judgement {
  const isPrimary = ({ info }: NodeFacts): boolean => info.known && hasPrimaryRole(info.value);
  const primaries = nodes.filter(isPrimary).map(({ node }) => node.name);
  const none: Violation[] = primaries.length === 0 ? [{ node: "", problem: "there is no primary" }] : [];
  const several = primaries.length > 1 ? primaries.map((node) => ({ node, problem: "is a primary" })) : [];
  const violations = [...unobservedViolations(nodes, replicationInfo), ...none, ...several];
  return { violations, found: `1 (${primaries[0] ?? ""})` };
}

export function replicaCount({ nodes, shape, shards }: JudgedFacts): Judgement {
  const wanted = shape.replicasPerPrimary ?? nodes.length - 1;
  const found = shards.flatMap(({ replicas }) => replicas).length;
  const wrong = found === wanted ? [] : [{ node: "", problem: `${found} replicas` }];
  const violations = [...unobservedViolations(nodes, replicationInfo), ...wrong];
  return { violations, expected: String(wanted) };
}

/** Every replica has the data set of the primary, and no replica follows a different primary. */
export function oneDataSet({ nodes, shards }: JudgedFacts): Violation[] {
  const primary = nodes.find(({ node }) => node.name === solePrimary(shards));
  const replicationId = primary?.info.known === true ? primary.info.value.get("master_replid") : undefined;
  const others = nodes.filter((each) => each !== primary);
  return violationsOf(others, replicationInfo, (info) => {
    if (info.get("role") !== "slave") return undefined;
    if (replicationId === undefined) return "its primary is unknown";
    if (info.get("master_replid") === replicationId) return undefined;
    const followed = `${info.get("master_host") ?? "?"}:${info.get("master_port") ?? "?"}`;
    if (info.get("master_link_status") !== "up") return `has no copy of the data of ${followed} yet`;
    return `follows ${followed}, which has a different data set`;
  });
}

export function allOnline({ nodes, shape, shards }: JudgedFacts): Judgement {
  const primary = nodes.filter(({ node }) => node.name === solePrimary(shards));
  const wanted = shape.replicasPerPrimary ?? nodes.length - 1;
  const wrong = violationsOf(primary, replicationInfo, (info) => {
    // A replica that copies over two connections counts once.
    const replicas = [...info].filter(([key, value]) => /^slave\d+$/.test(key) && !value.includes("type=rdb-channel"));
    const online = replicas.filter(([, value]) => infoFields(value).get("state") === "online").length;
    const isRight = online === wanted && replicas.length === wanted;
    return isRight ? undefined : `counts ${online} of ${replicas.length} replicas as online`;
  });
  const unasked: Violation[] =
    primary.length === 0 ? [{ node: "", problem: "there is not exactly one primary to ask" }] : [];
  return { violations: [...chained(nodes), ...wrong, ...unasked], expected: `${wanted} online` };
}

/** Name of the node that a replica follows. It may know its primary by a different host, but at the same port. */
export function followedBy(nodes: readonly NodeFacts[], info: ReadonlyMap<string, string>): string | undefined {
  const all = nodes.map(({ node }) => node);
  const port = Number(info.get("master_port"));
  const [only, ...others] = all.filter(({ endpoint }) => endpoint.port === port);
  return nodeNameAt(all, info.get("master_host") ?? "", port) ?? (others.length === 0 ? only?.name : undefined);
}

function chained(nodes: readonly NodeFacts[]): Violation[] {
  const replicas = nodes.filter(({ info }) => info.known && info.value.get("role") === "slave");
  return replicas.flatMap((replica) =>
    violationsOf([replica], replicationInfo, (info) => {
      const name = followedBy(nodes, info);
      const followed = replicas.find((each) => each !== replica && each.node.name === name);
      return followed && `is a replica of ${followed.node.name}, which is a replica itself`;
    }),
  );
}

export function readOnly({ nodes }: DeploymentFacts): Violation[] {
  return violationsOf(nodes, replicationInfo, (info) => {
    const isWritable = info.get("role") === "slave" && info.get("slave_read_only") !== "1";
    return isWritable ? "accepts writes" : undefined;
  });
}

export function evenSpread({ nodes, zones: wanted = [] }: DeploymentFacts): Judgement {
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
  return { violations, found };
}
