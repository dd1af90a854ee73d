import { describe, expect, it } from "vitest";
import type { SurvivalSubject } from "../../../valkey/planning/survival";
import { describeSurvival, survivals, survivalWarning } from "../../../valkey/planning/survival";
import { expectReviewed } from "../../support/reviewed";

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
const warning = (subject: SurvivalSubject): string | undefined => survivalWarning(survivals(subject));
const cache = { save: "" };

describe("what a configuration survives", () => {
  it("is this, with a warning where everything is lost", async () => {
    const [aof, noShardReplicas] = [{ appendonly: true }, { primaries: 3, replicasPerPrimary: 0 }];
    const subjects: Readonly<Record<string, SurvivalSubject>> = {
      "a cluster": cluster,
      "a cluster with an append-only file": { ...cluster, settings: aof },
      "a cluster that keeps nothing on disk": { ...cluster, settings: cache, ephemeral: true },
      "a cluster of Redis, whose starts ask nobody": { ...cluster, asksBeforeStart: false },
      "a cluster on one machine": { ...cluster, oneMachine: true, zones: 1 },
      "shards without replicas": { ...cluster, shape: noShardReplicas },
      "shards without replicas that keep nothing": {
        ...{ ...cluster, shape: noShardReplicas, settings: cache, ephemeral: true },
      },
      replication,
      "replication with an append-only file": { ...replication, settings: aof },
      "replication with an append-only file that is always synced": {
        ...{ ...replication, settings: { ...aof, appendfsync: "always" } },
      },
      "replication without persistence": { ...replication, settings: cache },
      "a single server without persistence": {
        ...{ ...replication, shape: { primaries: 1, replicasPerPrimary: 0 }, settings: cache },
      },
      "replication of Redis, whose starts ask nobody": { ...replication, asksBeforeStart: false },
      "replication with Sentinels and without persistence": { ...replication, settings: cache, downAfterMs: 5000 },
    };
    const found = Object.entries(subjects).map(([what, subject]): [string, object] => [
      what,
      {
        losses: survivals(subject).map(({ event, loss }) => `${event}: ${loss}`),
        told: survivals(subject).map(describeSurvival),
        warning: warning(subject) ?? "none",
      },
    ]);
    await expectReviewed("valkey/survival", "What configurations survive.", found);
  });

  it("depends on a majority of primaries where a zone fails", () => {
    const zoneOf = (primaries: number, zones: number): string | undefined =>
      survivals({ ...cluster, shape: { primaries, replicasPerPrimary: 1 }, zones })[2]?.out;
    expect([zoneOf(3, 3), zoneOf(6, 3)]).toEqual(["about 7 s", "about 7 s"]);
    const none = "until the zone is back, because no majority of primaries is left";
    expect([zoneOf(3, 2), zoneOf(4, 2), zoneOf(4, 3)]).toEqual([none, none, none]);
  });
});
