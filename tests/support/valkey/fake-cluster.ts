/** Clusters that exist only in tests, and that carry out the plan of a resize. */
import { planCluster } from "../../../valkey/topology/cluster-plan";
import { type Shape, placeAddedNodes, nodeCount, rotateOverZones } from "../../../valkey/topology/placement";
import type { ResizeNode, ResizePlan } from "../../../valkey/resize/resize-plan";
import type { SlotRange } from "../../../valkey/topology/slots";
import { countSlots, normaliseRanges, SLOT_COUNT, subtractRanges } from "../../../valkey/topology/slots";

type Changeable = { -readonly [Key in keyof ResizeNode]: ResizeNode[Key] };

export type PlanStep = () => void;

export class FakeCluster {
  private constructor(readonly nodes: Changeable[]) {}

  static formed(shape: Shape, zones: readonly string[]): FakeCluster {
    const placed = rotateOverZones(
      Array.from({ length: nodeCount(shape) }, (_, i) => `n-${i}`),
      shape,
      zones,
    );
    const { shards } = planCluster(placed, shape);
    return new FakeCluster(
      placed.map(({ name, zone }): Changeable => {
        const own = shards.find(({ primary }) => primary === name);
        const followed = shards.find(({ replicas }) => replicas.includes(name))?.primary;
        return {
          name,
          zone,
          leaving: false,
          primary: followed,
          slots: own === undefined ? [] : [own.slots],
          met: true,
          keyBytes: own === undefined ? 0 : 1000,
          usedMemory: 1000,
          maxmemory: 0,
        };
      }),
    );
  }

  copy(): FakeCluster {
    return new FakeCluster(this.nodes.map((node) => ({ ...node })));
  }

  node(name: string): Changeable {
    const found = this.nodes.find((node) => node.name === name);
    if (found === undefined) throw new Error(`there is no ${name}`);
    return found;
  }

  failOver(replica: string): void {
    const to = this.node(replica);
    const from = this.node(to.primary ?? "");
    for (const node of this.nodes) if (node.primary === from.name) node.primary = to.name;
    Object.assign(to, { slots: from.slots, keyBytes: from.keyBytes, primary: undefined });
    Object.assign(from, { slots: [], keyBytes: 0, primary: to.name });
  }

  /**
   * Adds nodes in the zones that lack them, or marks the last ones as leaving, until as many stay as the shape needs.
   */
  requestShape(
    shape: Shape,
    zones: readonly string[],
    leaving = this.nodes.slice(nodeCount(shape)).map(({ name }) => name),
  ): void {
    for (const node of this.nodes) node.leaving = leaving.includes(node.name);
    const staying = this.nodes.filter((node) => !node.leaving);
    const names = Array.from({ length: nodeCount(shape) - staying.length }, (_, i) => `n-${this.nodes.length + i}`);
    for (const { name, zone } of placeAddedNodes(
      names,
      staying.map((node) => node.zone),
      shape,
      zones,
    )) {
      this.nodes.push({
        name,
        zone,
        leaving: false,
        primary: undefined,
        slots: [],
        met: false,
        keyBytes: 0,
        usedMemory: 0,
        maxmemory: 0,
      });
    }
  }

  steps(plan: ResizePlan): PlanStep[] {
    const replicate =
      ({ node, primary }: { node: string; primary: string }) =>
      () => {
        if (this.node(primary).primary !== undefined)
          throw new Error(`${primary} is a replica: ${node} cannot follow it`);
        if (this.node(node).slots.length > 0) throw new Error(`${node} has slots and is to follow ${primary}`);
        if (!this.node(node).met || !this.node(primary).met) throw new Error(`${node} and ${primary} have not met`);
        this.node(node).primary = primary;
      };
    return [
      ...plan.meet.map((name) => () => {
        this.node(name).met = true;
      }),
      ...plan.failOver.map(({ from, to }) => () => {
        if (this.node(to).primary !== from) throw new Error(`${to} does not follow ${from}`);
        this.failOver(to);
      }),
      ...plan.attach.map(replicate),
      ...plan.promote.map((name) => () => {
        this.node(name).primary = undefined;
      }),
      ...plan.reattach.map(replicate),
      ...plan.migrate.flatMap(({ from, to, ranges }) =>
        ranges.map((range) => () => {
          this.move(from, to, range);
        }),
      ),
      ...plan.reassign.map(replicate),
      ...plan.forget.map((name) => () => {
        if (this.node(name).slots.length > 0 || this.nodes.some((node) => !node.leaving && node.primary === name))
          throw new Error(`${name} is still needed`);
        this.node(name).met = false;
      }),
    ];
  }

  private move(from: string, to: string, range: SlotRange): void {
    if (countSlots(subtractRanges([range], this.node(from).slots)) > 0)
      throw new Error(`${from} lacks what it is to give`);
    if (this.node(to).primary !== undefined) throw new Error(`${to} is a replica and is to take slots`);
    this.node(from).slots = subtractRanges(this.node(from).slots, [range]);
    this.node(to).slots = normaliseRanges([...this.node(to).slots, range]);
  }

  /** The number of slots without exactly one primary; 0 at any time. */
  get misplacedSlots(): number {
    const all = this.nodes.flatMap(({ slots }) => slots);
    return Math.abs(countSlots(all) - SLOT_COUNT) + (SLOT_COUNT - countSlots(normaliseRanges(all)));
  }
}
