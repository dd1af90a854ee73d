import calculateSlot from "cluster-key-slot";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SLOT_COUNT } from "../../../valkey/topology/slots";
import { slotTags } from "../../../valkey/topology/slot-tags";
import { keyInfixes, keyNumber, keysPerInfix } from "../../../benchmarks/workloads/key-slices";
import { forAll } from "../../support/properties";

describe("slot tags", () => {
  it("are valkey-benchmark's own: the table's first and last entries, and the ones of two letters", () => {
    const tags = slotTags();
    expect(tags.slice(0, 10)).toEqual(["06S", "Qi", "5L5", "4Iu", "4gY", "460", "1Y7", "1LV", "0QG", "ru"]);
    expect(tags).toHaveLength(SLOT_COUNT);
    expect(new Set(tags).size).toBe(SLOT_COUNT);
  });

  it("put every key into the slot of its tag, also with a tag of two letters", () => {
    forAll([fc.nat(SLOT_COUNT - 1), fc.nat(1e6)], (slot, number) => {
      const [infix] = keyInfixes([{ from: slot, to: slot }]);
      expect(calculateSlot(`key${infix ?? ""}:${keyNumber(number)}`)).toBe(slot);
      expect(infix).toHaveLength(6);
    });
  });

  it("cover exactly the slots of a primary, and are absent in replication mode", () => {
    expect(keyInfixes([{ from: 0, to: 5460 }])).toHaveLength(5461);
    expect(keyInfixes(undefined)).toEqual([""]);
    expect(keysPerInfix(98_304, true)).toBe(6);
    expect(keysPerInfix(98_304, false)).toBe(98_304);
  });

  it("are followed by numbers as valkey-benchmark writes them", () => {
    expect(keyNumber(42)).toBe("000000000042");
  });
});
