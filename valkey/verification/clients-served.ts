/** The meaning of a verdict for clients: which slots are served, and who takes over when. */
import { formatDuration } from "../../lib/units";
import { majority } from "../sentinel-config";
import { infoNumber } from "../topology/replies";
import type { SlotRange } from "../topology/slots";
import { countSlots, formatRanges, normaliseRanges, SLOT_COUNT, subtractRanges } from "../topology/slots";
import { namesById } from "./cluster-verdict";
import { type DeploymentFacts, type NodeFacts, isInPods } from "./facts";
import { isSilent, lostPrimary } from "./if-all-replied";
import { selfOf } from "./shards";
import { knownNode, knownNodes, secondsSilent } from "./silence";
import { listNames } from "./violations";

interface Service {
  readonly clients: readonly string[];
  readonly next: readonly string[];
}

export function describeService(facts: DeploymentFacts): Service {
  return facts.mode === "cluster" ? clusterService(facts) : replicationService(facts);
}

const cli = ({ node: { endpoint } }: NodeFacts): string => `valkey-cli -h ${endpoint.host} -p ${endpoint.port}`;

function clusterService(facts: DeploymentFacts): Service {
  const serving = facts.nodes.filter(accepts);
  const served = serving.flatMap((each) => selfOf(each)?.slots ?? []);
  const takeovers = facts.nodes.filter(isSilent).map((each) => takeoverOf(facts, each));
  return {
    clients: [
      describeServed(facts, served, slotsOutside(facts)),
      ...takeovers.flatMap(({ clients }) => clients),
      ...withoutReplica(facts),
    ],
    next: takeovers.flatMap(({ next }) => next),
  };
}

function slotsOutside({ nodes }: DeploymentFacts): SlotRange[] {
  const names = namesById(nodes);
  return nodes.some(isSilent) ? [] : knownNodes(nodes).flatMap(({ id, slots }) => (names.has(id) ? [] : slots));
}

/** Only a write shows it. If writes are skipped, the state that the node reports counts. */
function accepts({ write, clusterInfo }: NodeFacts): boolean {
  return write === undefined ? clusterInfo.known && clusterInfo.value.get("cluster_state") === "ok" : write.known;
}

function describeServed({ nodes }: DeploymentFacts, served: SlotRange[], others: SlotRange[]): string {
  const missing = normaliseRanges(subtractRanges([{ from: 0, to: SLOT_COUNT - 1 }], [...served, ...others]));
  const count = countSlots(missing);
  if (count === 0 && others.length > 0)
    return `Clients are served: yes, unless nodes fail that are not part of the deployment (slots ${formatRanges(normaliseRanges(others))}).`;
  if (count === 0) return `Clients are served: yes, all ${SLOT_COUNT} slots.`;
  if (count < SLOT_COUNT) {
    const ranges = formatRanges(missing.slice(0, 5)) + (missing.length > 5 ? " …" : "");
    return `Clients are served: yes, except slots ${ranges} (${count} of ${SLOT_COUNT}).`;
  }
  const [refused] = nodes.flatMap(({ write }) => (write?.known === false ? [write.why] : []));
  const isWhole = settingOf(nodes, "cluster-require-full-coverage") === "yes";
  if (refused?.startsWith("CLUSTERDOWN") === true && isWhole)
    return "Clients are served: no. While any slot has no primary, all nodes refuse all slots (cluster-require-full-coverage is yes).";
  return `Clients are served: no.${refused === undefined ? "" : ` The primaries refuse: ${refused}.`}`;
}

function settingOf(nodes: readonly NodeFacts[], name: string): string | undefined {
  return nodes.flatMap(({ settings }) => (settings.known ? [settings.value.get(name)] : [])).find(Boolean);
}

const service = (...clients: string[]): Service => ({ clients, next: [] });
/** Time of an election after a majority of the primaries considers the primary failed, seconds. */
const ELECTION_SECONDS = 2;

function takeoverOf(facts: DeploymentFacts, { node: { name } }: NodeFacts): Service {
  const { nodes } = facts;
  const lost = knownNode(nodes, name);
  if (lost === undefined || lost.slots.length === 0) return service();
  const replicas = nodes.filter((each) => selfOf(each)?.primaryId === lost.id);
  const [first] = replicas;
  if (first === undefined)
    return service(`No replica of ${name} replies, so nobody takes over its slots until it is back.`);
  const voters = knownNodes(nodes).filter(({ slots }) => slots.length > 0);
  const voting = nodes.filter((each) => (selfOf(each)?.slots ?? []).length > 0).length;
  const needed = majority(voters.length);
  if (voting < needed) {
    const why = `an election needs ${needed} of the ${voters.length} primaries, and ${voting} ${voting === 1 ? "replies" : "reply"}`;
    return {
      clients: [`Nobody takes over from ${name}: ${why}.`],
      next: [promotion(facts, name, first, "TAKEOVER")],
    };
  }
  const names = listNames(replicas.map(({ node }) => node.name));
  if (replicas.every((each) => settingOf([each], "cluster-replica-no-failover") === "yes"))
    return {
      clients: [`Nobody takes over from ${name}: cluster-replica-no-failover is yes in ${names}.`],
      next: [promotion(facts, name, first, "FORCE")],
    };
  return electionOf(facts, name, first, names);
}

