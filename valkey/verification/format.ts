/** A verification as text: the nodes, the topology with zones, the assertions, and the verdict. */
import { compact } from "../../lib/compact";
import { textTable } from "../../lib/table";
import { formatBytes, formatDuration } from "../../lib/units";
import { formatEndpoint } from "../node";
import { infoNumber } from "../topology/replies";
import { countSlots, formatRanges } from "../topology/slots";
import type { Assertion } from "./assertion";
import type { DeploymentFacts, NodeFacts } from "./facts";
import { bytesBehind, serverVersion } from "./shared-assertions";
import type { Shard } from "./shards";
import type { Verdict } from "./verdict";
import type { Verification } from "./verify";

/** A verification as lines of text without color. */
export function formatVerification({ facts, verdict }: Verification): string[] {
  return [
    `=== Nodes of ${facts.deployment} ===`,
    ...nodeTable(facts, verdict),
    "",
    facts.mode === "cluster" ? "=== Topology and primary ↔ replica zones ===" : "=== Topology and zones ===",
    ...topologyLines(facts, verdict),
    "",
    "=== Assertions ===",
    ...assertionLines(verdict.assertions),
    "",
    verdictLine(verdict),
  ];
}

/** The verdict in one line, such as `VERIFY cluster: PASS — …`. @param verifiedAt time of the verification, ISO 8601 */
export function verdictLine(
  verdict: Pick<Verdict, "deployment" | "pass" | "skippedAssertions"> & {
    readonly assertions: readonly { readonly id: string; readonly pass: boolean }[];
  },
  verifiedAt?: string,
): string {
  const { deployment, assertions, skippedAssertions } = verdict;
  const end = [
    skippedAssertions.length === 0 ? "" : `; skipped on request: ${skippedAssertions.join(", ")}`,
    verifiedAt === undefined ? "" : `; verified at ${verifiedAt}`,
  ].join("");
  if (verdict.pass) return `VERIFY ${deployment}: PASS — all ${assertions.length} assertions hold${end}.`;
  const failed = assertions.filter(({ pass }) => !pass).map(({ id }) => id);
  const count = `${failed.length} of ${assertions.length} assertions do not hold`;
  return `VERIFY ${deployment}: FAIL — ${count}: ${failed.join(", ")}${end}.`;
}

/** Assertions that hold are omitted. */
export function formatStatus({ facts, verdict }: Verification): string[] {
  const failed = verdict.assertions.filter(({ pass }) => !pass);
  return [...nodeTable(facts, verdict), ...assertionLines(failed), verdictLine(verdict)];
}

const NODE_COLUMNS = ["NAME", "ROLE", "ADDRESS", "ZONE", "MACHINE", "VERSION", "UP", "MEMORY", "KEYS", "LAG"];

function nodeTable(facts: DeploymentFacts, { shards }: Verdict): string[] {
  const primaryOf = new Map(
    shards.flatMap(({ primary, replicas }) => replicas.map((name) => [name, primary] as const)),
  );
  const byName = new Map(facts.nodes.map((each) => [each.node.name, each]));
  const rows = facts.nodes.map((each): string[] => {
    const { node, info } = each;
    const own = info.known ? info.value : new Map<string, string>();
    const memory = infoNumber(own, "used_memory");
    const uptime = infoNumber(own, "uptime_in_seconds");
    return [
      node.name,
      info.known ? roleOf(each) : "not reached",
      formatEndpoint(node.endpoint),
      node.zone ?? "?",
      node.machine,
      info.known ? serverVersion(own) : "?",
      uptime === undefined ? "?" : formatDuration(uptime),
      memory === undefined ? "?" : formatBytes(memory),
      each.keys.known ? String(each.keys.value) : "?",
      primaryOf.has(node.name) ? lagOf(each, byName.get(primaryOf.get(node.name) ?? "")) : "",
    ];
  });
  return textTable([NODE_COLUMNS, ...rows], "       rrr");
}

function lagOf(replica: NodeFacts, primary: NodeFacts | undefined): string {
  if (replica.info.known && replica.info.value.get("master_link_status") !== "up") return "link down";
  const behind = primary === undefined ? undefined : bytesBehind(replica, primary);
  // The replica may appear to be ahead of its primary, because it was asked a moment later.
  return behind === undefined ? "?" : formatBytes(Math.max(0, behind));
}

const ROLES = new Map([
  ["master", "primary"],
  ["slave", "replica"],
]);

function roleOf({ info }: NodeFacts): string {
  const role = info.known ? (info.value.get("role") ?? "?") : "?";
  return ROLES.get(role) ?? role;
}

function topologyLines(facts: DeploymentFacts, verdict: Verdict): string[] {
  const isCluster = facts.mode === "cluster";
  const zones = new Map(facts.nodes.map(({ node }) => [node.name, node.zone]));
  const zoneOf = (name: string | undefined): string | undefined => (name === undefined ? undefined : zones.get(name));
  const slotsOf = ({ slots }: Shard): string => `slots ${formatRanges(slots)} (${countSlots(slots)})`;
  const rows = verdict.shards.flatMap((shard): string[][] => {
    const zone = zoneOf(shard.primary);
    const slots = isCluster ? slotsOf(shard) : "";
    const replicas = shard.replicas.map((name) => [
      "  replica",
      name,
      zoneOf(name) ?? "?",
      facts.skippedAssertions.includes("zones") ? "" : describePair(zone, zoneOf(name), isCluster),
    ]);
    return [["PRIMARY", shard.primary ?? "unknown", zone ?? "?", slots], ...replicas];
  });
  return rows.length === 0 ? ["(unknown)"] : textTable(rows);
}

/** In replication mode this is allowed, because a deployment can have more nodes than zones. */
function describePair(primary: string | undefined, replica: string | undefined, sharedIsWrong: boolean): string {
  if (primary === undefined || replica === undefined) return "zone unknown ✗";
  if (primary !== replica) return "other zone ✓";
  return sharedIsWrong ? "same zone ✗" : "same zone";
}

function assertionLines(assertions: readonly Assertion[]): string[] {
  return assertions.flatMap(({ pass, what, expected, found, nodes, id }) => {
    if (pass) return [`✓ ${what}: ${found}`];
    return compact([
      `✗ ${what}  [${id}]`,
      `    expected: ${expected}`,
      `    found:    ${found}`,
      nodes.some((node) => !found.includes(node)) ? `    nodes:    ${nodes.join(", ")}` : undefined,
    ]);
  });
}
