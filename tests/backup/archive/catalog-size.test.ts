/** Catalogs of archives with many increments. */
import { expect, it } from "vitest";
import { chooseRestore, readCatalog, readRestore } from "../../../backup/archive/catalog";
import { markEnded, obsoleteSets } from "../../../backup/archive/keeping/retention";
import { incrementName } from "../../../backup/archive/increments";
import { writeManifest } from "../../../backup/archive/checked-file";
import type { BaseManifest } from "../../../backup/archive/manifests";
import { beginPeriod, claimArchive, shardStore } from "../../../backup/archive/periods";
import { NamedStore } from "../../support/valkey/named-store";

const [SHARDS, SETS, INCREMENTS] = [2, 4, 25_000];
const OWNER = { deployment: "shop", mode: "cluster" as const, nodes: ["10.0.0.1:6379"] };
/** Time between two increments, milliseconds. */
const STEP_MS = 500;
const SET_MS = INCREMENTS * STEP_MS;
const facts = { version: 1 as const, replid: "a".repeat(40), sha256: "b".repeat(64) };

const base = (number: number): BaseManifest => ({
  ...facts,
  size: 9,
  offset: 0,
  serverVersion: "9.1.2",
  format: "VALKEY 80",
  startedAt: number * SET_MS,
  keys: 1,
  database: 0,
});

async function archiveOfManyIncrements(): Promise<NamedStore> {
  const store = new NamedStore();
  await claimArchive(store, OWNER, "archive");
  const shards = ["0-8000", "8001-16383"].map((slots, index) => ({ name: `shard-${index}`, slots }));
  const period = await beginPeriod(store, { startedAt: 0, shards });
  for (const { name } of shards)
    for (let number = 0; number < SETS; number++) {
      const sets = shardStore(store, period, name);
      const set = `${new Date(number * SET_MS).toISOString().replaceAll(/[-:.]/g, "")}-0`;
      await sets.put(`${set}/base.rdb`, [Buffer.from("REDIS....")]);
      await writeManifest(sets, `${set}/base.json`, base(number));
      for (let from = 0; from < INCREMENTS; from++) {
        const instants: [number, number][] = [[number * SET_MS + from * STEP_MS, from + 1]];
        const increment = { ...facts, size: 1, from, to: from + 1, databaseBefore: 0, database: 0, instants };
        await sets.put(`${set}/${incrementName(increment)}`, []);
      }
    }
  return store;
}

/** The objects with offsets of increments that can be reached from a value. The store itself does not count. */
function incrementsIn(value: unknown, seen = new Set<unknown>()): number {
  if (typeof value !== "object" || value === null || seen.has(value) || value instanceof NamedStore) return 0;
  seen.add(value);
  const own = "databaseBefore" in value ? 1 : 0;
  return Object.values(value).reduce<number>((sum, each) => sum + incrementsIn(each, seen), own);
}

it(
  "holds no increment in the catalog, and in a restore those that it loads, without their instants",
  { timeout: 120_000 },
  async () => {
    const store = await archiveOfManyIncrements();
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    const catalog = await readCatalog(store);
    clearInterval(timer);
    // Other work has its turn while the names are read.
    expect(turns).toBeGreaterThan((SHARDS * SETS * INCREMENTS) / 10_000);
    expect(catalog.damaged).toEqual([]);
    const sets = catalog.periods[0]?.shards.flatMap((shard) => shard.sets) ?? [];
    expect(sets.map(({ bytes }) => bytes)).toEqual(Array.from({ length: SHARDS * SETS }, () => INCREMENTS + 9));
    expect(sets.map(({ spans }) => (spans.at(-1)?.to ?? 0) % SET_MS)).toEqual(sets.map(() => SET_MS - STEP_MS));
    expect(incrementsIn(catalog)).toBe(0);
    const { ended } = markEnded(catalog, { countedMs: 0, ended: {} });
    expect(obsoleteSets(catalog, undefined, { countedMs: 2, ended }, 1)).toHaveLength(SHARDS * (SETS - 1));
    const choice = chooseRestore(catalog, 2 * SET_MS + 10 * STEP_MS + 1);
    if (typeof choice === "string") throw new Error(choice);
    expect(incrementsIn(choice)).toBe(0);
    const restore = await readRestore(choice);
    expect(incrementsIn(restore)).toBe(SHARDS * 11);
    expect(restore.shards.flatMap(({ set }) => set.increments.flatMap(({ instants }) => instants))).toEqual([]);
    expect(restore.shards.map(({ point }) => point)).toEqual(
      restore.shards.map(() => ({ at: 2 * SET_MS + 10 * STEP_MS, offset: 11 })),
    );
  },
);
