import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type FormationState, formationState } from "../../../valkey/formation/formation-steps";
import type { MemberState } from "../../../valkey/membership/member-state";
import { planCluster } from "../../../valkey/topology/cluster-plan";
import { nodeCount, rotateOverZones } from "../../../valkey/topology/placement";
import { countSlots, formatRanges, SLOT_COUNT } from "../../../valkey/topology/slots";
import { type FakeNode, fakeView } from "../../support/valkey/cluster-text";
import { expectReviewed } from "../../support/reviewed";
import { forAll } from "../../support/properties";

const shape = { primaries: 3, replicasPerPrimary: 1 };
const placed = rotateOverZones(
  Array.from({ length: 6 }, (_, i) => `n-${i}`),
  shape,
  ["a", "b", "c"],
);
const plan = planCluster(placed, shape);
const shardOf = (name: string): (typeof plan.shards)[number] | undefined =>
  plan.shards.find(({ primary, replicas }) => primary === name || replicas.includes(name));

/** The cluster as planned. */
const formed: FakeNode[] = placed.map(({ name }) => {
  const shard = shardOf(name);
  return shard?.primary === name
    ? { name, slots: formatRanges([shard.slots]), epoch: 4 }
    : { name, primary: shard?.primary ?? "", epoch: 4 };
});

/** States of nodes that all know each other, or each only itself. */
function states(nodes: readonly FakeNode[], alone = false, keys: Record<string, number> = {}): MemberState[] {
  return nodes.map((node) => ({
    name: node.name,
    zone: placed.find(({ name }) => name === node.name)?.zone ?? "",
    view: fakeView(node.name, alone ? [node] : nodes),
    keys: keys[node.name] ?? 0,
  }));
}

const stateOf = (nodes: readonly MemberState[]): FormationState => formationState(plan, shape, nodes);
/** The missing steps. */
const stepsOf = (nodes: readonly MemberState[]): Extract<FormationState, { kind: "incomplete" }>["steps"] => {
  const state = stateOf(nodes);
  if (state.kind !== "incomplete") throw new Error(state.kind);
  return state.steps;
};
const fresh = states(
  placed.map(({ name }) => ({ name, epoch: 0 })),
  true,
);

