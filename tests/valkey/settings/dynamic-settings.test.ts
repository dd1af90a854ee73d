import { describe, expect, it } from "vitest";
import { describeSettingsChange, dynamicChanges, restartChanges } from "../../../valkey/settings/dynamic-settings";

const before = new Map([
  ["maxmemory", "100"],
  ["hz", "50"],
  ["io-threads", "2"],
  ["notify-keyspace-events", '"AKE"'],
]);
const after = new Map([
  ["maxmemory", "200"],
  ["io-threads", "4"],
  ["notify-keyspace-events", '"AKE"'],
  ["tcp-backlog", "600"],
]);

describe("a change of settings", () => {
  it("is set on running servers where they take it, also back to the default", () => {
    expect([...dynamicChanges(before, after)]).toEqual([
      ["maxmemory", "200"],
      ["hz", "10"],
    ]);
    expect(dynamicChanges(after, after).size).toBe(0);
  });

  it("restarts servers where they do not, and for words that only valkey.conf unquotes", () => {
    expect(restartChanges(before, after)).toEqual(["io-threads", "tcp-backlog"]);
    expect(restartChanges(before, new Map([...before, ["notify-keyspace-events", "KEA"]]))).toEqual([
      "notify-keyspace-events",
    ]);
  });

  it("is told in a sentence for each kind", () => {
    expect(describeSettingsChange(before, after, 3)).toEqual([
      "maxmemory 200, hz 10: set on 3 running nodes within seconds; no restart, no effect on clients",
      "io-threads, tcp-backlog: set by a restart of 3 nodes",
    ]);
    expect(describeSettingsChange(before, before, 3)).toEqual([]);
  });
});
