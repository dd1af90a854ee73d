import { formatEndpoint } from "../node";
import { infoNumber } from "../topology/info";
import { countSlots, formatRanges } from "../topology/slots";
import { formatBytes, formatDuration } from "../../lib/units";
import { textTable } from "../../lib/table";
import type { DeploymentFacts, NodeFacts } from "./facts";
import { serverVersion } from "./verdict";
import type { Verdict } from "./verdict";
import type { Verification } from "./verify";

/** All of it, lines without colour. */
export function formatVerification({ facts, verdict }: Verification): string[] {
  return [
    `=== Nodes of ${facts.deployment} ===`,
    ...nodeTable(facts),
    "",
    facts.mode === "cluster" ? "=== Topology and primary ↔ replica zones ===" : "=== Topology and zones ===",
    ...topologyLines(facts, verdict),
    "",
    "=== Assertions ===",
    ...assertionLines(verdict),
    "",
    verdictLine(verdict),
  ];
}

/** The verdict in one line: `VERIFY cluster: PASS — …`. */
export function verdictLine(
  verdict: Pick<Verdict, "deployment" | "pass" | "skippedAssertions"> & {
    readonly assertions: readonly { readonly id: string; readonly pass: boolean }[];
  },
): string {
  const failed = verdict.assertions.filter(({ pass }) => !pass);
  const without =
    verdict.skippedAssertions.length === 0 ? "" : `; not checked, as asked: ${verdict.skippedAssertions.join(", ")}`;
  if (verdict.pass)
    return `VERIFY ${verdict.deployment}: PASS — all ${verdict.assertions.length} assertions hold${without}.`;
  return `VERIFY ${verdict.deployment}: FAIL — ${failed.length} of ${verdict.assertions.length} assertions do not hold: ${failed.map(({ id }) => id).join(", ")}${without}.`;
}

function nodeTable(facts: DeploymentFacts): string[] {
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
    ];
  });
  return textTable(
    [["NAME", "ROLE", "ADDRESS", "ZONE", "MACHINE", "VERSION", "UP", "MEMORY", "KEYS"], ...rows],
    "       rr",
  ).map((line) => line);
}

function roleOf({ info }: NodeFacts): string {
  const role = info.known ? info.value.get("role") : undefined;
  return role === "master" ? "primary" : role === "slave" ? "replica" : (role ?? "?");
}

function topologyLines(facts: DeploymentFacts, verdict: Verdict): string[] {
  const zones = new Map(facts.nodes.map(({ node }) => [node.name, node.zone]));
  const zone = (name: string | undefined): string | undefined => (name === undefined ? undefined : zones.get(name));
  const rows = verdict.shards.flatMap((shard): string[][] => [
    [
      "PRIMARY",
      shard.primary ?? "unknown",
      zone(shard.primary) ?? "?",
      facts.mode === "cluster" ? `slots ${formatRanges(shard.slots)} (${countSlots(shard.slots)})` : "",
    ],
    ...shard.replicas.map((replica) => [
      "  replica",
      replica,
      zone(replica) ?? "?",
      pairing(zone(shard.primary), zone(replica), facts.mode === "cluster"),
    ]),
  ]);
  return rows.length === 0 ? ["(none could be learnt)"] : textTable(rows);
}

/** In replication mode nodes may outnumber zones, so a shared zone is no fault there. */
function pairing(primary: string | undefined, replica: string | undefined, sharedIsWrong: boolean): string {
  if (primary === undefined || replica === undefined) return "zone unknown ✗";
  if (primary !== replica) return "other zone ✓";
  return sharedIsWrong ? "same zone ✗" : "same zone";
}

function assertionLines(verdict: Verdict): string[] {
  return verdict.assertions.flatMap(({ pass, what, expected, found, nodes, id }) => {
    if (pass) return [`✓ ${what}: ${found}`];
    return [
      `✗ ${what}  [${id}]`,
      `    expected: ${expected}`,
      `    found:    ${found}`,
      ...(nodes.length > 0 ? [`    nodes:    ${nodes.join(", ")}`] : []),
    ];
  });
}
