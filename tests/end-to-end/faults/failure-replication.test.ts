/** Faults in a replication deployment of real servers while a client writes; short scenarios. */
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, describe, expect, it } from "vitest";
import { DeploymentObserver } from "../../../faults/observation/deployment-observer";
import type { FaultSubject } from "../../../faults/scenarios/scenario-run";
import type { Dialer } from "../../../faults/writes/connection-pool";
import { awaitCondition } from "../../../lib/polling";
import type { DeploymentNode } from "../../../valkey/node";
import { truncateAppendOnlyFile, lostWriteNames } from "../../support/faults/induced-loss";
import { useSandbox } from "../../support/valkey/hooks";
import { PATIENT_LOAD, injectFault, openFaultSubject } from "../../support/faults/fault-subject";

/** The same IPv4 address, spelled as no node has it. */
const asNumber = (address: string): string =>
  String(address.split(".").reduce((number, part) => number * 256 + Number(part), 0));

const sandbox = useSandbox();
let replication: FaultSubject;
beforeAll(async () => {
  replication = await openFaultSubject(sandbox, "replication");
});

describe("replication", () => {
  it("has no automatic failover, and its outage lasts until the primary is back", async () => {
    const record = await injectFault(replication, { kind: "kill-primary", restart: 0.5 });
    expect(record.outage.overMs).toBeGreaterThan(500);
    expect(record.warnings.join()).toContain("no replica is promoted");
  });

  it("is restarted node by node without a failed or lost write", async () => {
    expect(await injectFault(replication, { kind: "rolling-restart" }, { load: PATIENT_LOAD })).toMatchObject({
      errors: [],
      lost: { count: 0 },
      writes: { failed: 0, unknown: 0 },
    });
  });

  it("is redundant also while replicas follow the primary by a name that is no node's, as the Service of pods is", async () => {
    const { injector, shape } = replication;
    const dial: Dialer = (endpoint) => injector.dial(endpoint, 1000);
    const observer = new DeploymentObserver(() => ({ mode: "replication", ...shape }), injector.nodes, dial);
    await observer.start();
    try {
      const isPrimary = ({ name }: DeploymentNode): boolean => observer.state(name).role === "primary";
      const primary = injector.nodes().find(isPrimary);
      const replicas = injector.nodes().filter((node) => !isPrimary(node));
      for (const { endpoint } of replicas) {
        const connection = await dial(endpoint);
        await connection.replicaof(asNumber(primary?.endpoint.host ?? ""), primary?.endpoint.port ?? 0);
        connection.disconnect();
      }
      await sleep(200);
      await awaitCondition("replicas are linked", () => observer.isRedundant, { timeoutMs: 10_000, intervalMs: 20 });
      expect(replicas.map(({ name }) => observer.state(name).follows)).toEqual(replicas.map(() => primary?.name));
    } finally {
      await observer.stop();
    }
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
