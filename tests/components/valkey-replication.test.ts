/** Defaults and refusals of `ValkeyReplication`. */
import { describe, expect, it } from "vitest";
import type { ValkeyReplicationArgs } from "../../components/valkey-replication";
import { ValkeyReplication } from "../../components/valkey-replication";
import type { DeclaredResource } from "../support/pulumi/pulumi-mocks";
import { evaluateProgram, onlyResource } from "../support/pulumi/pulumi-mocks";

const zones = ["a", "b", "c"];
const declare = (args: Partial<ValkeyReplicationArgs>, name = "sessions"): Promise<readonly DeclaredResource[]> =>
  evaluateProgram(() => new ValkeyReplication(name, { replicas: 2, zones, ...args }));

describe("ValkeyReplication", () => {
  it("chooses everything about Sentinels and metrics by itself", async () => {
    const resources = await declare({ metrics: {} });
    expect(onlyResource(resources, "valkey:index:DeploymentVerification", "sessions").inputs["target"]).toMatchObject({
      sentinel: { settings: { count: 3, quorum: 2, downAfterMs: 5000, failoverTimeoutMs: 10_000 } },
    });
    const { spec } = onlyResource(resources, "kubernetes:apps/v1:StatefulSet", "sessions").inputs;
    expect(spec).toMatchObject({ template: { spec: { containers: [{ name: "valkey" }, { name: "metrics" }] } } });
    expect(resources.some(({ type }) => type.endsWith(":ServiceMonitor"))).toBe(false);
  });

  it("has no exporter unless it is asked for, and no Sentinels where it is told so", async () => {
    const resources = await declare({ sentinel: false });
    const { spec } = onlyResource(resources, "kubernetes:apps/v1:StatefulSet").inputs;
    expect((spec as { template: { spec: { containers: unknown[] } } }).template.spec.containers).toHaveLength(1);
    expect(resources.filter(({ name }) => /sentinel|proxy|metrics/.test(name))).toEqual([]);
  });

  it.each<[string, Partial<ValkeyReplicationArgs>, string | undefined]>([
    ["in two zones", { zones: ["a", "b"] }, undefined],
    ["of a name that their pods could not have", {}, "a".repeat(44)],
  ])("has no Sentinels by default %s", async (_what, args, name) => {
    expect((await declare(args, name)).filter((each) => /sentinel|proxy/.test(each.name))).toEqual([]);
  });

  it("keeps data on the machine where it is told to", async () => {
    const resources = await declare({ storage: { ephemeral: true } });
    const { spec } = onlyResource(resources, "kubernetes:apps/v1:StatefulSet", "sessions").inputs;
    expect(spec).toMatchObject({ volumeClaimTemplates: [] });
    expect(onlyResource(resources, "valkey:index:Volumes", "sessions").inputs["storage"]).toMatchObject({
      template: "data",
      ephemeral: true,
    });
  });

  it.each<[string, Partial<ValkeyReplicationArgs>, number]>([
    ["with Sentinels", {}, 3],
    ["without Sentinels", { sentinel: false }, 0],
  ])("has a certificate for where clients connect and for every pod %s", async (_what, args, sentinels) => {
    const resources = await declare({ ...args, tls: { issuer: { name: "internal" } } });
    const numbered = (set: string, count: number, headless: string): string[] =>
      Array.from({ length: count }, (_each, index) => `${set}-${index}.${headless}`);
    const hosts = [
      "sessions",
      ...numbered("sessions", 3, "sessions-headless"),
      ...numbered("sessions-sentinel", sentinels, "sessions-sentinel"),
    ].map((host) => `${host}.default.svc.cluster.local`);
    expect(onlyResource(resources, "valkey:index:TlsCheck", "sessions").inputs["tls"]).toEqual({
      secretName: "sessions-tls",
      hosts,
    });
    const { spec } = onlyResource(resources, "kubernetes:cert-manager.io/v1:Certificate").inputs;
    const { dnsNames } = spec as { dnsNames: readonly string[] };
    const isNamed = (host: string): boolean =>
      dnsNames.includes(host) || dnsNames.includes(host.replace(/^[^.]+/, "*"));
    expect(hosts.filter((host) => !isNamed(host))).toEqual([]);
    expect(isNamed("sessions-read.default.svc.cluster.local")).toBe(true);
  });

  it("reads from replicas that lag by ten seconds at most, or by another whole number of seconds", async () => {
    const lagOf = async (args: Partial<ValkeyReplicationArgs>): Promise<unknown> => {
      const { spec } = onlyResource(await declare(args), "kubernetes:apps/v1:StatefulSet", "sessions").inputs;
      const { template } = spec as {
        template: { spec: { containers: { env: { name: string; value?: string }[] }[] } };
      };
      return template.spec.containers[0]?.env.find(({ name }) => name === "MAX_LAG")?.value;
    };
    expect([await lagOf({}), await lagOf({ maxLagSeconds: 60 })]).toEqual(["10", "60"]);
    for (const maxLagSeconds of [0, 1.5, 3601])
      await expect(declare({ maxLagSeconds })).rejects.toThrow(
        `maxLagSeconds: it is ${maxLagSeconds}; expected a whole number from 1 to 3600`,
      );
  });

  it("takes a quorum that is a majority of another number", async () => {
    const resources = await declare({ sentinel: { count: 5 } });
    expect(onlyResource(resources, "valkey:index:DeploymentVerification", "sessions").inputs["target"]).toMatchObject({
      sentinel: { settings: { count: 5, quorum: 3 } },
    });
  });

  it.each<[string, Partial<ValkeyReplicationArgs>, RegExp]>([
    ["an even number", { sentinel: { count: 4 } }, /sentinel\.count: 4; expected an odd number/],
    ["too many", { sentinel: { count: 11 } }, /sentinel\.count: 11; expected a whole number from 3 to 9/],
    [
      "a quorum of more than there are",
      { sentinel: { quorum: 5 } },
      /sentinel\.quorum: 5 of 3 Sentinels; expected at most 3/,
    ],
    ["no replica", { sentinel: {}, replicas: 0, zones: ["a"] }, /sentinel: sessions has no replica that a failover/],
    [
      "two zones",
      { sentinel: {}, zones: ["a", "b"] },
      /sentinel: with 2 zones, the loss of one zone can be the loss of most Sentinels/,
    ],
  ])("refuses Sentinels with %s", async (_what, args, message) => {
    await expect(declare(args)).rejects.toThrow(message);
  });
});
