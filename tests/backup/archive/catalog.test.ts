import { expect, it } from "vitest";
import type { Catalog, CatalogPeriod, CatalogSet, Span } from "../../../backup/archive/catalog";
import { chooseRestore, commonSpans, newerShards, spansOf, wholeMilliseconds } from "../../../backup/archive/catalog";
import { loadProblem } from "../../../backup/restoring/chosen-sets";
import { type ArchiveOwner, ownerProblem } from "../../../backup/archive/periods";
import { type RestorePoint, restorePoint } from "../../../backup/archive/materialize";
import { DirectoryStore } from "../../../backup/archive/store";
import { expectReviewed } from "../../support/reviewed";

const OWNER: ArchiveOwner = { deployment: "shop", mode: "cluster", nodes: ["10.0.0.1:6379"] };
const REPLID = "a".repeat(40);
const SHA256 = "b".repeat(64);

const instantsAt = (times: readonly number[]): [number, number][] => times.map((time, index) => [time, index]);

/** A set with an instant at each time, and an offset that is the time. */
const set = (name: string, ...times: readonly number[]): CatalogSet =>
  setOf(name, ...times.map((time): Instant => [time, time]));

type Instant = [time: number, offset: number];
/** A set with these instants. */
const setOf = (name: string, ...instants: Instant[]): CatalogSet => replicatedSet(name, REPLID, instants);

function replicatedSet(name: string, replid: string, instants: Instant[]): CatalogSet {
  const common = { version: 1 as const, replid: REPLID, sha256: SHA256 };
  return {
    spans: spansOf(instants),
    replid,
    bytes: 1,
    set: {
      name,
      base: {
        ...common,
        size: 1,
        replid,
        offset: 0,
        serverVersion: "9.1.2",
        format: "VALKEY 80",
        startedAt: 0,
        keys: 1,
        database: 0,
      },
    },
  };
}

function period(name: string, ...shards: readonly (readonly CatalogSet[])[]): CatalogPeriod {
  const named = shards.map((sets, index) => ({ name: `shard-${index}`, slots: String(index), sets }));
  return {
    period: { version: 1, name, startedAt: 0, endedAt: undefined, shards: named },
    shards: named.map((each) => ({ ...each, store: new DirectoryStore("none") })),
    spans: commonSpans(shards.map((sets) => sets.flatMap(({ spans }) => spans))),
  };
}

const PLACE = new DirectoryStore("none");
const catalog = (...periods: readonly CatalogPeriod[]): Catalog => ({
  ...{ place: PLACE, owner: OWNER, periods, damaged: [] },
});

it("has no time between instants with different data that are far apart", () => {
  expect(spansOf([])).toEqual([]);
  expect(
    spansOf([
      [1000.4, 5],
      [2000, 6],
      [90_000, 6],
      [100_000, 7],
      [104_999.7, 8],
    ]),
  ).toEqual([
    { from: 1000.4, to: 90_000, first: 5, last: 6 },
    { from: 100_000, to: 104_999.7, first: 7, last: 8 },
  ]);
});

it("shows the whole milliseconds of a time, and restores the last fraction of a millisecond", () => {
  expect(wholeMilliseconds({ from: 1000.4, to: 104_999.7 })).toEqual({ from: 1001, to: 104_999 });
  expect(wholeMilliseconds({ from: 1000.4, to: 1000.7 })).toEqual({ from: 1000, to: 1000 });
  const one = catalog(period("p", [set("a", 1000.2, 1100.7)]));
  const last = chooseRestore(one, undefined);
  expect(pointAt(instantsAt([1000.2, 1100.7]), typeof last === "string" ? 0 : last.at)).toEqual({
    at: 1100.7,
    offset: 1,
  });
  expect(chooseRestore(one, 1000)).toContain("are 1970-01-01T00:00:01.001Z after");
  expect(chooseRestore(one, 1101)).toContain("are 1970-01-01T00:00:01.100Z before");
  const single = chooseRestore(catalog(period("p", [set("a", 1000.5)])), undefined);
  expect(single).toMatchObject({ at: 1000.5 });
});

it("takes a last time that is not after a limit, as a restore that continues does", () => {
  const two = catalog(period("p", [set("a", 1000, 1100), set("b", 8000, 9000)]));
  const at = (notAfter: number): unknown => {
    const choice = chooseRestore(two, undefined, notAfter);
    return typeof choice === "string" ? choice : choice.at;
  };
  expect([at(20_000), at(8500), at(5000), at(1050)]).toEqual([9000, 8500, 1100, 1050]);
  expect(at(999)).toContain("cannot be restored; the nearest times");
});

