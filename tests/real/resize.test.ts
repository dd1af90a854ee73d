/** A cluster of real servers that is resized while clients write to it and read from it. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Deployment } from "../../benchmarks/deployment";
import type { FormationOptions } from "../../benchmarks/formation/awaiting";
import { form } from "../../benchmarks/formation/form";
import type { Programs } from "../../benchmarks/host/programs";
import type { Shape } from "../../benchmarks/topology/placement";
import { countSlots } from "../../benchmarks/topology/slots";
import { verify } from "../../benchmarks/verification/verify";
import { Clients } from "../support/clients";
import { never, olderPrograms, realPrograms, Sandbox } from "../support/real";

const older = await olderPrograms();
const shape = (primaries: number, replicasPerPrimary: number): Shape => ({ primaries, replicasPerPrimary });

/** A formed cluster 3+3 of its own, and the way to another shape. */
class Resizing {
  private constructor(
    readonly sandbox: Sandbox,
    private deployment: Deployment,
  ) {}

  static async begin(programs: Programs, settings: Record<string, number> = {}): Promise<Resizing> {
    const sandbox = await Sandbox.open(programs);
    const deployment = await sandbox.cluster("cluster", 3, 1, settings);
    await form(deployment, shape(3, 1));
    return new Resizing(sandbox, deployment);
  }

  get now(): Deployment {
    return this.deployment;
  }

  async to(wanted: Shape, options: FormationOptions = {}): Promise<void> {
    this.deployment = await this.sandbox.host.resize(this.deployment, wanted, options, never);
  }

  /** What verification finds wrong, and how far apart the largest and the smallest share of slots are. */
  async faults(): Promise<string[]> {
    const { verdict } = await verify(this.deployment);
    const sizes = verdict.shards.map(({ slots }) => countSlots(slots));
    const uneven = Math.max(...sizes) - Math.min(...sizes) > 1 ? [`shares of ${sizes.join(", ")} slots`] : [];
    return [...verdict.assertions.flatMap(({ id, pass, found }) => (pass ? [] : [`${id}: ${found}`])), ...uneven];
  }

  close(): Promise<void> {
    return this.sandbox.close();
  }
}

describe.each([
  ["with atomic slot migration", () => realPrograms()],
  ...(older === undefined ? [] : [["key by key", () => Promise.resolve(older)] as const]),
] as const)("resizing %s", (_way, programs) => {
  let resizing: Resizing;
  beforeAll(async () => { resizing = await Resizing.begin(await programs()); });
  afterAll(() => resizing.close());

  it("grows and shrinks in primaries and replicas while clients work: nothing fails, no key is lost", async () => {
    const clients = new Clients(resizing.now);
    for (const wanted of [shape(4, 1), shape(5, 1), shape(3, 1), shape(3, 2), shape(3, 1)]) {
      await resizing.to(wanted);
      expect(await resizing.faults()).toEqual([]);
    }
    expect(await clients.stop()).toEqual([]);
    expect(clients.errors).toEqual([]);
    expect(clients.keys).toBeGreaterThan(1000);
  });
});
