import type { DeploymentCost, Results, MeasuredTopology } from "./schema";
import { formatUsd, usdPerMillionOperations, usdPerGibMonth } from "../../lib/dollars";

type Costs = Pick<Results, "costs">;

/** Dollars per million operations at the measured rate; null if the price is unknown. */
export function rowCost(
  { costs = [] }: Costs,
  { deployment, rps }: { readonly deployment: string; readonly rps: { readonly median: number } },
): number | null {
  const cost = costs.find((each) => each.deployment === deployment);
  return cost === undefined ? null : (usdPerMillionOperations(cost.usdPerHour, rps.median) ?? null);
}

/** maxmemory if it is set, otherwise the memory request of the server's pod. */
type DataLimit = "maxmemory" | "requested memory";

export function dataLimitOf({ settings }: Pick<MeasuredTopology, "settings">): DataLimit {
  return Number(settings["maxmemory"] ?? 0) > 0 ? "maxmemory" : "requested memory";
}

/** Dollars per month and GiB of data; null if the price or the limit is unknown. */
export function storageCost(
  { costs = [] }: Costs,
  { deployment, nodes, settings }: Pick<MeasuredTopology, "deployment" | "nodes" | "settings">,
): number | null {
  const cost = costs.find((each) => each.deployment === deployment);
  const primaries = nodes.filter(({ role }) => role === "primary").length;
  if (cost === undefined) return null;
  const bytes = dataLimitOf({ settings }) === "maxmemory" ? Number(settings["maxmemory"]) : (cost.memoryBytes ?? 0);
  return usdPerGibMonth(cost.usdPerHour, primaries * bytes) ?? null;
}

/** Such as `$0.64 per hour: 6 × r7g.large, on-demand prices of us-west-2 on 2026-07-20`. */
export function describeCost({ usdPerHour, machines, region, date }: DeploymentCost): string {
  const counted = machines.map(({ type, count }) => `${Number.isInteger(count) ? count : count.toFixed(2)} × ${type}`);
  return `$${formatUsd(usdPerHour)} per hour: ${counted.join(", ")}, on-demand prices of ${region} on ${date}`;
}
