import { textTable } from "../../lib/table";
import { counted, formatBytes, formatDuration } from "../../lib/units";
import { wrapped } from "../../lib/wrap";
import { formatEndpoint } from "../node";
import { infoNumber } from "../topology/replies";
import { countSlots, formatRanges } from "../topology/slots";
import type { Assertion } from "./assertions";
import { type Diagnosis, diagnose } from "./diagnosis";
import type { DeploymentFacts, NodeFacts } from "./facts";
import { bytesBehind, serverVersion } from "./shared-assertions";
import type { Shard } from "./shards";
import type { Verdict } from "./verdict";
import type { Verification } from "./verify";

/** The verdict, and if it is FAIL, the diagnosis with the IDs of the assertions that only follow. */
export function verificationJson({ facts, verdict }: Verification): object {
  if (verdict.pass) return verdict;
  const { follows, ...diagnosis } = diagnose(facts, verdict.assertions);
  return { ...verdict, diagnosis: { ...diagnosis, follows: [...follows] } };
}

/** A verification as lines of text without color. A FAIL begins with its cause. */
export function formatVerification({ facts, verdict }: Verification): string[] {
  const diagnosis = verdict.pass ? undefined : diagnose(facts, verdict.assertions);
  return [
    ...(diagnosis === undefined ? [] : [...diagnosisLines(facts.deployment, diagnosis), ""]),
    `=== Nodes of ${facts.deployment} ===`,
    ...nodeTable(facts, verdict),
    "",
    facts.mode === "cluster" ? "=== Topology and primary ↔ replica zones ===" : "=== Topology and zones ===",
    ...topologyLines(facts, verdict),
    "",
    "=== Assertions ===",
    ...assertionLines(verdict.assertions, diagnosis),
    "",
    ...wrapped(verdictLine(verdict, undefined, diagnosis), "", "  "),
  ];
}

function diagnosisLines(deployment: string, { causes, clients, next }: Diagnosis): string[] {
  const list = (title: string, texts: readonly string[]): string[] =>
    texts.flatMap((text, index) => wrapped(text, (index === 0 ? title : "").padEnd(9), " ".repeat(9)));
  return [
    `=== Why ${deployment} does not pass ===`,
    ...list("cause", causes),
    ...list("clients", clients),
    ...list(
      "next",
      next.map((text) => `• ${text}`),
    ),
  ];
}

/** The verdict in one line, such as `VERIFY cluster: PASS — …`. @param verifiedAt time of the verification, ISO 8601 */
export function verdictLine(
  verdict: Pick<Verdict, "deployment" | "pass" | "skippedAssertions"> & {
    readonly assertions: readonly { readonly id: string; readonly pass: boolean }[];
  },
  verifiedAt?: string,
  diagnosis?: Pick<Diagnosis, "follows">,
): string {
  const { deployment, assertions, skippedAssertions } = verdict;
  const end = [
    skippedAssertions.length === 0 ? "" : `; skipped on request: ${skippedAssertions.join(", ")}`,
    verifiedAt === undefined ? "" : `; verified at ${verifiedAt}`,
  ].join("");
  if (verdict.pass) return `VERIFY ${deployment}: PASS — all ${assertions.length} assertions hold${end}.`;
  const failed = assertions.filter(({ pass }) => !pass).map(({ id }) => id);
  const follows: ReadonlySet<string> = diagnosis?.follows ?? new Set();
  const own = failed.filter((id) => !follows.has(id));
  const rest = own.length === failed.length ? "" : ` and ${failed.length - own.length} that only follow`;
  const count = `${failed.length} of ${assertions.length} assertions do not hold`;
  return `VERIFY ${deployment}: FAIL — ${count}: ${own.join(", ")}${rest}${end}.`;
}

export function formatStatus({ facts, verdict }: Verification): string[] {
  if (verdict.pass) return [...nodeTable(facts, verdict), verdictLine(verdict)];
  const diagnosis = diagnose(facts, verdict.assertions);
  const failed = verdict.assertions.filter(({ pass }) => !pass);
  return [
    ...diagnosisLines(facts.deployment, diagnosis),
    ...nodeTable(facts, verdict),
    ...assertionLines(failed, diagnosis),
    ...wrapped(verdictLine(verdict, undefined, diagnosis), "", "  "),
  ];
}

const NODE_COLUMNS = ["NAME", "ROLE", "ZONE", "VERSION", "UP", "MEMORY", "KEYS", "LAG"];

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
      node.zone ?? "?",
      info.known ? serverVersion(own) : "?",
      uptime === undefined ? "?" : formatDuration(uptime),
      memory === undefined ? "?" : formatBytes(memory),
      each.keys.known ? String(each.keys.value) : "?",
      primaryOf.has(node.name) ? lagOf(each, byName.get(primaryOf.get(node.name) ?? "")) : "",
    ];
  });
  // The name of a server that this project did not deploy is its address, and its host is its machine.
  const isNamed = facts.nodes.some(({ node }) => node.name !== formatEndpoint(node.endpoint));
  const places = facts.nodes.map(({ node }) => [node.name, formatEndpoint(node.endpoint), node.machine]);
  return [
    ...textTable([NODE_COLUMNS, ...rows], "     rrr"),
    ...(isNamed ? ["", ...textTable([["NAME", "ADDRESS", "MACHINE"], ...places])] : []),
  ];
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

function assertionLines(assertions: readonly Assertion[], diagnosis: Diagnosis | undefined): string[] {
  const follows: ReadonlySet<string> = diagnosis?.follows ?? new Set();
  const failed = assertions.flatMap(({ pass, what, expected, found, nodes, id }) =>
    pass || follows.has(id)
      ? []
      : [
          `✗ ${what}  [${id}]`,
          `    expected: ${expected}`,
          ...wrapped(found, "    found:    ", " ".repeat(14)),
          ...(nodes.some((node) => !found.includes(node))
            ? wrapped(nodes.join(", "), "    nodes:    ", " ".repeat(14))
            : []),
        ],
  );
  const folded = `${counted(follows.size, "assertion")} only because of silent nodes: ${[...follows].join(", ")}`;
  return [
    ...failed,
    ...(follows.size === 0 ? [] : wrapped(folded, "✗ ", "  ")),
    ...assertions.flatMap(({ pass, what, found }) => (pass ? [`✓ ${what}: ${found}`] : [])),
  ];
}