it("names shards with data that are newer than the last time of all shards", () => {
  const stalled = catalog(
    period("p", [set("a", 1000, 1100), set("b", 70_000)], [set("a", 1000, 1100), set("b", 75_000)]),
  );
  const choice = chooseRestore(stalled, undefined);
  if (typeof choice === "string") throw new Error(choice);
  expect(choice.at).toBe(1100);
  expect(newerShards(stalled, choice)).toEqual([
    "shard-0 has data until 1970-01-01T00:01:10.000Z",
    "shard-1 has data until 1970-01-01T00:01:15.000Z",
  ]);
  expect(newerShards(catalog(period("p", [set("a", 1000, 5000)], [set("a", 1000, 1100)])), choice)).toEqual([]);
  expect(newerShards(stalled, choice, 60_000)).toEqual([]);
});

it("has the times before and after a clock was set back", () => {
  const instants: [number, number][] = [
    [10_000, 1],
    [20_000, 1],
    [12_000, 2],
    [13_000, 3],
    [14_000, 4],
  ];
  expect(spansOf(instants)).toEqual([
    { from: 10_000, to: 20_000, first: 1, last: 1 },
    { from: 12_000, to: 14_000, first: 2, last: 4 },
  ]);
  expect(pointAt(instants, 11_000)).toEqual({ at: 10_000, offset: 1 });
  expect(pointAt(instants, 13_500)).toEqual({ at: 13_000, offset: 3 });
  // The later instants end before this time.
  expect(pointAt(instants, 15_000)).toEqual({ at: 10_000, offset: 1 });
});

/** Set, time and offset of the last instant that a restore takes for each shard, or the reason why it takes none. */
const chosenIn = (periods: readonly CatalogPeriod[], at?: number): unknown => {
  const choice = chooseRestore(catalog(...periods), at);
  return typeof choice === "string" ? choice : choice.shards.map((shard) => [shard.set.name, choice.at, shard.last]);
};

it("takes the newest data by position, and refuses a time that it has twice, after a clock was set back", async () => {
  const back = setOf("a", [10_000, 1], [11_000, 2], [3000, 3], [4000, 4]);
  const before = setOf("a", [10_000, 1], [11_000, 2]);
  const after = setOf("b", [3000, 2], [4000, 4]);
  const anew = replicatedSet("c", "c".repeat(40), [
    [3000, 0],
    [4000, 1],
  ]);
  const other = setOf("z", [10_000, 1], [11_000, 1], [3100, 2], [3900, 9]);
  const twice = [period("p", [setOf("a", [10_000, 1], [14_000, 2], [3000, 3], [7000, 4], [11_000, 5])])];
  const [early, late] = [setOf("a", [10_000, 1], [19_000, 1]), setOf("b", [3000, 2], [17_000, 2])];
  const [old, next] = [setOf("a", [10_000, 1], [14_000, 2], [19_000, 5]), setOf("b", [11_000, 2], [15_000, 4])];
  const slow = [setOf("a", [10_000, 1], [11_000, 5]), setOf("b", [10_500, 3], [10_900, 4])];
  await expectReviewed("backup/set-back-clocks", "Sets that a restore takes: name, time and offset.", {
    "in one set": chosenIn([period("p", [back])]),
    "between two sets": chosenIn([period("p", [before, after])]),
    "between two periods": chosenIn([period("p", [before]), period("q", [after])]),
    "with a server that began anew, with a new replication ID": chosenIn([period("p", [before, anew])]),
    "with a new set of a schedule that has not come as far as the old one": chosenIn([period("p", slow)]),
    "in two shards": chosenIn([period("p", [back], [other])]),
    "a time that is there twice": chosenIn(twice, 10_500),
    "a time that is there once, before": chosenIn(twice, 12_000),
    "a time that is there once, after": chosenIn(twice, 5000),
    "a time that two sets have": chosenIn([period("p", [early, late])], 11_000),
    "a time that two periods have": chosenIn([period("p", [early]), period("q", [late])], 11_000),
    "a time of two sets that were written at once": chosenIn([period("p", [old, next])], 14_500),
  });
  // A shard without data since the clock was set back.
  const found = catalog(period("p", [back], [setOf("z", [10_000, 1], [110_000, 1])]));
  expect(newerShards(found, chooseRestore(found, undefined) as never)).toEqual([
    "shard-1 has data until 1970-01-01T00:01:50.000Z",
  ]);
});

