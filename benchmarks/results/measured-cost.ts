import type { Machine } from "../../platforms/kubernetes/cluster/machine";
import type { DeploymentCost } from "./schema";
import type { PriceTable } from "../../platforms/eks/offers/prices";

export interface MeasuredDeployment {
  readonly name: string;
  readonly nodes: readonly { readonly machine: string }[];
  readonly memoryBytes?: number | undefined;
}

/**
 * Without volumes, load generators, the control plane and traffic. Servers on one machine share its price equally. A
 * deployment is omitted if one of its machines has no known price.
 */
export function measuredCosts(
  deployments: readonly MeasuredDeployment[],
  machines: readonly Machine[],
  prices: (region: string) => PriceTable | undefined,
): DeploymentCost[] {
  const servers = new Map<string, number>();
  for (const { nodes } of deployments)
    for (const { machine } of nodes) servers.set(machine, (servers.get(machine) ?? 0) + 1);
  const byName = new Map(machines.map((machine) => [machine.name, machine]));
  return deployments.flatMap(({ name, nodes, memoryBytes }) => {
    const counts = new Map<string, number>();
    let usdPerHour = 0;
    let table: PriceTable | undefined;
    for (const { machine } of nodes) {
      const { instanceType = null, zone = null } = byName.get(machine) ?? {};
      table = zone === null ? undefined : prices(regionOf(zone));
      const price = instanceType === null ? undefined : table?.machines[instanceType]?.usdPerHour;
      if (instanceType === null || price === undefined) return [];
      const share = 1 / (servers.get(machine) ?? 1);
      usdPerHour += price * share;
      counts.set(instanceType, (counts.get(instanceType) ?? 0) + share);
    }
    if (table === undefined) return [];
    return [
      {
        deployment: name,
        usdPerHour,
        ...(memoryBytes === undefined ? {} : { memoryBytes }),
        machines: [...counts].map(([type, count]) => ({ type, count: Math.round(count * 1e6) / 1e6 })),
        region: table.region,
        date: table.date,
      },
    ];
  });
}

/** `us-west-2` for `us-west-2a`. A zone in a different format is unchanged, and has no known prices. */
function regionOf(zone: string): string {
  return zone.replace(/[a-z]$/, "");
}
