/** Real servers that are broken on purpose while a client writes, in short form: replication. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Sufferer } from "../../faults/break-all";
import { cutOffFile, named } from "../support/losing";
import { Sandbox } from "../support/real";
import { PATIENT, suffer, sufferer } from "../support/sufferer";

let sandbox: Sandbox;
let replication: Sufferer;
beforeAll(async () => {
  sandbox = await Sandbox.open();
  replication = await sufferer(sandbox, "replication");
});
afterAll(() => sandbox.close());

describe("replication", () => {
  it("has nobody to take over, and is out until its primary is back", async () => {
    const record = await suffer(replication, { kind: "kill-primary", restart: { seconds: 0.5 } });
    expect(record.outage.overMs).toBeGreaterThan(500);
    expect(record.warnings.join()).toContain("nobody promotes a replica");
  });

  it("is restarted node by node without a failed or lost write", async () => {
    expect(await suffer(replication, { kind: "rolling-restart", home: undefined }, { load: PATIENT })).toMatchObject({ errors: [], lost: { count: 0 }, writes: { failed: 0, unknown: 0 } });
  });

  it("comes back after the SIGKILL of all nodes, at other addresses", async () => {
    expect((await suffer(replication, { kind: "kill-all", newAddresses: true })).okMs).not.toBeNull();
  });

  it("loses, and accounting names, exactly what is cut off an append-only file", async () => {
    const { accounting, lost } = await cutOffFile(sandbox.host, replication, 200);
    expect(lost).toHaveLength(200);
    expect(accounting.acknowledged).toBeGreaterThan(500);
    expect(named(accounting).sort()).toEqual([...lost].sort());
    expect(accounting).toMatchObject({ unread: 0, anomalies: [], undecided: 0 });
  });
});