it("finds the times of all shards", () => {
  const span = (from: number, to: number): Span => ({ from, to });
  expect(commonSpans([[span(1, 5), span(8, 20)], [span(3, 10)], [span(0, 4), span(9, 30)]])).toEqual([
    span(3, 4),
    span(9, 10),
  ]);
  expect(commonSpans([[span(1, 5)], []])).toEqual([]);
});

it("chooses the last set of each shard that has the time", () => {
  const two = period("p", [set("a", 1000, 2000, 3000)], [set("b", 1500, 2500), set("c", 2600, 2900)]);
  const chosen = (at: number | undefined): unknown => {
    const choice = chooseRestore(catalog(two), at);
    return typeof choice === "string" ? choice : [choice.at, ...choice.shards.map((shard) => shard.set.name)];
  };
  expect(chosen(2700)).toEqual([2700, "a", "c"]);
  expect(chosen(2000)).toEqual([2000, "a", "b"]);
  expect(chosen(undefined)).toEqual([2900, "a", "c"]);
});

/** The state of a set with instants, for a time. */
function pointAt(instants: [number, number][], at: number): RestorePoint {
  const increment = { version: 1 as const, replid: REPLID, sha256: SHA256, size: 9, from: 0, to: 9 };
  return restorePoint({ name: "a", increments: [{ ...increment, databaseBefore: 0, database: 0, instants }] }, at);
}

it("restores the last instant that is not after the time", () => {
  const instants = instantsAt([1000, 2000, 3000]);
  expect(pointAt(instants, 2700)).toEqual({ at: 2000, offset: 1 });
  expect(pointAt(instants, 3000)).toEqual({ at: 3000, offset: 2 });
  expect(() => pointAt(instants, 999)).toThrow(/00\.999Z is before its first instant, .*01\.000Z/);
  expect(() => pointAt([...instants, [90_000, 3]], 50_000)).toThrow(/between its instants .*03\.000Z and .*30\.000Z/);
  expect(() => pointAt(instants, 3001)).toThrow(/03\.001Z is after its last instant, .*03\.000Z/);
});

it("names the nearest two times for a time that cannot be restored", () => {
  const two = catalog(period("p", [set("a", 1000, 2000)]), period("q", [set("b", 9000, 9500)]));
  const text = (at: number): unknown => chooseRestore(two, at);
  expect(text(5000)).toBe(
    "1970-01-01T00:00:05.000Z cannot be restored; the nearest times that can be restored are " +
      "1970-01-01T00:00:02.000Z before it and 1970-01-01T00:00:09.000Z after it",
  );
  expect(text(10)).toContain("are 1970-01-01T00:00:01.000Z after it");
  expect(text(10_000)).toContain("are 1970-01-01T00:00:09.500Z before it");
  expect(chooseRestore(catalog(period("p", [])), 5)).toContain("no set can be restored yet");
});

it("knows its deployment by name, mode and a node", () => {
  expect(ownerProblem(OWNER, { ...OWNER, nodes: ["10.0.0.9:6379", ...OWNER.nodes] })).toBeUndefined();
  for (const other of [{ nodes: ["10.0.0.9:6379"] }, { deployment: "cart" }, { mode: "replication" as const }])
    expect(ownerProblem(OWNER, { ...OWNER, ...other })).toContain("different deployment: shop, cluster mode");
});

it("says which version can load a set", () => {
  const problem = (format: string, serverVersion: string, version: string): string | undefined =>
    loadProblem({ format, serverVersion }, version);
  expect(problem("VALKEY 80", "9.1.2", "9.1.0")).toBeUndefined();
  expect(problem("REDIS 11", "8.1.1", "9.1.0")).toBeUndefined();
  expect(problem("REDIS 10", "7.0.15", "8.1.1")).toBeUndefined();
  expect(problem("VALKEY 80", "9.0.1", "8.1.1")).toMatch(/9\.0\.1 wrote it.*8\.1\.1 .* set VALKEY_HOME/);
  expect(problem("REDIS 12", "8.0.0", "9.1.0")).toMatch(/does not load/);
});
