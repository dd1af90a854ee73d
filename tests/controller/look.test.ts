/** Lines of a look, by itself and after another one, and its metrics. */
import { describe, expect, it } from "vitest";
import { type AssertionLook, type Look, changesOf, failoversBetween, lookOf } from "../../controller/look";
import { LookMetrics } from "../../controller/metrics";
import type { Inspection } from "../../provider/updates/drift";
import { parseRange } from "../../valkey/topology/slots";

const assertion = (id: string, holds: boolean, found = "as it should be", ...nodes: string[]): AssertionLook => ({
  ...{ id, holds, found, nodes },
});
const look = (at: string, assertions: readonly AssertionLook[], more: Partial<Look> = {}): Look => {
  const pass = assertions.every(({ holds }) => holds);
  const time = `2026-11-27T12:00:${at}.000Z`;
  return {
    deployment: "orders",
    at: time,
    seconds: 0.25,
    pass,
    since: time,
    assertions,
    remarks: [],
    primaries: {},
    ...more,
  };
};
const GOOD = [assertion("reachable", true), assertion("links-up", true)];
const BAD = [assertion("reachable", true), assertion("links-up", false, "orders-1: its link is down")];

describe("a look", () => {
  it("says the verdict and everything that fails when it is the first", () => {
    expect(changesOf(undefined, look("00", GOOD))).toEqual(["orders: PASS — all 2 assertions hold"]);
    expect(changesOf(undefined, look("00", BAD))).toEqual([
      "orders: FAIL — 1 of 2 assertions do not hold",
      "orders: links-up: orders-1: its link is down",
    ]);
  });

  it("says nothing while nothing changes, even if the reason of a failure has other figures", () => {
    expect(changesOf(look("00", GOOD), look("30", GOOD))).toEqual([]);
    const later = [assertion("reachable", true), assertion("links-up", false, "orders-1: its link is down for 31 s")];
    expect(changesOf(look("00", BAD), look("30", later))).toEqual([]);
  });

  it("says once that a node cannot be reached, and names the assertions that fail only for that", () => {
    const unreached = [
      assertion("reachable", false, "orders-2 cannot be reached", "orders-2"),
      assertion("replicas", false, "1 replica"),
      assertion("links-up", false, "orders-2: unknown", "orders-2"),
      assertion("read-only", false, "orders-2: unknown", "orders-2"),
    ];
    expect(changesOf(undefined, look("00", unreached))).toEqual([
      "orders: FAIL — 4 of 4 assertions do not hold",
      "orders: reachable: orders-2 cannot be reached",
      "orders: replicas: 1 replica",
      "orders: these assertions fail because of nodes that cannot be reached: links-up, read-only",
    ]);
  });

  it("says what holds again, and how long the former verdict lasted", () => {
    const failing = look("10", BAD, { since: "2026-11-27T11:59:08.000Z" });
    expect(changesOf(failing, look("10", GOOD))).toEqual([
      "orders: PASS — all 2 assertions hold, after 1m 02s of FAIL",
      "orders: these assertions hold again: links-up",
    ]);
  });

  it("does not say that vanished keys are back", () => {
    const lost = [assertion("reachable", true), assertion("data-kept", false, "5 keys have vanished")];
    const later = [assertion("reachable", true), assertion("data-kept", true)];
    expect(changesOf(look("00", lost), look("30", later))).toEqual([
      "orders: PASS — all 2 assertions hold, after 30s of FAIL",
      expect.stringMatching(/^orders: data-kept: the keys that vanished are still lost; /),
    ]);
  });

  it("names each primary that took over, and counts them", () => {
    const before = look("00", GOOD, { primaries: { "0-8191": "orders-0", "8192-16383": "orders-1" } });
    const after = look("30", GOOD, { primaries: { "0-8191": "orders-3", "8192-16383": "orders-1" } });
    expect(changesOf(before, after)).toEqual(["orders: orders-3 took over from orders-0 (slots 0-8191)"]);
    expect(failoversBetween(undefined, after)).toEqual([]);
    const single = [
      look("00", GOOD, { primaries: { "": "orders-0" } }),
      look("30", GOOD, { primaries: { "": "orders-1" } }),
    ];
    expect(changesOf(single[0], single[1] ?? after)).toEqual(["orders: orders-1 took over from orders-0"]);
  });

  it("says that a primary has started again, and that it was a replica between two looks", () => {
    const stream = { runId: "run-1", replicationId: "stream-1", continues: false };
    const at = (changes: Partial<typeof stream>): Look =>
      look("00", GOOD, { primaries: { "0-8191": "orders-0" }, streams: { "orders-0": { ...stream, ...changes } } });
    expect(changesOf(at({}), at({ runId: "run-2", replicationId: "stream-2" }))).toEqual([
      "orders: orders-0 has started again, and is the primary (slots 0-8191)",
    ]);
    expect(changesOf(at({}), at({ replicationId: "stream-3", continues: true }))).toEqual([
      "orders: a different node took over from orders-0 (slots 0-8191)",
      "orders: orders-0 took over again (slots 0-8191)",
    ]);
    // A primary without replicas begins a new stream after an hour.
    expect(changesOf(at({}), at({ replicationId: "stream-2" }))).toEqual([]);
  });

  it("says that a further node cannot be reached, and that one replies again, while the verdict stays", () => {
    const unreached = (...nodes: string[]): AssertionLook[] => [
      assertion("reachable", false, `${nodes.join(", ")}: no reply after 31 s`, ...nodes),
      assertion("one-owner", false, `no node serves 0-${nodes.length}00`),
    ];
    const [one, two] = [look("00", unreached("orders-2")), look("30", unreached("orders-2", "orders-5"))];
    expect(changesOf(one, two)).toEqual([
      "orders: reachable: orders-2, orders-5: no reply after 31 s",
      "orders: one-owner: no node serves 0-200",
    ]);
    expect(changesOf(two, one)).toContain("orders: these nodes reply again: orders-5");
  });

  it("says a remark about a deployment that passes once", () => {
    const remarks = ["2 of 3 primaries are in zone a, so orders-3 must take over from orders-0"];
    const first = look("00", GOOD, { remarks });
    expect(changesOf(undefined, first)).toEqual(["orders: PASS — all 2 assertions hold", `orders: ${remarks[0]}`]);
    expect(changesOf(first, look("30", GOOD, { remarks }))).toEqual([]);
  });

  it("fails with the reason if no node could be reached", () => {
    const inspection = { verification: undefined, drift: ["the API server does not answer"] };
    const found = lookOf("orders", inspection, { at: new Date(0), seconds: 15, former: undefined });
    expect(found).toMatchObject({ pass: false, since: "1970-01-01T00:00:00.000Z", primaries: {}, remarks: [] });
    expect(found.assertions).toEqual([assertion("reachable", false, "the API server does not answer")]);
    expect(lookOf("orders", inspection, { at: new Date(9000), seconds: 15, former: found }).since).toBe(found.at);
  });
});

