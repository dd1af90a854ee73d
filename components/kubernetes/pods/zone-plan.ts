/** Number of nodes per zone, and whether replicas can be in other zones than their primaries. Pure. */
import { BadInput } from "../../../lib/errors";
import { counted } from "../../../lib/units";
import type { Shape } from "../../../valkey/topology/placement";
import { nodeCount, distributePrimaries } from "../../../valkey/topology/placement";

export interface ZonePlan {
  readonly zones: readonly string[];
  readonly nodes: number;
  /** Number of nodes in each zone, in descending order. The scheduler chooses which zone gets which number. */
  readonly sizes: readonly number[];
}

/**
 * Number of nodes per zone. The scheduler lets the numbers of two zones differ by at most one.
 * @throws BadInput with every reason why the nodes cannot be spread
 */
export function planZones(deployment: string, shape: Shape, zones: readonly string[], leastPrimaries = 1): ZonePlan {
  const problems = [...countProblems(shape, leastPrimaries), ...zoneProblems(shape, zones)];
  if (problems.length > 0) throw new BadInput(`${deployment} cannot be placed`, problems);
  const nodes = nodeCount(shape);
  return { zones, nodes, sizes: spreadSizes(nodes, zones) };
}

function spreadSizes(nodes: number, zones: readonly string[]): number[] {
  return zones.map((_zone, index) => Math.floor(nodes / zones.length) + (index < nodes % zones.length ? 1 : 0));
}

/**
 * Checks that replicas can be in other zones than their primaries. The scheduler does not know which nodes become
 * primaries. So the check covers every spread of the nodes in which two zones differ by at most one node.
 * @returns reason why replicas cannot be in other zones than their primaries; undefined if they can
 */
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

/**
 * Number of nodes per zone for a cluster.
 * @throws BadInput with every reason why the nodes cannot be spread, or why replicas cannot be in other zones than
 * their primaries
 */
export function planClusterZones(deployment: string, shape: Shape, zones: readonly string[]): ZonePlan {
  const plan = planZones(deployment, shape, zones, 3);
  const problem = zoneSpreadProblem(shape, zones);
  if (problem !== undefined) throw new BadInput(`${deployment} cannot be placed`, [problem]);
  return plan;
}

function countProblems({ primaries, replicasPerPrimary }: Shape, leastPrimaries: number): string[] {
  const problems: string[] = [];
  if (!Number.isInteger(primaries) || primaries < leastPrimaries)
    problems.push(`primaries is ${primaries}; expected a whole number, at least ${leastPrimaries}`);
  if (!Number.isInteger(replicasPerPrimary) || replicasPerPrimary < 0)
    problems.push(`replicasPerPrimary is ${replicasPerPrimary}; expected a whole number, at least 0`);
  return problems;
}

function zoneProblems(shape: Shape, zones: readonly string[]): string[] {
  const problems: string[] = [];
  const distinct = new Set(zones).size;
  if (distinct < zones.length) problems.push(`zones contains a zone more than once: ${zones.join(", ")}`);
  const least = shape.replicasPerPrimary > 0 ? 2 : 1;
  if (distinct < least)
    problems.push(
      `zones lists ${counted(distinct, "zone", "zones")}; expected at least ${least}${least === 2 ? ", so that a replica is in a different zone from its primary" : ""}`,
    );
  const nodes = nodeCount(shape);
  if (distinct > nodes)
    problems.push(
      `zones lists ${counted(distinct, "zone", "zones")} for ${counted(nodes, "node", "nodes")}; expected at most ${nodes}`,
    );
  return problems;
}