describe("formationState", () => {
  it("of new nodes has all steps of the plan, with replicas' epochs below the primaries'", () => {
    const steps = stepsOf(fresh);
    expect(countSlots(steps.addSlots.flatMap(({ ranges }) => ranges))).toBe(SLOT_COUNT);
    expect(steps.replicate).toHaveLength(3);
    expect(steps.meet).toBe(true);
    const epoch = new Map(steps.setEpoch.map((each) => [each.node, each.epoch]));
    expect(new Set(epoch.values()).size).toBe(6);
    for (const { primary, replicas } of plan.shards)
      for (const replica of replicas) expect(epoch.get(replica)).toBeLessThan(epoch.get(primary) ?? 0);
  });

  it("of a formed cluster is formed, also after a failover", () => {
    expect(stateOf(states(formed)).kind).toBe("formed");
    const replica = plan.shards[0]?.replicas[0] ?? "";
    const after = formed.map((node): FakeNode => {
      if (node.name === replica) return { name: replica, slots: "0-5460", epoch: 9 };
      return node.name === plan.shards[0]?.primary ? { name: node.name, primary: replica, epoch: 9 } : node;
    });
    expect(stateOf(states(after)).kind).toBe("formed");
  });

  it("of a cluster formed in part has only the missing steps", () => {
    const half = formed.map((node): FakeNode => (node.primary === undefined ? node : { name: node.name, epoch: 0 }));
    const steps = stepsOf(states(half));
    expect(steps).toMatchObject({ addSlots: [], setEpoch: [], meet: false });
    expect(steps.replicate.map(({ node }) => node).sort()).toEqual(
      plan.shards.flatMap(({ replicas }) => replicas).sort(),
    );
  });

  it("of nodes with slots that have not met keeps the slots", () => {
    const slotted = formed.map((node): FakeNode => ({
      name: node.name,
      ...(node.slots === undefined ? {} : { slots: node.slots }),
      epoch: 0,
    }));
    const steps = stepsOf(states(slotted, true));
    expect(steps.addSlots).toEqual([]);
    expect(steps.meet).toBe(true);
  });

  it("of as many primaries as wanted, other than planned, completes their shards", () => {
    const others = formed.map((node): FakeNode => ({
      name: node.name,
      epoch: 1,
      ...(node.primary === undefined
        ? {}
        : {
            slots:
              shardOf(node.name) === undefined ? "" : formatRanges([shardOf(node.name)?.slots ?? { from: 0, to: 0 }]),
          }),
    }));
    const steps = stepsOf(states(others));
    const primaries = new Set(steps.replicate.map(({ primary }) => primary));
    expect(primaries).toEqual(new Set(plan.shards.flatMap(({ replicas }) => replicas)));
    const zone = (name: string): string | undefined => placed.find((node) => node.name === name)?.zone;
    for (const { node, primary } of steps.replicate) expect(zone(node)).not.toBe(zone(primary));
  });

  it("is blocked, with a reason", async () => {
    const empty = placed.map(({ name }) => ({ name, epoch: 0 }));
    const blocked: Readonly<Record<string, MemberState[]>> = {
      "an unknown node": states([...formed, { name: "n-77", epoch: 9 }]).slice(0, 6),
      "slots served twice": states([{ ...(formed[0] as FakeNode), slots: "0-6000" }, ...formed.slice(1)], true),
      "slots that the plan gives to another node": states(
        formed.map(({ name }) => ({ name, ...(name === "n-4" ? { slots: "0-10" } : {}) })),
        true,
      ),
      "keys on a future replica": states(empty, true, { "n-5": 1 }),
      "one node ID twice": [...fresh.slice(0, 5), { ...(fresh[0] as MemberState), name: "n-5" }],
    };
    const found = Object.entries(blocked).map(([what, nodes]) => {
      const state = stateOf(nodes);
      return [what, state.kind === "blocked" ? state.reasons : state.kind] as const;
    });
    await expectReviewed("valkey/blocked-formations", "Why clusters cannot be formed.", found);
  });

  it("has steps that lead to the wanted shape after an interruption at any point", () => {
    const sizes = fc.record({
      primaries: fc.integer({ min: 3, max: 8 }),
      replicasPerPrimary: fc.integer({ min: 0, max: 2 }),
    });
    forAll([sizes, fc.infiniteStream(fc.boolean())], (wanted, coin) => {
      const nodes = rotateOverZones(
        Array.from({ length: nodeCount(wanted) }, (_, i) => `n-${i}`),
        wanted,
        ["a", "b", "c"],
      );
      const target = planCluster(nodes, wanted);
      const cluster = new FakeCluster(nodes.map(({ name, zone }) => ({ name, zone })));
      const flip = (): boolean => coin.next().value === true;
      // Interrupted once at any point, then carried out.
      for (const interrupted of [true, false]) {
        const state = formationState(target, wanted, cluster.states());
        if (state.kind === "formed") return;
        if (state.kind === "blocked") throw new Error(state.reasons.join("; "));
        cluster.carryOut(state.steps, () => !interrupted || flip());
      }
      expect(formationState(target, wanted, cluster.states()).kind).toBe("formed");
    });
  });
});

/** Nodes that carry out steps, each of them only when `does` returns true. */
class FakeCluster {
  private met = false;
  private readonly nodes: { name: string; zone: string; slots: string; primary?: string; epoch: number }[];

  constructor(nodes: readonly { name: string; zone: string }[]) {
    this.nodes = nodes.map((node) => ({ ...node, slots: "", epoch: 0 }));
  }

  states(): MemberState[] {
    const nodes = this.nodes.map(({ name, slots, primary, epoch }): FakeNode => ({
      name,
      slots,
      epoch,
      ...(primary === undefined ? {} : { primary }),
    }));
    return this.nodes.map(({ name, zone }) => ({
      name,
      zone,
      keys: 0,
      view: fakeView(name, this.met ? nodes : nodes.filter((node) => node.name === name)),
    }));
  }

  carryOut(steps: Extract<FormationState, { kind: "incomplete" }>["steps"], does: () => boolean): void {
    const node = (name: string): (typeof this.nodes)[number] =>
      this.nodes.find((each) => each.name === name) as (typeof this.nodes)[number];
    for (const { node: name, ranges } of steps.addSlots)
      if (does()) node(name).slots = `${node(name).slots} ${formatRanges(ranges)}`.trim();
    for (const { node: name, epoch } of steps.setEpoch) if (does()) node(name).epoch = epoch;
    if (steps.meet && does()) this.met = true;
    if (this.met) for (const { node: name, primary } of steps.replicate) if (does()) node(name).primary = primary;
  }
}
