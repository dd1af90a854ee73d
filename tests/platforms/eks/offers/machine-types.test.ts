import { describe, expect, it } from "vitest";
import { architecturesOf } from "../../../../platforms/eks/pools/pools";
import { allocatableOn, UNTUNED } from "../../../../platforms/eks/pools/tuning";
import { familyOf, MACHINE_TYPES, machineType, type MachineType } from "../../../../platforms/eks/offers/machine-types";
import { pricesOf } from "../../../../platforms/eks/offers/prices";

const known = (type: string): MachineType => {
  const found = machineType(type);
  if (found === undefined) throw new Error(type);
  return found;
};
const families = [...new Set(MACHINE_TYPES.map(familyOf))];

describe("the table of machine types", () => {
  it("has the current families of c, m and r, of Graviton, Intel and AMD", () => {
    const kinds = "6g 6gd 7g 7gd 8g 8gd 8gn 6i 6id 6in 7i 8i 6a 7a 8a".split(" ");
    for (const letter of ["c", "m", "r"]) for (const kind of kinds) expect(families).toContain(`${letter}${kind}`);
    expect(families).toEqual(expect.arrayContaining(["c6gn", "c7gn", "m6idn", "r6idn"]));
  });

  it("has the architecture that a family's name tells: g is Graviton, i is Intel, a is AMD", () => {
    for (const type of MACHINE_TYPES) {
      const processor = /^[cmr]\d([gia])/.exec(type)?.[1];
      expect(known(type).architecture, type).toBe(processor === "g" ? "arm64" : "amd64");
    }
  });

  it("has memory by the vCPU as the family's letter tells, and less of it for pods", () => {
    const gib = { c: 2, m: 4, r: 8 };
    for (const type of MACHINE_TYPES) {
      const { vcpus, memoryMiB, allocatableCpuMilli, allocatableMemoryMiB } = known(type);
      expect(memoryMiB / 1024 / vcpus, type).toBe(gib[type[0] as keyof typeof gib]);
      expect(allocatableCpuMilli, type).toBeLessThan(1000 * vcpus);
      expect(allocatableMemoryMiB, type).toBeLessThan(memoryMiB);
    }
  });

  it("counts pods as Karpenter does, by the interfaces of the first network card", () => {
    // Karpenter's documentation of its instance types, less the pods that run on every machine.
    const documented = {
      "r7g.large": 29,
      "r7i.large": 29,
      "r8i.large": 59,
      "c6in.32xlarge": 394,
      "r8gn.48xlarge": 590,
    };
    for (const [type, pods] of Object.entries(documented))
      expect(allocatableOn(known(type), UNTUNED).pods + 4, type).toBe(pods);
  });

  it("has prices in us-west-2 of nearly all, which grow with the size within a family", () => {
    const prices = pricesOf("us-west-2")?.machines ?? {};
    const without = MACHINE_TYPES.filter((type) => prices[type] === undefined);
    expect(without.every((type) => /\.metal-/.test(type))).toBe(true);
    for (const family of families) {
      const perCpu = MACHINE_TYPES.filter((type) => familyOf(type) === family && !type.includes("metal")).map(
        (type) => (prices[type]?.usdPerHour ?? NaN) / known(type).vcpus,
      );
      // Graviton's metal and the odd medium size apart, AWS sells by the vCPU.
      for (const each of perCpu) expect(Math.abs(each / (perCpu[0] ?? NaN) - 1), family).toBeLessThan(0.05);
    }
  });
});

describe("the architectures of machine types", () => {
  it("are those of the known ones, each once", () => {
    expect(architecturesOf(["r7g.large", "c8g.large"])).toEqual(["arm64"]);
    expect(architecturesOf(["r7i.large", "r7a.large", "r7g.large", "x.large"])).toEqual(["arm64", "amd64"]);
    expect(architecturesOf(["x.large"])).toEqual([]);
  });
});
