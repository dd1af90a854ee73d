import { describe, expect, it } from "vitest";
import { parseConfig } from "../../../stacks/config/parse";
import { planStack } from "../../../stacks/plan/stack-plan";
import { storageNotes } from "../../../stacks/plan/notes";
import type { StackConfig } from "../../../stacks/config/schema/stack";

const config = (deployments: object, platform: object = {}): StackConfig =>
  parseConfig(
    "stack x",
    { platform: { type: "kubernetes", zones: ["a", "b", "c"], ...platform }, deployments },
    { cores: 2, memoryBytes: 2 ** 34 },
  );
const notes = (deployments: object): string[] => storageNotes(config(deployments));
const cluster = { mode: "cluster", primaries: 3, replicasPerPrimary: 1 };
const ephemeral = { storage: { ephemeral: true } };

describe("the plan", () => {
  it("says what a pod without a volume loses, once for all clusters alike", () => {
    const unsaved = { ...cluster, settings: { save: "" }, pods: ephemeral };
    expect(notes({ one: unsaved, two: unsaved, three: { ...cluster, pods: ephemeral } })).toEqual([
      "one, two: the only file, nodes.conf, is on the disks of the machines, so a deleted pod comes back as a new node without keys. Meanwhile the other nodes of the shard serve its slots, and the new node joins by itself",
      expect.stringMatching(/^three: keys and nodes\.conf are on the disks of the machines/),
    ]);
    expect(notes({ bare: { ...unsaved, replicasPerPrimary: 0 } })).toEqual([
      expect.stringMatching(/No node serves the slots of the deleted pod until/),
    ]);
  });

  it("says where many volumes hold nodes.conf alone, and nothing of others", () => {
    const large = { ...cluster, primaries: 51, settings: { save: "" } };
    expect(notes({ large })).toEqual([
      "large: 102 volumes contain only nodes.conf; to use no volumes, set pods: { storage: { ephemeral: true } }",
    ]);
    expect(notes({ small: { ...large, primaries: 3 }, saved: { ...large, settings: {} } })).toEqual([]);
    const { notes: planned } = planStack("x", config({ large }));
    expect(planned).toEqual(expect.arrayContaining(notes({ large })));
  });
});

it("warns of clients outside without TLS, and not of those with it", () => {
  const outside = { reached: { ...cluster, external: { type: "LoadBalancer" } }, hidden: cluster };
  const warning = "reached: passwords and data cross networks as plain text; set platform.tls";
  expect(planStack("x", config(outside)).notes).toContain(warning);
  expect(planStack("x", config(outside, { tls: { secretName: "pair" } })).notes).not.toContain(warning);
});
