/** Faults in a cluster of real servers while a client writes; short scenarios. */
import { beforeAll, describe, expect, it } from "vitest";
import type { FaultSubject } from "../../../faults/scenarios/scenario-run";
import { lostWriteNames, promoteStaleReplica } from "../../support/faults/induced-loss";
import { useSandbox } from "../../support/valkey/hooks";
import { withNode } from "../../support/valkey/real";
import {
  UNMET_FOR_CUTS,
  UNMET_FOR_DISKS,
  NODE_TIMEOUT_MS,
  PATIENT_LOAD,
  injectFault,
  openFaultSubject,
  skipReason,
} from "../../support/faults/fault-subject";

const sandbox = useSandbox();
let cluster: FaultSubject;
beforeAll(async () => {
  cluster = await openFaultSubject(sandbox, "cluster");
});

describe("a cluster", () => {
  it("recovers from the SIGKILL of a primary: only its shard has an outage, until its replica is elected", async () => {
    const record = await injectFault(cluster, { kind: "kill-primary" });
    const [struck, ...others] = record.shards;
    expect(struck?.overMs).toBeGreaterThan(NODE_TIMEOUT_MS);
    expect(struck?.overMs).toBeLessThan(10_000);
    for (const { longestMs } of others) expect(longestMs).toBeLessThan(struck?.longestMs ?? 0);
    expect(record).toMatchObject({ assisted: false, victims: ["cluster-0"] });
    expect(record.errors.map(({ error }) => error)).toContain("refused");
    expect(record.redundantMs ?? 0).toBeGreaterThan(record.outage.overMs ?? Infinity);
    expect(record.states.some(({ node, state }) => node === "cluster-0" && state === "silent")).toBe(true);
  });

  it("without a majority recovers only after its replicas are told to take over", async () => {
    const record = await injectFault(cluster, { kind: "kill-primaries", share: 0.67 });
    expect(record.assisted).toBe(true);
    expect(record.warnings.join()).toContain("no majority is left");
    expect(record.events.map(({ what }) => what).join("\n")).toMatch(
      /SIGKILL cluster-0, cluster-1\ntell cluster-3, cluster-4 to take over\nstart/,
    );
  });

  it("replaces a paused primary, and writes to that primary have an unknown outcome", async () => {
    const record = await injectFault(cluster, { kind: "freeze-primary", seconds: 2.5 });
    expect(record.outage.overMs).toBeLessThan(2500);
    expect(record.errors.find(({ error }) => error === "timeout")).toMatchObject({ outcome: "unknown" });
    expect(record.states.filter(({ node }) => node === "cluster-0").at(-1)?.state).toBe("replica");
  });

  it.skipIf(UNMET_FOR_CUTS !== undefined)(
    `loses the writes that a primary accepted while it was cut off${skipReason(UNMET_FOR_CUTS)}`,
    async () => {
      const record = await injectFault(cluster, { kind: "cut-zone", zone: "a", seconds: 2 });
      expect(record.lost.count).toBeGreaterThan(0);
      // The primary that was cut off accepted them before it noticed.
      expect(record.lost.count).toBeLessThan((record.load.rate / 3) * 2);
      for (const { found } of record.lost.writes) expect(found === "gone" || typeof found === "number").toBe(true);
    },
  );

  it.skipIf(UNMET_FOR_DISKS !== undefined)(
    `refuses writes while a primary's disk is full${skipReason(UNMET_FOR_DISKS)}`,
    async () => {
      const record = await injectFault(cluster, { kind: "full-disk", seconds: 0.7 });
      expect(record.errors.find(({ error }) => error === "MISCONF")).toMatchObject({ outcome: "failed" });
      expect(record.lost.count).toBe(0);
    },
  );

  it("is restarted node by node without a failed or lost write", async () => {
    const record = await injectFault(cluster, { kind: "rolling-restart" }, { load: PATIENT_LOAD });
    expect(record).toMatchObject({
      errors: [],
      lost: { count: 0 },
      outage: { longestMs: 0, overMs: 0 },
      writes: { failed: 0, unknown: 0 },
    });
    expect(record.writes.redirected).toBeGreaterThan(0);
    expect(record.events.filter(({ what }) => what.startsWith("restart cluster-"))).toHaveLength(6);
  });

  it("is resized and back without a failed or lost write", async () => {
    expect(
      await injectFault(cluster, { kind: "scale", primaries: 4, replicasPerPrimary: 1 }, { load: PATIENT_LOAD }),
    ).toMatchObject({ errors: [], lost: { count: 0 }, writes: { failed: 0, unknown: 0 } });
  });

  it("recovers from the SIGKILL of all nodes, at other addresses, with every write that was on disk", async () => {
    const before = cluster.injector.nodes().map(({ endpoint }) => endpoint.port);
    const record = await injectFault(
      cluster,
      { kind: "kill-all", newAddresses: true },
      { settings: new Map([["appendfsync", "always"]]) },
    );
    expect(cluster.injector.nodes().map(({ endpoint }) => endpoint.port)).not.toEqual(before);
    expect(record.okMs).not.toBeNull();
    expect(record.lost.count).toBe(0);
    expect(record.writes.acknowledged).toBeGreaterThan(100);
    // The directive was set for the scenario only.
    expect(
      await withNode(cluster.injector.deployment, 0, (connection) => connection.config("GET", "appendfsync")),
    ).toContain("everysec");
  });

  it("loses exactly the writes that a replica lacks when it is promoted, and accounting names them", async () => {
    const { accounting, lost } = await promoteStaleReplica(cluster);
    expect(lost.length).toBeGreaterThan(100);
    expect(new Set(lostWriteNames(accounting))).toEqual(new Set(lost));
    expect(accounting).toMatchObject({ unread: 0, anomalies: [], undecided: 0 });
  });
});
