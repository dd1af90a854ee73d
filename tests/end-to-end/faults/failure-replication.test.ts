/** Faults in a replication deployment of real servers while a client writes; short scenarios. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FaultSubject } from "../../../faults/scenarios/run-scenarios";
import { truncateAppendOnlyFile, lostWriteNames } from "../../support/faults/induced-loss";
import { Sandbox } from "../../support/valkey/real";
import { PATIENT_LOAD, injectFault, openFaultSubject } from "../../support/faults/fault-subject";

let sandbox: Sandbox;
let replication: FaultSubject;
beforeAll(async () => {
  sandbox = await Sandbox.open();
  replication = await openFaultSubject(sandbox, "replication");
});
afterAll(() => sandbox.close());

describe("replication", () => {
  it("has no automatic failover, and its outage lasts until the primary is back", async () => {
    const record = await injectFault(replication, { kind: "kill-primary", restart: { seconds: 0.5 } });
    expect(record.outage.overMs).toBeGreaterThan(500);
    expect(record.warnings.join()).toContain("no replica is promoted");
  });

  it("is restarted node by node without a failed or lost write", async () => {
    expect(
      await injectFault(replication, { kind: "rolling-restart", home: undefined }, { load: PATIENT_LOAD }),
    ).toMatchObject({ errors: [], lost: { count: 0 }, writes: { failed: 0, unknown: 0 } });
  });

  it("recovers from the SIGKILL of all nodes, at other addresses", async () => {
    expect((await injectFault(replication, { kind: "kill-all", newAddresses: true })).okMs).not.toBeNull();
  });

  it("loses exactly the writes cut off its append-only file, and accounting names them", async () => {
    const { accounting, lost } = await truncateAppendOnlyFile(sandbox.host, replication, 200);
    expect(lost).toHaveLength(200);
    expect(accounting.acknowledged).toBeGreaterThan(500);
    expect(lostWriteNames(accounting).sort()).toEqual([...lost].sort());
    expect(accounting).toMatchObject({ unread: 0, anomalies: [], undecided: 0 });
  });
});
