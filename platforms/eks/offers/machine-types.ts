import { z } from "zod";
import existing from "./prices/families.json";
import table from "./prices/machines.json";

const positive = z.int().min(1);

export const ARCHITECTURES = ["arm64", "amd64"] as const;
export type Architecture = (typeof ARCHITECTURES)[number];

const machineSchema = z.strictObject({
  /** Architecture: `arm64` is Graviton; `amd64` is Intel and AMD. */
  architecture: z.enum(ARCHITECTURES),
  vcpus: positive,
  memoryMiB: positive,
  /** Sustained network rate, without bursts. */
  networkMbps: positive,
  /** CPU that the kubelet leaves for pods, thousandths of a CPU. */
  allocatableCpuMilli: positive,
  allocatableMemoryMiB: positive,
  /** Number of network interfaces of the first network card. Only these interfaces have addresses for pods. */
  interfaces: positive,
  /** Number of IPv4 addresses per interface, including the interface's own. */
  addressesPerInterface: positive,
});

export type MachineType = z.infer<typeof machineSchema>;

const MACHINES = z
  .strictObject({ sources: z.array(z.unknown()), machines: z.record(z.string(), machineSchema) })
  .parse(table).machines;

export const MACHINE_TYPES: readonly string[] = Object.keys(MACHINES);

export function machineType(name: string): MachineType | undefined {
  return MACHINES[name];
}

export function familyOf(type: string): string {
  return type.split(".")[0] ?? type;
}

const EC2 = z
  .strictObject({ source: z.object({ values: positive }), families: z.array(z.string()).min(1) })
  .parse(existing);

/** With alternatives: EC2 does not have the family, or the table lacks the family or the size. */
export function unknownTypeProblem(name: string): string {
  const family = familyOf(name);
  const sizes = MACHINE_TYPES.filter((type) => familyOf(type) === family);
  if (sizes.length > 0)
    return `${name} is not in the table of machine types; sizes of ${family} in the table: ${sizes.join(", ")}`;
  const families = [...new Set(MACHINE_TYPES.map(familyOf))];
  const alike = families.filter((each) => each[0] === family[0]);
  const known = `known families: ${(alike.length > 0 ? alike : families).join(", ")}`;
  if (EC2.families.includes(family))
    return `${name} is not in the table of machine types, and the table has no other type of the family ${family}; ${known}`;
  const values = EC2.source.values.toLocaleString("en-US");
  return `${name} does not exist: EC2 has ${values} machine types, but no family ${family}; ${known}`;
}
