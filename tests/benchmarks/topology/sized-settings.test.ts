import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { busTraffic } from "../../../benchmarks/topology/bus-traffic";
import { busConnections, descriptorsFor, nodeTimeoutFor, sizedSettings } from "../../../benchmarks/topology/sized-settings";

const sizes = fc.integer({ min: 6, max: 3000 });

describe("settings that follow from a cluster's size", () => {
  it("leave the bus within a tenth of 1 Gbit/s, or have the longest node timeout", () => {
    fc.assert(fc.property(sizes, (nodes) => {
      const timeout = nodeTimeoutFor(nodes);
      expect(timeout === 15_000 || busTraffic(nodes, timeout, true).bytesPerNode <= 12_500_000).toBe(true);
    }));
  });

  it("never shorten the node timeout, nor lower maxclients, of a cluster that grows", () => {
    fc.assert(fc.property(sizes, fc.integer({ min: 1, max: 500 }), (nodes, more) => {
      expect(nodeTimeoutFor(nodes + more)).toBeGreaterThanOrEqual(nodeTimeoutFor(nodes));
      expect(descriptorsFor(nodes + more)).toBeGreaterThanOrEqual(descriptorsFor(nodes));
    }));
  });

  it("leave room for 10,000 clients beside the bus", () => {
    fc.assert(fc.property(sizes, (nodes) => {
      const { other } = sizedSettings({}, nodes);
      const maxclients = Number(other?.["maxclients"] ?? 10_000);
      expect(maxclients - (nodes < 100 ? 0 : busConnections(nodes))).toBeGreaterThanOrEqual(10_000);
      expect(descriptorsFor(nodes)).toBeGreaterThan(maxclients);
    }));
  });

  it("are those that were asked for where any were", () => {
    expect(sizedSettings({ "cluster-node-timeout": 700, other: { maxclients: 50 } }, 2000)).toEqual({ "cluster-node-timeout": 700, other: { maxclients: 50 } });
    expect(sizedSettings({ save: "" }, 6)).toEqual({ save: "", "cluster-node-timeout": nodeTimeoutFor(6) });
  });
});