function electionOf(facts: DeploymentFacts, name: string, first: NodeFacts, names: string): Service {
  const timeoutMs = Number(settingOf(facts.nodes, "cluster-node-timeout"));
  const who = names === first.node.name ? names : `One of ${names}`;
  if (!(timeoutMs > 0)) return service(`${who} takes over from ${name} after cluster-node-timeout and an election.`);
  const seconds = timeoutMs / 1000;
  const left = seconds + ELECTION_SECONDS - (secondsSilent(facts, name) ?? 0);
  // An election that failed is repeated after twice the timeout.
  if (left < -2 * seconds)
    return {
      clients: [`${who} should have taken over from ${name} by now, and has not: the log of the replica says why.`],
      next: [promotion(facts, name, first, "FORCE")],
    };
  const when = left > 0 ? `in about ${formatDuration(Math.ceil(left))}` : "at any moment";
  const timeout = `cluster-node-timeout ${formatDuration(seconds)}`;
  return service(`${who} takes over from ${name} ${when} (${timeout}, then an election).`);
}

function promotion(facts: DeploymentFacts, name: string, replica: NodeFacts, how: "FORCE" | "TAKEOVER"): string {
  return isInPods(facts)
    ? `if ${name} is off for good: the log of the controller has the command that promotes ${replica.node.name}`
    : `if ${name} is off for good: \`${cli(replica)} CLUSTER FAILOVER ${how}\``;
}

function withoutReplica({ nodes }: DeploymentFacts): string[] {
  if (!nodes.some(isSilent)) return [];
  const followed = new Set(nodes.map((each) => selfOf(each)?.primaryId));
  const alone = nodes.filter((each) => {
    const self = selfOf(each);
    return self !== undefined && self.slots.length > 0 && !followed.has(self.id);
  });
  const hasReplicas = nodes.some((each) => selfOf(each)?.primaryId !== undefined);
  if (alone.length === 0 || !hasReplicas) return [];
  const names = listNames(alone.map(({ node }) => node.name));
  return [`No replica of ${names} replies: if this primary fails too, nobody takes over its slots.`];
}

function replicationService(facts: DeploymentFacts): Service {
  const { nodes } = facts;
  const primaries = nodes.filter(({ info }) => info.known && info.value.get("role") === "master");
  const writable = primaries.filter(({ write }) => write === undefined || write.known).map(({ node }) => node.name);
  const replicas = nodes.filter(({ info }) => info.known && info.value.get("role") === "slave");
  const lost = lostPrimary(nodes);
  const readable = listNames(replicas.map(({ node }) => node.name));
  const read = `Clients can read from ${readable}, unless their replica-serve-stale-data is off.`;
  const reads = replicas.length === 0 ? [] : [read];
  if (primaries.length > 1)
    return service(`Clients can write to ${primaries.length} primaries, which have different data.`);
  if (writable.length === 1) return service(`Clients are served: yes, they can write to ${writable[0] ?? ""}.`);
  if (lost === undefined) return service("Clients are served: no, they cannot write.", ...reads);
  const takeover = sentinelTakeover(facts, lost, replicas);
  return {
    clients: [
      `Clients are served: no, they cannot write until ${lost} is back or a replica takes over.`,
      ...reads,
      ...takeover.clients,
    ],
    next: takeover.next,
  };
}

function sentinelTakeover(facts: DeploymentFacts, name: string, replicas: readonly NodeFacts[]): Service {
  const { sentinels } = facts;
  const offset = ({ info }: NodeFacts): number => (info.known ? (infoNumber(info.value, "slave_repl_offset") ?? 0) : 0);
  const [newest, ...others] = [...replicas].sort((a, b) => offset(b) - offset(a));
  const next = newest === undefined ? [] : [replicaPromotion(facts, name, newest, others)];
  if (sentinels === undefined) {
    const clients = isInPods(facts)
      ? "Nobody takes over: the deployment has no Sentinels."
      : "Nobody takes over, unless Sentinels watch these servers, which this verification cannot know.";
    return { clients: [clients], next };
  }
  const { count, downAfterMs, quorum } = sentinels.settings;
  const replying = sentinels.nodes.filter(({ view }) => view.known).length;
  const needed = Math.max(majority(count), quorum);
  if (replying < needed)
    return { clients: [`Nobody takes over: ${needed} of ${count} Sentinels must agree, and ${replying} reply.`], next };
  const seconds = formatDuration(Math.ceil(downAfterMs / 1000));
  return service(`The Sentinels promote a replica, some seconds after the primary was silent for ${seconds}.`);
}

function replicaPromotion(
  facts: DeploymentFacts,
  name: string,
  newest: NodeFacts,
  others: readonly NodeFacts[],
): string {
  const { host, port } = newest.node.endpoint;
  const follow = others.map((each) => `, then \`${cli(each)} REPLICAOF ${host} ${port}\``).join("");
  return isInPods(facts)
    ? `if ${name} does not come back: \`pulumi up\``
    : `if ${name} is off for good, promote the replica with the newest data: \`${cli(newest)} REPLICAOF NO ONE\`${follow}`;
}
