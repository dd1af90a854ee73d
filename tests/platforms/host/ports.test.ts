import { createServer, type AddressInfo } from "node:net";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findFreePorts, isFree, portsFrom, portsOutside } from "../../../platforms/host/ports";
import { forAll } from "../../support/properties";

const anyRange = fc
  .tuple(fc.integer({ min: 1, max: 65_535 }), fc.integer({ min: 1, max: 65_535 }))
  .map(([a, b]) => ({ low: Math.min(a, b), high: Math.max(a, b) }));

describe("ports", () => {
  it("are unprivileged, and outside the ephemeral range where that leaves enough", () => {
    forAll([anyRange], (ephemeral) => {
      const { low, high } = portsOutside(ephemeral);
      expect(low).toBeGreaterThanOrEqual(1024);
      expect(high).toBeLessThanOrEqual(65_535);
      expect(high - low + 1).toBeGreaterThanOrEqual(1000);
      const overlaps = low <= ephemeral.high && high >= ephemeral.low;
      if (overlaps) expect([low, high]).toEqual([1024, 65_535]);
    });
    expect(portsOutside({ low: 32_768, high: 60_999 })).toEqual({ low: 1024, high: 32_767 });
    expect(portsOutside({ low: 1024, high: 60_000 })).toEqual({ low: 60_001, high: 65_535 });
  });

  it("are each tried once, from any start", () => {
    const range = fc
      .integer({ min: 1024, max: 60_000 })
      .chain((low) => fc.record({ low: fc.constant(low), size: fc.integer({ min: 1, max: 50 }), offset: fc.nat(49) }));
    forAll([range], ({ low, size, offset }) => {
      const ports = [...portsFrom({ low, high: low + size - 1 }, low + (offset % size))];
      expect([...ports].sort((a, b) => a - b)).toEqual(Array.from({ length: size }, (_, i) => low + i));
      expect(ports[0]).toBe(low + (offset % size));
    });
  });

  it("that are found are free and distinct; one that is taken is not free", async () => {
    const ports = await findFreePorts(20);
    expect(new Set(ports).size).toBe(20);
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const taken = (server.address() as AddressInfo).port;
    expect(await isFree(taken)).toBe(false);
    await new Promise((resolve) => server.close(resolve));
    expect(await isFree(taken)).toBe(true);
  });
});
