/** Resizes of real clusters while clients write and read, in both ways in which slots migrate. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { form } from "../../../valkey/formation/form";
import { verify } from "../../../valkey/verification/verify";
import { slotTags } from "../../../valkey/topology/slot-tags";
import { Clients } from "../../support/valkey/clients";
import { callNode, clusterViews, olderPrograms, realPrograms } from "../../support/valkey/real";
import { ResizableCluster, shape } from "../../support/valkey/resizable-cluster";

describe.each([
  ["by atomic slot migration", realPrograms, true],
  ["key by key (Valkey 8.1)", olderPrograms, false],
] as const)("resizing %s", (_kind, find, isAtomic) => {
  const resizing = new ResizableCluster();
  let isFound = false;
  beforeAll(async () => {
    const programs = await find();
    isFound = programs !== undefined;
    if (isFound) await resizing.open({}, programs);
  });
  afterAll(() => resizing.close());
  const test = (title: string, run: () => Promise<void>): void => {
    it(title, async ({ skip }) => {
      if (!isFound) skip("Debian's packages of Valkey 8.1 cannot be had here");
      await run();
    });
  };

  test("grows and shrinks in primaries and replicas while clients work: no command fails, no key is lost", async () => {
    const clients = new Clients(resizing.deployment);
    await resizing.resizeInterrupted(shape(4, isAtomic ? 1 : 0), /migrated \d+ of/);
    // (6, 0) makes primaries of replicas. Key by key there are fewer shapes, because it takes longer.
    for (const wanted of isAtomic
      ? [shape(4, 1), shape(5, 1), shape(3, 2), shape(6, 0), shape(3, 1)]
      : [shape(4, 0), shape(3, 1)]) {
      await resizing.resizeTo(wanted);
      expect(await resizing.violations()).toEqual([]);
    }
    await clients.expectNothingLost();
    expect(clients.keys).toBeGreaterThan(500);
  });

  test("changes nothing the second time: not a byte of any node's view", async () => {
    const before = await clusterViews(resizing.deployment);
    expect(await form(resizing.deployment, shape(3, 1))).toMatchObject({ changed: false });
    expect(await clusterViews(resizing.deployment)).toEqual(before);
  });

  test("ends migrations that were left open, whichever marks and keys they left on which side", async () => {
    const { deployment } = resizing;
    const { shards } = (await verify(deployment)).verdict;
    const [a = 0, b = 0] = shards.map(({ primary = "" }) => resizing.index(primary));
    const slot = shards[0]?.slots[0]?.from ?? 0;
    const slots = [slot, slot + 1, slot + 2, slot + 3];
    const mark = async (node: number, at: number, state: "IMPORTING" | "MIGRATING"): Promise<unknown> =>
      resizing.mark(node, at, state, node === a ? b : a);
    const key = (at: number, rest: string): string => `{${slotTags()[at] ?? ""}}${rest}`;
    for (const at of slots)
      for (const rest of ["one", "two"]) await callNode(deployment, a, "SET", key(at, rest), rest);
    // One key migrated, both sides marked; the same without the source's mark; only the source marked; only the target.
    for (const at of slots.slice(0, 2)) {
      await mark(b, at, "IMPORTING");
      await mark(a, at, "MIGRATING");
      await resizing.moveKey(key(at, "one"), a, b);
    }
    await callNode(deployment, a, "CLUSTER", "SETSLOT", slot + 1, "STABLE");
    await mark(a, slot + 2, "MIGRATING");
    await mark(b, slot + 3, "IMPORTING");
    expect(await resizing.violations()).not.toEqual([]);

    expect(await form(deployment, shape(3, 1))).toMatchObject({ changed: true });
    expect(await resizing.violations()).toEqual([]);
    const clients = new Clients(deployment, 0);
    for (const at of slots) for (const rest of ["one", "two"]) expect(await clients.get(key(at, rest))).toBe(rest);
    await clients.stop();
  });

  test("continues where a killed resize stopped, also when the next one undoes the first", async () => {
    const clients = new Clients(resizing.deployment);
    // Starts the servers, and is stopped before it adds them: another process does that.
    await resizing.resizeInterrupted(shape(4, 1), /./);
    const nodes = resizing.sandbox.host.nodes("cluster");
    expect(nodes).toHaveLength(8);
    const kill = (wanted: "grow" | "shrink", when: RegExp, delayMs: number): Promise<boolean> =>
      wanted === "grow"
        ? resizing.resizeKilled(shape(4, 1), nodes, [], when, delayMs)
        : resizing.resizeKilled(shape(3, 1), nodes.slice(0, 6), nodes.slice(6), when, delayMs);
    expect(await kill("grow", isAtomic ? /migrating slots:/ : /migrated [1-9]\d\d of \d+ slots/, 10)).toBe(true);
    for (const [when, delayMs] of isAtomic
      ? ([
          [/migrating slots:/, 30],
          [/removing nodes/, 0],
        ] as const)
      : []) {
      await resizing.resizeTo(shape(4, 1));
      expect(await resizing.violations()).toEqual([]);
      expect(await kill("shrink", when, delayMs)).toBe(true);
    }
    await resizing.resizeTo(shape(3, 1));
    expect(await resizing.violations()).toEqual([]);
    await clients.expectNothingLost();
  });
});
