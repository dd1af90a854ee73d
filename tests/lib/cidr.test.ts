import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatCidr, isOpenToTheWorld, parseCidr, nthSubnet } from "../../lib/cidr";
import { forAll } from "../support/properties";

describe("a block of addresses", () => {
  it.each(["10.0.0.0/16", "0.0.0.0/0", "198.51.100.7/32", "2001:db8::/32", "::/0"])(
    "%s is read and written",
    (cidr) => {
      const block = parseCidr(cidr);
      expect(block && formatCidr(block)).toBe(cidr);
    },
  );

  it("begins at its prefix", () => {
    const block = parseCidr("10.0.3.7/16");
    expect(block && formatCidr(block)).toBe("10.0.0.0/16");
  });

  it.each(["10.0.0.300/16", "10.0.0.0/33", "10.0.0.0", "everyone"])("%s is none", (text) => {
    expect(parseCidr(text)).toBeUndefined();
  });

  it("is divided into blocks with a longer prefix", () => {
    const block = parseCidr("10.0.0.0/16");
    expect(block && [0, 1, 3].map((index) => formatCidr(nthSubnet(block, 18, index)))).toEqual([
      "10.0.0.0/18",
      "10.0.64.0/18",
      "10.0.192.0/18",
    ]);
  });
});

describe("blocks that are open to the world", () => {
  it.each([
    [["0.0.0.0/0"]],
    [["::/0"]],
    [["2000::/3"]],
    [["0.0.0.0/1", "128.0.0.0/1"]],
    [["::/1", "8000::/1"]],
    [["198.51.100.0/24", "0.0.0.0/2", "128.0.0.0/3", "160.0.0.0/3"]],
    [["0.0.0.0/1"]],
  ])("%j are", (cidrs) => {
    expect(isOpenToTheWorld(cidrs)).toBe(true);
  });

  it.each([[[]], [["198.51.100.0/24"]], [["10.0.0.0/8", "10.0.0.0/8", "10.1.0.0/16"]], [["2001:db8::/32"]]])(
    "%j are not",
    (cidrs) => {
      expect(isOpenToTheWorld(cidrs)).toBe(false);
    },
  );

  it("are, however the addresses are divided into blocks", () => {
    const part = fc.integer({ min: 1, max: 8 });
    forAll([part], (bits) => {
      const world = { version: 4, first: 0n, prefixLength: 0 } as const;
      const parts = Array.from({ length: 2 ** bits }, (_, index) => formatCidr(nthSubnet(world, bits, index)));
      expect(isOpenToTheWorld(parts)).toBe(true);
      expect(isOpenToTheWorld(parts.slice(0, 2 ** (bits - 1) - 1))).toBe(false);
    });
  });
});
