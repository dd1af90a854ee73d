/** Number of nodes per zone, and whether replicas can be in other zones than their primaries. */
import { type Problem, BadInput, problem } from "../../../lib/errors";
import { counted } from "../../../lib/units";
import { type Shape, nodeCount, distributePrimaries } from "../../../valkey/topology/placement";

interface ZonePlan {
  readonly zones: readonly string[];
  readonly nodes: number;
  /** The scheduler chooses which zone gets which number. */
  readonly sizes: readonly number[];
}

/** The scheduler lets the numbers of two zones differ by at most one. @throws BadInput with every reason */
export function planZones(deployment: string, shape: Shape, zones: readonly string[], leastPrimaries = 1): ZonePlan {
  const problems = [...countProblems(shape, leastPrimaries), ...zoneProblems(shape, zones)];
  if (problems.length > 0) throw new BadInput(`${deployment} cannot be placed`, problems);
  const nodes = nodeCount(shape);
  return { zones, nodes, sizes: spreadSizes(nodes, zones) };
}

function spreadSizes(nodes: number, zones: readonly string[]): number[] {
  return zones.map((_zone, index) => Math.floor(nodes / zones.length) + (index < nodes % zones.length ? 1 : 0));
}

/** The scheduler does not know which nodes become primaries, so every spread must work. @returns the reason if not */
export function zoneSpreadProblem(shape: Shape, zones: readonly string[]): string | undefined {
  const nodes = nodeCount(shape);
  const sizes = spreadSizes(nodes, zones);
  if (distributePrimaries(new Map(sizes.map((size, index) => [String(index), size])), shape) !== undefined)
    return undefined;
  return (
    `${nodes} nodes in ${zones.length} zones (${sizes.join(" + ")}) cannot put every replica of ${shape.primaries} ` +
    "primaries into a different zone than its primary; use a different number of zones, primaries or replicas"
  );
}

/** @throws BadInput with every reason why nodes cannot be spread, or replicas share zones with primaries */
export function planClusterZones(deployment: string, shape: Shape, zones: readonly string[]): ZonePlan {
  const plan = planZones(deployment, shape, zones, 3);
  const why = zoneSpreadProblem(shape, zones);
  if (why !== undefined) throw BadInput.of(`${deployment} cannot be placed`, "uneven-zones", why);
  return plan;
}

function countProblems({ primaries, replicasPerPrimary }: Shape, leastPrimaries: number): Problem[] {
  const problems: Problem[] = [];
  if (!Number.isInteger(primaries) || primaries < leastPrimaries)
    problems.push(
      problem(
        "too-few-primaries",
        "primaries",
        ` is ${primaries}; expected a whole number, at least ${leastPrimaries}`,
      ),
    );
  if (!Number.isInteger(replicasPerPrimary) || replicasPerPrimary < 0)
    problems.push(
      problem("wrong-replicas", "replicasPerPrimary", ` is ${replicasPerPrimary}; expected a whole number, at least 0`),
    );
  return problems;
}

function zoneProblems(shape: Shape, zones: readonly string[]): Problem[] {
  const problems: Problem[] = [];
  const distinct = new Set(zones).size;
  if (distinct < zones.length)
    problems.push(problem("zone-twice", "zones", ` contains a zone more than once: ${zones.join(", ")}`));
  const least = shape.replicasPerPrimary > 0 ? 2 : 1;
  if (distinct < least)
    problems.push(
      problem(
        "too-few-zones",
        "zones",
        ` lists ${counted(distinct, "zone", "zones")}; expected at least ${least}${least === 2 ? ", so that a replica is in a different zone from its primary" : ""}`,
      ),
    );
  const nodes = nodeCount(shape);
  if (distinct > nodes)
    problems.push(
      problem(
        "more-zones-than-nodes",
        "zones",
        ` lists ${counted(distinct, "zone", "zones")} for ${counted(nodes, "node", "nodes")}; expected at most ${nodes}`,
      ),
    );
  return problems;
}
