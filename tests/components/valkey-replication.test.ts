/** Defaults and refusals of `ValkeyReplication`. */
import { describe, expect, it } from "vitest";
import type { ValkeyReplicationArgs } from "../../components/valkey-replication";
import { ValkeyReplication } from "../../components/valkey-replication";
import type { DeclaredResource } from "../support/pulumi/pulumi-mocks";
import { evaluateProgram, onlyResource } from "../support/pulumi/pulumi-mocks";

const zones = ["a", "b", "c"];
const declare = (args: Partial<ValkeyReplicationArgs>): Promise<readonly DeclaredResource[]> =>
  evaluateProgram(() => new ValkeyReplication("sessions", { replicas: 2, zones, ...args }));

describe("ValkeyReplication", () => {
  it("chooses everything about Sentinels and metrics by itself", async () => {
    const resources = await declare({ sentinel: {}, metrics: {} });
    expect(onlyResource(resources, "valkey:index:TopologyCheck", "sessions").inputs["target"]).toMatchObject({
      sentinel: { settings: { count: 3, quorum: 2, downAfterMs: 5000, failoverTimeoutMs: 10_000 } },
    });
    const { values } = onlyResource(resources, "kubernetes:helm.sh/v4:Chart", "sessions").inputs;
    expect(values).toMatchObject({ metrics: { serviceMonitor: { enabled: false } } });
  });

  it("takes a quorum that is a majority of another number", async () => {
    const resources = await declare({ sentinel: { count: 5 } });
    expect(onlyResource(resources, "valkey:index:TopologyCheck", "sessions").inputs["target"]).toMatchObject({
      sentinel: { settings: { count: 5, quorum: 3 } },
    });
  });

  it.each<[string, Partial<ValkeyReplicationArgs>, RegExp]>([
    ["an even number", { sentinel: { count: 4 } }, /sentinel\.count: 4; expected an odd number/],
    ["too many", { sentinel: { count: 11 } }, /sentinel\.count: 11; expected a whole number from 3 to 9/],
    ["a quorum of more than there are", { sentinel: { quorum: 5 } }, /sentinel\.quorum: 5 of 3 Sentinels; at most 3/],
    ["no replica", { sentinel: {}, replicas: 0, zones: ["a"] }, /sentinel: sessions has no replica that a failover/],
    ["two zones", { sentinel: {}, zones: ["a", "b"] }, /sentinel: with 2 zones the loss of one can take the majority/],
    ["TLS", { sentinel: {}, tls: { secretName: "pair" } }, /sentinel: .* speak plain TCP; leave out tls/],
  ])("refuses Sentinels with %s", async (_what, args, message) => {
    await expect(declare(args)).rejects.toThrow(message);
  });
});