describe("the last known primary of each range of slots", () => {
  type Found = readonly (readonly [slots: string, primary: string | undefined])[];
  const after = (mode: "cluster" | "replication", ...founds: readonly Found[]): string[] => {
    let former: Look | undefined;
    return founds.flatMap((found) => {
      const shards = found.map(([slots, primary]) => ({
        ...{ primary, replicas: [], slots: slots === "" ? [] : slots.split(" ").map(parseRange) },
      }));
      const verdict = { mode, pass: true, assertions: GOOD, shards };
      const inspection = { verification: { facts: { nodes: [] }, verdict }, drift: [] } as unknown as Inspection;
      const next = lookOf("orders", inspection, { at: new Date(0), seconds: 1, former });
      const failovers = failoversBetween(former, next);
      former = next;
      return failovers;
    });
  };

  it.each<[string, "cluster" | "replication", readonly Found[], string[]]>([
    [
      "survives looks in which no primary serves them",
      "cluster",
      [[["0-99", "a"]], [], [["0-99", undefined]], [["0-99", "b"]]],
      ["b took over from a (slots 0-99)"],
    ],
    ["survives looks without a primary", "replication", [[["", "a"]], [], [["", "b"]]], ["b took over from a"]],
    [
      "is not known while two nodes claim to be it",
      "replication",
      [
        [["", "a"]],
        [
          ["", "a"],
          ["", "b"],
        ],
        [["", "a"]],
      ],
      [],
    ],
    [
      "is not known while two nodes claim the slots",
      "cluster",
      [
        [["0-99", "a"]],
        [
          ["0-99", "a"],
          ["0-99", "b"],
        ],
        [["0-99", "b"]],
      ],
      ["b took over from a (slots 0-99)"],
    ],
    ["is forgotten when the slots move", "cluster", [[["0-99", "a"]], [["0-49", "a"]], [["0-99", "b"]]], []],
    ["has slots", "cluster", [[["", "a"]], [["", "b"]]], []],
  ])("%s (%s)", (_what, mode, founds, failovers) => {
    expect(after(mode, ...founds)).toEqual(failovers);
  });
});

describe("metrics of looks", () => {
  it("are the last look's, without assertions that it could not judge", async () => {
    const metrics = new LookMetrics();
    const first = look("00", GOOD, { primaries: { "": "orders-0" } });
    const second = look("30", [assertion("links-up", false)], { primaries: { "": "orders-1" } });
    metrics.record(first, undefined);
    metrics.record(second, first);
    const samples = (await metrics.text()).split("\n").filter((line) => !line.startsWith("#") && line !== "");
    expect(samples).toEqual([
      'valkey_verified{deployment="orders"} 0',
      'valkey_assertion_holds{deployment="orders",assertion="links-up"} 0',
      `valkey_last_look_timestamp_seconds{deployment="orders"} ${Date.parse(second.at) / 1000}`,
      'valkey_look_duration_seconds{deployment="orders"} 0.25',
      'valkey_failovers_total{deployment="orders"} 1',
    ]);
  });
});
