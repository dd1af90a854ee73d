/** A cluster with several databases (Valkey 9.0): slots move with the keys of all of them. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Connection } from "../../../valkey/connection";
import { openConnections } from "../../../valkey/connections";
import { readKeyCount } from "../../../valkey/databases";
import type { Deployment } from "../../../valkey/deployment";
import { Deadline } from "../../../valkey/membership/deadline";
import { form } from "../../../valkey/formation/form";
import { type Member, memberNamed, readMemberStates } from "../../../valkey/membership/members";
import { migrateKeyByKey } from "../../../valkey/resize/key-migration";
import type { MigrationContext } from "../../../valkey/resize/migration-context";
import { migrateSlots } from "../../../valkey/resize/slot-migration";
import { slotTags } from "../../../valkey/topology/slot-tags";
import { useSandbox } from "../../support/valkey/hooks";
import { withNode, callNode } from "../../support/valkey/real";
import { shape } from "../../support/valkey/resizable-cluster";

const DATABASES = 4;
const VALUES = ["one", "two", "three"];

const sandbox = useSandbox();
let deployment: Deployment;
let members: readonly Member[];
let connections: Map<unknown, Connection>;
beforeAll(async () => {
  deployment = await sandbox.formedCluster("databases", 3, 0, { "cluster-databases": DATABASES });
  const opened = await openConnections(deployment);
  connections = opened;
  ({ members } = await readMemberStates(opened));
});
afterAll(() => {
  for (const connection of connections.values()) connection.disconnect();
});

const context = (named = memberNamed(members)): MigrationContext => ({
  deployment,
  member: named,
  deadline: new Deadline("databases", 3, {}),
});
const nameOf = (index: number): string => deployment.nodes[index]?.name ?? "";
const key = (slot: number, rest: string): string => `{${slotTags()[slot] ?? ""}}${rest}`;
const inDatabase = <T>(node: number, database: number, use: (connection: Connection) => Promise<T>): Promise<T> =>
  withNode(deployment, node, async (connection) => {
    await connection.select(database);
    return use(connection);
  });

async function fill(node: number, slots: readonly number[], databases: readonly number[]): Promise<void> {
  for (const database of databases)
    await inDatabase(node, database, (connection) =>
      Promise.all(slots.flatMap((slot) => VALUES.map((value) => connection.set(key(slot, value), value)))),
    );
}

async function expectKeys(node: number, slots: readonly number[], databases: readonly number[]): Promise<void> {
  for (const database of databases)
    for (const slot of slots)
      expect(
        await inDatabase(node, database, (connection) =>
          Promise.all(VALUES.map((value) => connection.get(key(slot, value)))),
        ),
        `slot ${slot} in database ${database}`,
      ).toEqual(VALUES);
}

async function firstSlot(node: number): Promise<number> {
  const { states } = await readMemberStates(await sharedConnections());
  return states[node]?.view.topology.nodes.get(members[node]?.id ?? "")?.slots[0]?.from ?? -1;
}

const sharedConnections = (): Promise<ReadonlyMap<(typeof deployment.nodes)[number], Connection>> =>
  Promise.resolve(new Map(members.map(({ node, connection }) => [node, connection])));

describe("a cluster of several databases", () => {
  it("moves slots key by key with the keys of all databases", async () => {
    const first = await firstSlot(0);
    const slots = [first, first + 1, first + 2];
    await fill(0, slots, [0, 1, 3]);
    const migrations = slots.map((slot) => ({ slot, from: nameOf(0), to: nameOf(1) }));
    await migrateKeyByKey(migrations, context(), () => undefined);
    await expectKeys(1, slots, [0, 1, 3]);
    expect(await withNode(deployment, 0, readKeyCount)).toBe(0);
  });

  it("relies on servers that move no key between databases while its slot migrates", async () => {
    const slot = await firstSlot(0);
    await fill(0, [slot], [3]);
    const source = (words: readonly (string | number)[]): Promise<unknown> =>
      callNode(deployment, 0, "CLUSTER", "SETSLOT", slot, ...words);
    await source(["MIGRATING", members[1]?.id ?? ""]);
    try {
      await expect(inDatabase(0, 3, (client) => client.move(key(slot, "one"), 0))).rejects.toThrow("TRYAGAIN");
      const copy = inDatabase(0, 3, (client) => client.call("COPY", key(slot, "one"), key(slot, "one"), "DB", 0));
      await expect(copy).rejects.toThrow("TRYAGAIN");
    } finally {
      await source(["STABLE"]);
    }
    await inDatabase(0, 3, (client) => client.flushdb());
  });

  it("moves slots atomically with the keys of all databases", async () => {
    const first = await firstSlot(2);
    await fill(2, [first], [0, 1, 2, 3]);
    const ranges = [{ from: first, to: first }];
    expect(await migrateSlots([{ from: nameOf(2), to: nameOf(1), ranges }], () => 1, context())).toEqual([]);
    await expectKeys(1, [first], [0, 1, 2, 3]);
  });

  it("completes a migration that was left open with keys outside database 0 on the target", async () => {
    const slot = (await firstSlot(0)) + 100;
    await fill(0, [slot], [1, 2]);
    const [source, target] = [members[0], members[1]];
    if (source === undefined || target === undefined) throw new Error("there are no members");
    await target.connection.call("CLUSTER", "SETSLOT", slot, "IMPORTING", source.id);
    await source.connection.call("CLUSTER", "SETSLOT", slot, "MIGRATING", target.id);
    const { host, port } = target.node.endpoint;
    const password = deployment.access.password ?? "";
    await inDatabase(0, 1, (client) => client.call("MIGRATE", host, port, key(slot, "one"), 1, 5000, "AUTH", password));
    await form(deployment, shape(3, 0));
    const owner = (await Promise.all([0, 1, 2].map((node) => ownsSlot(node, slot)))).indexOf(true);
    await expectKeys(owner, [slot], [1, 2]);
  });

  it("refuses a target that lacks databases of the source, before anything changes", async () => {
    const few = await sandbox.cluster("few", 3, 0);
    const target = await few.connect(few.nodes[0] as (typeof few.nodes)[number]);
    try {
      const named = (name: string): Member =>
        name === "few-0"
          ? { node: few.nodes[0] as (typeof few.nodes)[number], connection: target, id: "x" }
          : memberNamed(members)(name);
      const migration = { slot: await firstSlot(0), from: nameOf(0), to: "few-0" };
      await expect(migrateKeyByKey([migration], context(named), () => undefined)).rejects.toThrow(
        "databases-0 has 4 databases (cluster-databases), but few-0 has 1",
      );
    } finally {
      target.disconnect();
    }
  });

  it("refuses to make a replica of a server whose only keys are outside database 0", async () => {
    const plain = await sandbox.replication("plain", 1);
    for (const index of [0, 1])
      await withNode(plain, index, async (connection) => {
        await connection.select(5);
        await connection.set("a", "1");
      });
    await expect(form(plain, shape(1, 1))).rejects.toThrow("would lose the 1 keys that it holds");
  });
});

async function ownsSlot(node: number, slot: number): Promise<boolean> {
  const { states } = await readMemberStates(await sharedConnections());
  const own = states[node]?.view.topology.nodes.get(members[node]?.id ?? "")?.slots ?? [];
  return own.some(({ from, to }) => from <= slot && slot <= to);
}
