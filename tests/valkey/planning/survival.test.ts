import { describe, expect, it } from "vitest";
import type { Loss, SurvivalSubject } from "../../../valkey/planning/survival";
import { describeSurvival, survivals, survivalWarning } from "../../../valkey/planning/survival";

const cluster: SurvivalSubject = {
  asksBeforeStart: true,
  mode: "cluster",
  shape: { primaries: 3, replicasPerPrimary: 1 },
  settings: { "cluster-node-timeout": 5000 },
  zones: 3,
  oneMachine: false,
  ephemeral: false,
};
const replication: SurvivalSubject = {
  ...cluster,
  mode: "replication",
  shape: { primaries: 1, replicasPerPrimary: 2 },
};
const losses = (subject: SurvivalSubject): Loss[] => survivals(subject).map(({ loss }) => loss);
const warning = (subject: SurvivalSubject): string | undefined => survivalWarning(survivals(subject));
const cache = { save: "" };

describe("what a configuration survives", () => {
  it.each<[string, SurvivalSubject, Loss[]]>([
    // process, machine, zone, all pods, volume
    ["a cluster", cluster, ["unreplicated", "unreplicated", "unreplicated", "since-snapshot", "unreplicated"]],
    [
      "a cluster with an append-only file",
      { ...cluster, settings: { appendonly: true } },
      ["unreplicated", "unreplicated", "unreplicated", "none", "unreplicated"],
    ],
    [
      "a cluster that keeps nothing on disk",
      { ...cluster, settings: cache, ephemeral: true },
      ["unreplicated", "unreplicated", "unreplicated", "everything", "unreplicated"],
    ],
    [
      "a cluster of Redis, whose starts ask nobody",
      { ...cluster, asksBeforeStart: false },
      ["since-snapshot", "unreplicated", "unreplicated", "since-snapshot", "unreplicated"],
    ],
    [
      "a cluster on one machine",
      { ...cluster, oneMachine: true, zones: 1 },
      ["unreplicated", "since-snapshot", "since-snapshot", "since-snapshot", "unreplicated"],
    ],
    [
      "shards without replicas",
      { ...cluster, shape: { primaries: 3, replicasPerPrimary: 0 } },
      ["since-snapshot", "since-snapshot", "since-snapshot", "since-snapshot", "shard"],
    ],
    [
      "shards without replicas that keep nothing",
      { ...cluster, shape: { primaries: 3, replicasPerPrimary: 0 }, settings: cache, ephemeral: true },
      ["shard", "shard", "shard", "everything", "shard"],
    ],
    ["replication", replication, ["unreplicated", "unreplicated", "unreplicated", "since-snapshot", "unreplicated"]],
    [
      "replication with an append-only file",
      { ...replication, settings: { appendonly: true } },
      ["unreplicated", "unreplicated", "unreplicated", "none", "unreplicated"],
    ],
    [
      "replication with an append-only file that is always synced",
      { ...replication, settings: { appendonly: true, appendfsync: "always" } },
      ["none", "none", "none", "none", "unreplicated"],
    ],
    [
      "replication without persistence",
      { ...replication, settings: cache },
      ["unreplicated", "unreplicated", "unreplicated", "everything", "unreplicated"],
    ],
    [
      "a single server without persistence",
      { ...replication, shape: { primaries: 1, replicasPerPrimary: 0 }, settings: cache },
      ["everything", "everything", "everything", "everything", "everything"],
    ],
    [
      "replication of Redis, whose starts ask nobody",
      { ...replication, asksBeforeStart: false },
      ["since-snapshot", "since-snapshot", "since-snapshot", "since-snapshot", "everything"],
    ],
    [
      "replication with Sentinels and without persistence",
      { ...replication, settings: cache, downAfterMs: 5000 },
      ["unreplicated", "unreplicated", "unreplicated", "everything", "unreplicated"],
    ],
  ])("of %s", (_what, subject, expected) => {
    expect(losses(subject)).toEqual(expected);
  });

  it("depends on a majority of primaries where a zone fails", () => {
    const zoneOf = (primaries: number, zones: number): string | undefined =>
      survivals({ ...cluster, shape: { primaries, replicasPerPrimary: 1 }, zones })[2]?.out;
    expect([zoneOf(3, 3), zoneOf(6, 3)]).toEqual(["about 7 s", "about 7 s"]);
    const none = "until the zone is back, because no majority of primaries is left";
    expect([zoneOf(3, 2), zoneOf(4, 2), zoneOf(4, 3)]).toEqual([none, none, none]);
  });

  it("is told in words, with a warning where everything is lost", () => {
    expect(survivals(cluster).map(describeSurvival)).toEqual([
      "if a server crashes: clients lose writes that no replica had received; clients cannot write for at most 3 s",
      "if a machine fails: clients lose writes that no replica had received; clients cannot write for about 7 s",
      "if a zone fails: clients lose writes that no replica had received; clients cannot write for about 7 s",
      "if all pods are killed at once: clients lose writes since the last snapshot; clients cannot write until servers have started and loaded their data",
      "if the volume of a primary is deleted: clients lose writes that no replica had received; clients cannot write for about 7 s",
    ]);
    expect(warning(cluster)).toBeUndefined();
    expect(warning({ ...replication, settings: cache, downAfterMs: 5000 })).toBe(
      "everything is lost if all pods are killed at once",
    );
  });
});
