/** Order of restarts in replication without Sentinels. */
import { describe, expect, it } from "vitest";
import { nextRestart } from "../../../operations/changes/primary-moves";

const ready = (...names: string[]): { name: string; ready: boolean }[] => names.map((name) => ({ name, ready: true }));
const DB = { running: ["db-0", "db-1", "db-2"], primary: "db-0", designated: "db-0" };

describe("nextRestart", () => {
  it("restarts a replica before the primary", () => {
    expect(nextRestart({ ...DB, outdated: ready("db-0", "db-1") })).toEqual({ pod: "db-1" });
  });

  it("restarts a pod that is not ready first", () => {
    const outdated = [...ready("db-0", "db-1"), { name: "db-2", ready: false }];
    expect(nextRestart({ ...DB, outdated })).toEqual({ pod: "db-2" });
  });

  it("lets an updated server take over before the primary restarts", () => {
    expect(nextRestart({ ...DB, outdated: ready("db-0") })).toEqual({ pod: "db-0", successor: "db-1" });
  });

  it("restarts the primary without a successor if no updated server runs", () => {
    const only = { running: ["db-0"], outdated: ready("db-0") };
    expect(nextRestart({ ...DB, ...only })).toEqual({ pod: "db-0", successor: undefined });
  });

  it("waits while no server is the primary", () => {
    expect(nextRestart({ ...DB, primary: undefined, outdated: ready("db-1") })).toEqual({});
  });

  it("restarts the designated pod that is not ready only as the last pod", () => {
    const broken = { name: "db-0", ready: false };
    const none = { ...DB, primary: undefined };
    expect(nextRestart({ ...none, outdated: [broken, ...ready("db-1")] })).toEqual({});
    expect(nextRestart({ ...none, outdated: [broken] })).toEqual({ pod: "db-0" });
  });
});
