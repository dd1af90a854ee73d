/** Real Sentinels and servers: formation, verification, loss of the primary, and new addresses of all of them. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FaultSubject } from "../../../faults/scenarios/run-scenarios";
import { HostFaultInjector } from "../../../faults/injectors/host-injector";
import { form } from "../../../valkey/formation/form";
import { verify } from "../../../valkey/verification/verify";
import { never, Sandbox, ZONES } from "../../support/valkey/real";
import { withCurrentNodes, injectFault } from "../../support/faults/fault-subject";

const SENTINEL = { count: 3, quorum: 2, downAfterMs: 500, failoverTimeoutMs: 3000 };
/** A Sentinel that a busy machine delays for two seconds fails over nothing for thirty (TILT). */
const PATIENCE = { recoveryTimeoutSeconds: 90 };
const SHAPE = { primaries: 1, replicasPerPrimary: 1 };

let sandbox: Sandbox;
let replication: FaultSubject;
beforeAll(async () => {
  sandbox = await Sandbox.open();
  const plan = {
    name: "watched",
    mode: "replication",
    shape: SHAPE,
    settings: { save: "", appendonly: true, "repl-diskless-sync-delay": 0, other: { "repl-diskless-load": "swapdb" } },
    zones: ZONES,
    sentinel: SENTINEL,
  } as const;
  const deployment = await sandbox.host.start(plan, never);
  await sandbox.host.form(deployment, SHAPE, {});
  replication = {
    injector: new HostFaultInjector(sandbox.host, deployment, never),
    shape: SHAPE,
    hasAutomaticFailover: true,
    initialPrimaries: ["watched-0"],
  };
});
afterAll(() => sandbox.close());

describe("replication with Sentinels", () => {
  it("is formed and passes verification, Sentinels included", async () => {
    const { deployment } = replication.injector;
    const { verdict } = await verify(deployment);
    expect(
      verdict.assertions
        .filter(({ id }) => id.startsWith("sentinels-"))
        .map(({ id, found, pass }) => `${id} ${pass ? found : "fails"}`),
    ).toEqual([
      "sentinels-watch 3 of watched-0",
      "sentinels-know 2 others, 1 replicas",
      "sentinels-quorum quorum 2",
      "sentinels-zones 3 zones",
    ]);
    expect(await form(deployment, SHAPE)).toMatchObject({ changed: false });
  });

  it("fails over when its primary is killed, and passes verification again", async () => {
    const record = await injectFault(replication, { kind: "kill-primary", restart: "served" }, PATIENCE);
    expect(record).toMatchObject({ assisted: false, victims: ["watched-0"], warnings: [] });
    expect(record.outage.overMs).toBeGreaterThan(SENTINEL.downAfterMs);
    expect(record.outage.overMs).toBeLessThan(60_000);
    // On a busy machine, Sentinels may have failed back since.
    expect(record.states.some(({ node, state }) => node === "watched-1" && state === "primary")).toBe(true);
    expect((await verify(withCurrentNodes(replication))).verdict.shards).toHaveLength(1);
    // Formation keeps the present primary.
    expect(await form(withCurrentNodes(replication), SHAPE)).toMatchObject({ changed: false });
  });

  // Before the fault, the first primary is made primary again by FAILOVER, without the Sentinels.
  it("recovers at other addresses", async () => {
    const record = await injectFault(replication, { kind: "kill-all", newAddresses: true }, PATIENCE);
    expect(record.victims).toHaveLength(5);
    expect(record.states.find(({ node }) => node === "watched-0")?.state).toBe("primary");
    expect((await verify(withCurrentNodes(replication))).verdict.pass).toBe(true);
  });

  it("fails verification when a Sentinel is gone", async () => {
    await sandbox.host.signal("watched", ["watched-sentinel-2"], "SIGKILL");
    const { verdict } = await verify(withCurrentNodes(replication));
    expect(verdict.assertions.find(({ id }) => id === "sentinels-watch")).toMatchObject({
      pass: false,
      found: expect.stringContaining("watched-sentinel-2") as unknown,
    });
  });
});
