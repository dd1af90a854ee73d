/** Which sets an archive may delete. */
import { expect, it } from "vitest";
import { temporaryDirectory } from "../../support/directory";
import type { Catalog, CatalogPeriod, CatalogSet } from "../../../backup/archive/catalog";
import { commonSpans, spansOf } from "../../../backup/archive/catalog";
import { type Proof, readLastProof, recordProof } from "../../../backup/archive/keeping/proofs";
import { type RetentionLedger, markEnded, obsoleteSets } from "../../../backup/archive/keeping/retention";
import { DirectoryStore } from "../../../backup/archive/store";

/** A set with instants every second from a time until a time, seconds. */
function set(from: number, to: number, damage?: string): CatalogSet {
  const instants = Array.from({ length: to - from + 1 }, (_, index): [number, number] => [
    (from + index) * 1000,
    from + index,
  ]);
  const base = { startedAt: from * 1000, size: 1, replid: "a" };
  return {
    replid: "a",
    spans: spansOf(instants),
    bytes: 1,
    set: { name: `set-${from}`, base, damage } as unknown as CatalogSet["set"],
  };
}

function period(name: string, ...sets: readonly CatalogSet[]): CatalogPeriod {
  const shard = { name: "shard-0", slots: undefined };
  return {
    period: { version: 1, name, startedAt: 0, endedAt: undefined, shards: [shard] },
    shards: [{ ...shard, store: new DirectoryStore("none"), sets }],
    spans: commonSpans([sets.flatMap(({ spans }) => spans)]),
  };
}

const OWNER = { deployment: "shop", mode: "replication" as const, nodes: [] };
const NEW: RetentionLedger = { countedMs: 0, ended: {} };
/** The sets that are deleted if `keepMs` is 10,000 and the sets were first seen to have ended some time ago. */
const obsolete = (countedMs: number, periods: readonly CatalogPeriod[], proven?: [string, string]): string[] => {
  const catalog: Catalog = { place: new DirectoryStore("none"), owner: OWNER, periods, damaged: [] };
  const shards = proven === undefined ? [] : [{ shard: "shard-0", set: proven[1], instant: 0 }];
  const proof: Proof | undefined =
    proven === undefined ? undefined : { provenAt: 0, period: proven[0], keys: 1, shards };
  const { ended } = markEnded(catalog, NEW);
  return obsoleteSets(catalog, proof, { countedMs, ended }, 10_000).map((each) => `${each.period}/${each.set}`);
};
const THREE = period("p", set(0, 11), set(10, 21), set(20, 30));

it("deletes whole sets that ended before the kept time, oldest first", () => {
  expect(obsolete(10_000, [THREE])).toEqual([]);
  expect(obsolete(10_001, [THREE])).toEqual(["p/set-0", "p/set-10"]);
});

it("counts from the time at which a set was first seen to have ended, and again if it got data since", () => {
  const marked = markEnded({ periods: [THREE] }, { ...NEW, countedMs: 5 });
  expect(Object.entries(marked.ended).map(([name, { at }]) => [name, at])).toEqual([
    ["p/shard-0/set-0", 5],
    ["p/shard-0/set-10", 5],
  ]);
  const live = new Set(["p/shard-0/set-0"]);
  expect(Object.keys(markEnded({ periods: [THREE] }, { ...marked, countedMs: 9 }, live).ended)).toEqual([
    "p/shard-0/set-10",
  ]);
  const grown = period("p", set(0, 12), set(10, 21), set(20, 30));
  expect(Object.values(markEnded({ periods: [grown] }, { ...marked, countedMs: 9 }).ended).map(({ at }) => at)).toEqual(
    [9, 5],
  );
});

it("takes the last proof whose sets exist, and none of a damaged record", async () => {
  const store = new DirectoryStore(temporaryDirectory());
  const proof = (provenAt: number, name: string): Proof => ({
    provenAt,
    period: "p",
    keys: 1,
    shards: [{ shard: "shard-0", set: name, instant: 0 }],
  });
  await recordProof(store, proof(1000, "set-0"));
  await recordProof(store, proof(2000, "gone"));
  await store.put("proofs/19700101T000003000Z.json", [Buffer.from("{")]);
  expect(await readLastProof(store, new Set(["p/shard-0/set-0"]))).toMatchObject({ provenAt: 1000 });
  expect(await readLastProof(store, new Set())).toBeUndefined();
});

it("keeps the sets of the last proof, and the last whole set however old it is", () => {
  expect(obsolete(10 ** 9, [THREE], ["p", "set-0"])).toEqual(["p/set-10"]);
  const begun: CatalogSet = { ...set(40, 40), spans: [] };
  expect(obsolete(10 ** 9, [period("p", set(0, 11), set(10, 21), begun)])).toEqual(["p/set-0"]);
});

it("deletes sets of earlier periods, but not those that the last time needs", () => {
  expect(obsolete(10 ** 9, [period("o", set(0, 5)), THREE])).toEqual(["o/set-0", "p/set-0", "p/set-10"]);
  expect(obsolete(10 ** 9, [period("o", set(0, 5)), period("p")])).toEqual([]);
});

it("does not delete damaged sets, and nothing while nothing can be restored", () => {
  expect(obsolete(10 ** 9, [period("p", set(0, 11, "lacks a file"), set(10, 21))])).toEqual([]);
  expect(obsolete(10 ** 9, [period("p", { ...set(0, 5), spans: [] }, { ...set(6, 9), spans: [] })])).toEqual([]);
});
