/** Tests of resizes under clients, the same for both ways in which slots migrate. */
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Programs } from "../../../platforms/host/programs/programs";
import { form } from "../../../valkey/formation/form";
import { slotTags } from "../../../valkey/topology/slot-tags";
import { verify } from "../../../valkey/verification/verify";
import { Clients } from "./clients";
import { withNode } from "./real";
import { optionsInterruptedAt, ResizableCluster, shape } from "./resizable-cluster";

/** @param programs servers that migrate slots in that way; undefined skips the tests */
export function resizingTests(isAtomic: boolean, programs: () => Promise<Programs | undefined>): void {
  let resizing: ResizableCluster;
  let found: Programs | undefined;
  beforeAll(async () => {
    found = await programs();
    if (found !== undefined) resizing = await ResizableCluster.start(found);
  });
  afterAll(() => (found === undefined ? undefined : resizing.close()));
  const test = (title: string, run: () => Promise<void>): void => {
    it(title, async ({ skip }) => {
      if (found === undefined) skip("Debian's packages of Valkey 8.1 cannot be had here");
      await run();
    });
  };

  test("grows and shrinks in primaries and replicas while clients work: no command fails, no key is lost", async () => {
    const clients = new Clients(resizing.deployment);
    await expect(
      resizing.resizeTo(shape(4, isAtomic ? 1 : 0), optionsInterruptedAt(/migrated \d+ of/)),
    ).rejects.toThrow("interrupted");
    // (6, 0) makes primaries of replicas. Key by key there are fewer shapes, because it takes longer.
    for (const wanted of isAtomic
      ? [shape(4, 1), shape(5, 1), shape(3, 1), shape(3, 2), shape(6, 0), shape(3, 1)]
      : [shape(4, 0), shape(3, 1)]) {
      await resizing.resizeTo(wanted);
      expect(await resizing.violations()).toEqual([]);
    }
    expect(await clients.stop()).toEqual([]);
    expect(clients.errors).toEqual([]);
    expect(clients.keys).toBeGreaterThan(500);
  });

  test("changes nothing the second time: not a byte of any node's view", async () => {
    const before = await resizing.views();
    expect(await form(resizing.deployment, shape(3, 1))).toMatchObject({ changed: false });
    expect(await resizing.views()).toEqual(before);
  });

  test("ends migrations that were left open, whichever marks and keys they left on which side", async () => {
    const [a = "", b = ""] = await resizing.primaries();
    const { verdict } = await verify(resizing.deployment);
    const slot = verdict.shards[0]?.slots[0]?.from ?? 0;
    const id = (name: string): Promise<string> =>
      withNode(resizing.deployment, resizing.index(name), (connection) => connection.cluster("MYID"));
    const mark = (node: string, at: number, direction: string, peer: string): Promise<unknown> =>
      withNode(resizing.deployment, resizing.index(node), async (connection) =>
        connection.call("CLUSTER", "SETSLOT", at, direction, await id(peer)),
      );
    const key = (at: number, rest: string): string => `{${slotTags()[at] ?? ""}}${rest}`;
    const put = (at: number, rest: string): Promise<unknown> =>
      withNode(resizing.deployment, resizing.index(a), (connection) => connection.set(key(at, rest), rest));
    for (const at of [slot, slot + 1, slot + 2, slot + 3]) for (const rest of ["one", "two"]) await put(at, rest);
    // One key migrated, both sides marked; the same without the source's mark; only the source marked; only the target.
    for (const at of [slot, slot + 1]) {
      await mark(b, at, "IMPORTING", a);
      await mark(a, at, "MIGRATING", b);
      const { endpoint } = resizing.deployment.nodes[resizing.index(b)] ?? { endpoint: { host: "", port: 0 } };
      await withNode(resizing.deployment, resizing.index(a), (connection) =>
        connection.call(
          "MIGRATE",
          endpoint.host,
          endpoint.port,
          key(at, "one"),
          0,
          5000,
          "AUTH",
          resizing.deployment.access.password ?? "",
        ),
      );
    }
    await withNode(resizing.deployment, resizing.index(a), (connection) =>
      connection.call("CLUSTER", "SETSLOT", slot + 1, "STABLE"),
    );
    await mark(a, slot + 2, "MIGRATING", b);
    await mark(b, slot + 3, "IMPORTING", a);
    expect(await resizing.violations()).not.toEqual([]);

    expect(await form(resizing.deployment, shape(3, 1))).toMatchObject({ changed: true });
    expect(await resizing.violations()).toEqual([]);
    const clients = new Clients(resizing.deployment, 0);
    for (const at of [slot, slot + 1, slot + 2, slot + 3])
      for (const rest of ["one", "two"]) expect(await clients.get(key(at, rest))).toBe(rest);
    await clients.stop();
  });

  test("continues where a killed resize stopped, also when the next one undoes the first", async () => {
    const clients = new Clients(resizing.deployment);
    // Starts the servers, and is stopped before it adds them: another process does that.
    await expect(resizing.resizeTo(shape(4, 1), optionsInterruptedAt(/./))).rejects.toThrow("interrupted");
    const nodes = resizing.sandbox.host.nodes("cluster");
    expect(nodes).toHaveLength(8);
    expect(
      await resizing.resizeKilled(
        shape(4, 1),
        nodes,
        [],
        isAtomic ? /migrating slots:/ : /migrated [1-9]\d\d of \d+ slots/,
        10,
      ),
    ).toBe(true);
    if (isAtomic) {
      await resizing.resizeTo(shape(4, 1));
      expect(await resizing.violations()).toEqual([]);
      expect(await resizing.resizeKilled(shape(3, 1), nodes.slice(0, 6), nodes.slice(6), /migrating slots:/, 30)).toBe(
        true,
      );
      await resizing.resizeTo(shape(4, 1));
      expect(await resizing.violations()).toEqual([]);
      expect(await resizing.resizeKilled(shape(3, 1), nodes.slice(0, 6), nodes.slice(6), /removing nodes/, 0)).toBe(
        true,
      );
    }
    await resizing.resizeTo(shape(3, 1));
    expect(await resizing.violations()).toEqual([]);
    expect(await clients.stop()).toEqual([]);
    expect(clients.errors).toEqual([]);
  });
}
