import { compact } from "../../lib/compact";
import { HOURS_PER_MONTH } from "../../lib/dollars";
import type { MachineGroup } from "./pools/machine-plan";
import type { PodGroup } from "./pools/pod-groups";
import type { PriceTable } from "./offers/prices";
import type { ControlPlaneTier } from "./offers/control-plane";
import { type VolumeSpeed, GP3_BASELINE, STORAGE_CLASSES } from "./offers/storage-classes";

interface CostLine {
  readonly what: string;
  readonly count: number;
  /** Price of all `count` items; undefined if the table has no price. */
  readonly usdPerHour: number | undefined;
}

export interface Cost {
  readonly region: string;
  /** Date of the price table; undefined without a price table. */
  readonly date: string | undefined;
  readonly lines: readonly CostLine[];
  /** Sum of all lines with a price; undefined if no line has a price. */
  readonly usdPerHour: number | undefined;
  /** Charges that are not in the sum: lines without a price, and charges by use. */
  readonly notCounted: readonly string[];
}

interface CostArgs {
  readonly region: string;
  readonly prices: PriceTable | undefined;
  readonly machines: readonly MachineGroup[];
  readonly groups: readonly PodGroup[];
  /** Computed with the on-demand price, which spot prices never exceed. */
  readonly isSpot: (pool: MachineGroup["pool"]) => boolean;
  readonly rootVolumeGib: (pool: MachineGroup["pool"]) => number;
  readonly natGateways: number;
  readonly endpointZones: number;
  readonly controlPlaneTier: ControlPlaneTier;
  readonly kmsKeys: number;
  readonly hasBackups: boolean;
}

export function costOf(args: CostArgs): Cost {
  const { region, prices, natGateways, endpointZones, kmsKeys, controlPlaneTier: tier } = args;
  const times = (count: number, price: number | undefined): number | undefined =>
    price === undefined ? undefined : count * price;
  const lines: CostLine[] = compact([
    ...machineLines(args),
    ...volumeLines(args),
    { what: "EKS control plane", count: 1, usdPerHour: prices?.eksControlPlanePerHour },
    tier === "standard"
      ? undefined
      : { what: `EKS control plane, ${tier}`, count: 1, usdPerHour: prices?.eksTierPerHour?.[tier] },
    {
      what: "NAT gateways with their addresses",
      count: natGateways,
      usdPerHour:
        prices?.publicIpv4PerHour === undefined
          ? undefined
          : times(natGateways, prices.natGateway && prices.natGateway.perHour + prices.publicIpv4PerHour),
    },
    {
      what: "interface endpoints, per zone",
      count: endpointZones,
      usdPerHour: times(endpointZones, prices?.interfaceEndpoint?.perZoneHour),
    },
    {
      what: "KMS keys",
      count: kmsKeys,
      usdPerHour: times(kmsKeys, prices?.kmsKeyPerMonth && prices.kmsKeyPerMonth / HOURS_PER_MONTH),
    },
  ]).filter(({ count }) => count > 0);
  const missing = lines.filter(({ usdPerHour }) => usdPerHour === undefined).map(({ what }) => what);
  return {
    region,
    date: prices?.date,
    lines,
    usdPerHour: prices === undefined ? undefined : lines.reduce((sum, line) => sum + (line.usdPerHour ?? 0), 0),
    notCounted: [
      ...(prices === undefined
        ? [`everything: there are no prices for ${region}`]
        : missing.map((what) => `${what}: no price in the table of ${region}`)),
      "logs, and traffic between zones and through NAT and endpoints, because they depend on use",
      ...(args.hasBackups
        ? ["backups: storage in S3, and up to 172,800 PUT requests a day for each shard, as many as its writes need"]
        : []),
    ],
  };
}

function machineLines({ machines, prices, isSpot }: CostArgs): CostLine[] {
  const counts = new Map<string, { what: string; type: string; count: number }>();
  for (const { pool, type, count } of machines) {
    const what = `${type} (${pool}${isSpot(pool) ? ", spot, at the on-demand price" : ""})`;
    counts.set(what, { what, type, count: (counts.get(what)?.count ?? 0) + count });
  }
  return [...counts.values()].map(({ what, type, count }) => {
    const price = prices?.machines[type]?.usdPerHour;
    return { what, count, usdPerHour: price === undefined ? undefined : price * count };
  });
}

function volumeLines({ machines, groups, prices, rootVolumeGib }: CostArgs): CostLine[] {
  const roots = machines.reduce((sum, { pool, count }) => sum + count * rootVolumeGib(pool), 0);
  const rootCount = machines.reduce((sum, { count }) => sum + count, 0);
  const own = new Map<string, { readonly volume: NonNullable<PodGroup["volume"]>; count: number }>();
  for (const { pods, volume } of groups) {
    if (volume === undefined) continue;
    const what = `servers' volumes of ${volume.gib} GiB ${volume.storageClass}`;
    own.set(what, { volume, count: (own.get(what)?.count ?? 0) + pods.length });
  }
  const lines = [...own].map(([what, { volume, count }]) => ({
    what,
    count,
    usdPerHour: volumePrice(prices, volume.gib * count, count, STORAGE_CLASSES[volume.storageClass]),
  }));
  return [
    { what: "root volumes", count: rootCount, usdPerHour: volumePrice(prices, roots, rootCount, GP3_BASELINE) },
    ...lines,
  ];
}

function volumePrice(
  prices: PriceTable | undefined,
  gib: number,
  count: number,
  speed: VolumeSpeed,
): number | undefined {
  if (prices?.gp3 === undefined) return undefined;
  const { perGibMonth, perIopsMonth, perMibpsMonth } = prices.gp3;
  const extra =
    (speed.iops - GP3_BASELINE.iops) * perIopsMonth + (speed.throughput - GP3_BASELINE.throughput) * perMibpsMonth;
  return (gib * perGibMonth + count * extra) / HOURS_PER_MONTH;
}

/** AWS charges each byte twice, once for each direction. @returns undefined if the table has no price */
export function crossZoneUsdPerHour(bytesPerSecond: number, prices: PriceTable | undefined): number | undefined {
  return prices?.crossZonePerGb === undefined ? undefined : (bytesPerSecond / 1e9) * 3600 * prices.crossZonePerGb * 2;
}
