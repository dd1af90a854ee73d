import type { DeploymentCost, Results, TopologyRecord } from "./schema";
import { formatUsd, usdPerMillionOperations, usdPerGibMonth } from "../../lib/dollars";

type Costs = Pick<Results, "costs">;

/** Of a deployment's servers at a rate; null where their price is not known. */
export function rowCost(
  { costs = [] }: Costs,
  { deployment, rps }: { readonly deployment: string; readonly rps: { readonly median: number } },
): number | null {
  const cost = costs.find((each) => each.deployment === deployment);
  return cost === undefined ? null : (usdPerMillionOperations(cost.usdPerHour, rps.median) ?? null);
}

/** What a server may hold: its maxmemory, or without one the memory that its pod asks for. */
export type DataLimit = "maxmemory" | "memory asked for";

export function dataLimitOf({ settings }: Pick<TopologyRecord, "settings">): DataLimit {
  return Number(settings["maxmemory"] ?? 0) > 0 ? "maxmemory" : "memory asked for";
}

/** Of a GiB that the deployment's primaries may hold and a month; null where price or GiB are not known. */
export function storageCost(
  { costs = [] }: Costs,
  { deployment, nodes, settings }: Pick<TopologyRecord, "deployment" | "nodes" | "settings">,
): number | null {
  const cost = costs.find((each) => each.deployment === deployment);
  const primaries = nodes.filter(({ role }) => role === "primary").length;
  if (cost === undefined) return null;
  const bytes = dataLimitOf({ settings }) === "maxmemory" ? Number(settings["maxmemory"]) : (cost.memoryBytes ?? 0);
  return usdPerGibMonth(cost.usdPerHour, primaries * bytes) ?? null;
}

/** `$0.64 per hour: 6 × r7g.large, prices of us-west-2 of 2026-07-20` */
export function describeCost({ usdPerHour, machines, region, date }: DeploymentCost): string {
  return `$${formatUsd(usdPerHour)} per hour: ${machines.map(({ type, count }) => `${Number.isInteger(count) ? count : count.toFixed(2)} × ${type}`).join(", ")}, on-demand prices of ${region} of ${date}`;
}
