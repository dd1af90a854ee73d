/** Lines of a look, by itself and after another one, and its metrics. */
import { describe, expect, it } from "vitest";
import {
  type AssertionLook,
  type Look,
  changesOf,
  failoversBetween,
  lookOf,
} from "../../../operations/inspection/look";
import { LookMetrics } from "../../../operations/inspection/metrics";
import type { Inspection } from "../../../operations/inspection/drift";
import { parseRange } from "../../../valkey/topology/slots";
import { expectReviewed } from "../../support/reviewed";

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

const UNREACHED = [
  assertion("reachable", false, "orders-2 cannot be reached", "orders-2"),
  assertion("replicas", false, "1 replica"),
  assertion("links-up", false, "orders-2: unknown", "orders-2"),
  assertion("read-only", false, "orders-2: unknown", "orders-2"),
];
const LOST = [assertion("reachable", true), assertion("data-kept", false, "5 keys have vanished")];
const primariesAt = (at: string, primaries: Look["primaries"]): Look => look(at, GOOD, { primaries });
const STREAM = { runId: "run-1", replicationId: "stream-1", former: "" };
/** A look at a primary with this stream of changes. */
const streaming = (changes: Partial<typeof STREAM> = {}): Look =>
  look("00", GOOD, { primaries: { "0-8191": "orders-0" }, streams: { "orders-0": { ...STREAM, ...changes } } });
/** A look that does not reach these nodes. */
const without = (at: string, ...nodes: string[]): Look =>
  look(at, [
    assertion("reachable", false, `${nodes.join(", ")}: no reply after 31 s`, ...nodes),
    assertion("one-owner", false, `no node serves 0-${nodes.length}00`),
  ]);
const remarks = ["2 of 3 primaries are in zone a, so orders-3 must take over from orders-0"];

/** Two looks in succession, by what the second one says. */
const LOOKS: Readonly<Record<string, readonly [Look | undefined, Look]>> = {
  "the verdict, in the first look": [undefined, look("00", GOOD)],
  "everything that fails, in the first look": [undefined, look("00", BAD)],
  "nothing, while nothing changes": [look("00", GOOD), look("30", GOOD)],
  "nothing, while the reason of a failure has other figures": [
    look("00", BAD),
    look("30", [assertion("reachable", true), assertion("links-up", false, "orders-1: its link is down for 31 s")]),
  ],
  "that a node cannot be reached, with the assertions that fail only for that": [
    undefined,
    look("00", UNREACHED, { follows: ["replicas", "links-up", "read-only"] }),
  ],
  "what still fails when the node replies again": [
    look("00", UNREACHED, { follows: ["replicas", "links-up", "read-only"] }),
    look("30", [assertion("reachable", true), assertion("replicas", false, "1 replica")]),
  ],
  "what holds again, and how long the former verdict lasted": [
    look("10", BAD, { since: "2026-11-27T11:59:08.000Z" }),
    look("10", GOOD),
  ],
  "that vanished keys are not back": [
    look("00", LOST),
    look("30", [assertion("reachable", true), assertion("data-kept", true)]),
  ],
  "each primary that took over": [
    primariesAt("00", { "0-8191": "orders-0", "8192-16383": "orders-1" }),
    primariesAt("30", { "0-8191": "orders-3", "8192-16383": "orders-1" }),
  ],
  "the primary that took over in replication": [
    primariesAt("00", { "": "orders-0" }),
    primariesAt("30", { "": "orders-1" }),
  ],
  "the primary that took over while slots moved": [
    streaming(),
    look("30", GOOD, {
      primaries: { "0-4095": "orders-3", "4096-8191": "orders-6" },
      streams: {
        "orders-0": STREAM,
        "orders-3": { ...STREAM, runId: "run-3", replicationId: "stream-3", former: "stream-1" },
        "orders-6": { ...STREAM, runId: "run-6", replicationId: "stream-6" },
      },
    }),
  ],
  "nothing, when a replica gets slots of its own while its primary stays": [
    streaming(),
    look("30", GOOD, {
      primaries: { "0-4095": "orders-0", "4096-8191": "orders-3" },
      streams: {
        "orders-0": STREAM,
        "orders-3": { ...STREAM, runId: "run-3", replicationId: "stream-3", former: "stream-1" },
      },
    }),
  ],
  "that a primary has started again": [streaming(), streaming({ runId: "run-2", replicationId: "stream-2" })],
  "that a primary was a replica in between": [
    streaming(),
    streaming({ replicationId: "stream-3", former: "stream-2" }),
  ],
  "nothing, when a primary without replicas begins a new stream after an hour": [
    streaming(),
    streaming({ replicationId: "stream-2" }),
  ],
  "that a further node cannot be reached": [without("00", "orders-2"), without("30", "orders-2", "orders-5")],
  "that a node replies again, while the verdict stays": [
    without("30", "orders-2", "orders-5"),
    without("00", "orders-2"),
  ],
  "a remark about a deployment that passes": [undefined, look("00", GOOD, { remarks })],
  "the remark only once": [look("00", GOOD, { remarks }), look("30", GOOD, { remarks })],
};

describe("a look", () => {
  it("says what has changed", async () => {
    const said = Object.entries(LOOKS).map(([what, [before, after]]) => [what, changesOf(before, after)] as const);
    for (const [what, lines] of said) expect(lines.length === 0, what).toBe(/^nothing|once$/.test(what));
    expect(failoversBetween(undefined, look("00", GOOD, { primaries: { "": "orders-0" } }))).toEqual([]);
    await expectReviewed("operations/looks", "What looks of a controller say.", said);
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
