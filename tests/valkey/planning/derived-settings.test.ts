import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { busTraffic } from "../../../valkey/topology/bus-traffic";
import {
  busConnections,
  fileDescriptorsFor,
  supportsPingInterval,
  nodeTimeoutFor,
  PING_INTERVAL_DIRECTIVE,
  pingEquivalentTimeoutMs,
  pingIntervalFor,
  derivedSettings,
} from "../../../valkey/planning/derived-settings";
import { forAll } from "../../support/properties";

const sizes = fc.integer({ min: 6, max: 3000 });

describe("settings derived from a cluster's size", () => {
  it("keep the bus within a tenth of 1 Gbit/s, or have the longest node timeout", () => {
    forAll([sizes], (nodes) => {
      const timeout = nodeTimeoutFor(nodes);
      expect(timeout === 15_000 || busTraffic(nodes, timeout, true).bytesPerNode <= 12_500_000).toBe(true);
    });
  });

  it("never shorten the node timeout, nor lower maxclients, of a cluster that grows", () => {
    forAll([sizes, fc.integer({ min: 1, max: 500 })], (nodes, more) => {
      expect(nodeTimeoutFor(nodes + more)).toBeGreaterThanOrEqual(nodeTimeoutFor(nodes));
      expect(fileDescriptorsFor(nodes + more)).toBeGreaterThanOrEqual(fileDescriptorsFor(nodes));
    });
  });

  it("leave room for 10,000 clients beside the bus", () => {
    forAll([sizes], (nodes) => {
      const maxclients = Number(derivedSettings({}, nodes, true)["maxclients"] ?? 10_000);
      expect(maxclients - (nodes < 100 ? 0 : busConnections(nodes))).toBeGreaterThanOrEqual(10_000);
      expect(fileDescriptorsFor(nodes)).toBeGreaterThan(maxclients);
    });
  });

  it("do not override configured settings", () => {
    expect(derivedSettings({ "cluster-node-timeout": 700, maxclients: 50 }, 2000, true)).toEqual({
      "cluster-node-timeout": 700,
      maxclients: 50,
    });
    expect(derivedSettings({ save: "" }, 6, false)).toEqual({ save: "", "cluster-node-timeout": nodeTimeoutFor(6) });
  });

  it("let nodes of small clusters ping more often than by half the node timeout, at most fifty times per second", () => {
    forAll([fc.integer({ min: 2, max: 3000 }), fc.integer({ min: 100, max: 60_000 })], (nodes, timeout) => {
      const interval = pingIntervalFor(nodes, timeout);
      if (interval === undefined) return;
      expect(interval).toBeLessThan(timeout / 2);
      expect((nodes - 1) / (interval / 1000)).toBeLessThanOrEqual(55);
    });
    expect([6, 17, 60, 65].map((nodes) => pingIntervalFor(nodes, 5000))).toEqual([300, 600, 1200, undefined]);
  });

  it("set the ping interval only on servers that support it, and not where it is configured", () => {
    expect(derivedSettings({}, 6, true)[PING_INTERVAL_DIRECTIVE]).toBe(300);
    expect(derivedSettings({ [PING_INTERVAL_DIRECTIVE]: 0 }, 6, true)[PING_INTERVAL_DIRECTIVE]).toBe(0);
    expect(["7.0.15", "7.9.9", "8.0.1", "8.1.0", "9.1.2", "10.0.0", "", "latest"].map(supportsPingInterval)).toEqual([
      false,
      false,
      true,
      true,
      true,
      true,
      false,
      false,
    ]);
    expect([
      pingEquivalentTimeoutMs(5000, {}),
      pingEquivalentTimeoutMs(5000, derivedSettings({}, 6, true)),
      pingEquivalentTimeoutMs(5000, { [PING_INTERVAL_DIRECTIVE]: 0 }),
    ]).toEqual([5000, 600, 5000]);
  });
});
