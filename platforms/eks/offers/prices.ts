import { z } from "zod";
import { CONTROL_PLANE_TIERS } from "./control-plane";
import usWest2 from "./prices/us-west-2.json";

const price = z.number().positive();

const priceTableSchema = z.strictObject({
  region: z.string(),
  currency: z.literal("USD"),
  /** Date of the oldest source of the table. */
  date: z.iso.date(),
  sources: z
    .array(z.strictObject({ what: z.string(), url: z.url(), date: z.iso.date(), note: z.string().optional() }))
    .min(1),
  /** Number of zones of the region. */
  zones: z.int().min(1),
  eksControlPlanePerHour: price.optional(),
  /** Price of a provisioned tier, in addition to the control plane's price. */
  eksTierPerHour: z.partialRecord(z.enum(CONTROL_PLANE_TIERS).exclude(["standard"]), price).optional(),
  natGateway: z.strictObject({ perHour: price, perGb: price }).optional(),
  publicIpv4PerHour: price.optional(),
  interfaceEndpoint: z.strictObject({ perZoneHour: price, perGb: price }).optional(),
  kmsKeyPerMonth: price.optional(),
  /** Prices of gp3 volumes. 3,000 IOPS and 125 MiB/s are free. IOPS and throughput above this baseline are charged. */
  gp3: z.strictObject({ perGibMonth: price, perIopsMonth: price, perMibpsMonth: price }).optional(),
  /** Price of traffic between zones, for each direction. A byte costs twice this price. */
  crossZonePerGb: price.optional(),
  /** Price of each machine type with Linux, on demand, and the number of zones that offer the type. */
  machines: z.record(z.string(), z.strictObject({ usdPerHour: price, zones: z.int().min(1) })),
});

/** A plan reports the prices that it needs and that are missing. */
export type PriceTable = z.infer<typeof priceTableSchema>;

const TABLES: ReadonlyMap<string, PriceTable> = new Map(
  [usWest2].map((raw) => priceTableSchema.parse(raw)).map((table) => [table.region, table]),
);

export const PRICED_REGIONS: readonly string[] = [...TABLES.keys()];

export function pricesOf(region: string): PriceTable | undefined {
  return TABLES.get(region);
}
