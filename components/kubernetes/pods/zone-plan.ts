/** How many nodes each zone gets, and whether replicas can be kept apart from their primaries then. Pure. */
import { BadInput } from "../../../lib/errors";
import type { Shape } from "../../../valkey/topology/placement";
import { nodeCount, distributePrimaries } from "../../../valkey/topology/placement";

export interface ZonePlan {
  readonly zones: readonly string[];
  readonly nodes: number;
  /** Nodes of a zone, the fullest zones first. Which zones these are is the scheduler's choice. */
  readonly sizes: readonly number[];
}

/**
 * The spread that the scheduler is held to: zones differ by one node at most.
 * @throws BadInput with every reason why there is none
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
 * Why a cluster of this shape cannot keep its replicas in other zones than their primaries, however the scheduler spreads it: it knows no
 * roles, they are given afterwards. @returns undefined when it can
 */
export function zoneSpreadProblem(shape: Shape, zones: readonly string[]): string | undefined {
  const nodes = nodeCount(shape);
  const sizes = spreadSizes(nodes, zones);
  if (distributePrimaries(new Map(sizes.map((size, index) => [String(index), size])), shape) !== undefined)
    return undefined;
  return `${nodes} nodes in ${zones.length} zones (${sizes.join(" + ")}) cannot keep all replicas of ${shape.primaries} primaries in other zones; another number of zones, primaries or replicas can`;
}

/**
 * The same for a cluster.
 * @throws BadInput with every reason why there is none, or a replica would have no primary in another zone
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
  if (distinct < zones.length) problems.push(`zones names one twice: ${zones.join(", ")}`);
  const least = shape.replicasPerPrimary > 0 ? 2 : 1;
  if (distinct < least)
    problems.push(
      `zones has ${distinct}; at least ${least}${least === 2 ? ", for a replica is in another zone than its primary" : ""}`,
    );
  const nodes = nodeCount(shape);
  if (distinct > nodes) problems.push(`zones has ${distinct} for ${nodes} nodes; at most ${nodes}`);
  return problems;
}
