/** Real Sentinels and servers: formation, verification, loss of the primary, and new addresses of all of them. */
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { awaitCondition } from "../../../lib/polling";
import type { FaultSubject } from "../../../faults/scenarios/scenario-run";
import { HostFaultInjector } from "../../../faults/injectors/host-injector";
import { connect } from "../../../valkey/connection";
import type { Deployment } from "../../../valkey/deployment";
import { form } from "../../../valkey/formation/form";
import type { DeploymentNode } from "../../../valkey/node";
import { sourceAt } from "../../../backup/archive/shard-layout";
import { ReplicaLink } from "../../../backup/replication-stream/replica-link";
import { readSnapshot } from "../../../backup/replication-stream/snapshot";
import { forgetGone } from "../../../valkey/sentinel/form-sentinels";
import { verify, verifyUntilPass } from "../../../valkey/verification/verify";
import { useSandbox } from "../../support/valkey/hooks";
import { hastenSentinels } from "../../support/valkey/sentinels";
import { eventually, never, withNode, ZONES, callNode } from "../../support/valkey/real";
import { withCurrentNodes, injectFault } from "../../support/faults/fault-subject";

const SENTINEL = { count: 3, quorum: 2, downAfterMs: 500, failoverTimeoutMs: 3000 };
/** A Sentinel that a busy machine delays for two seconds fails over nothing for thirty (TILT). */
const PATIENCE = { recoveryTimeoutSeconds: 90 };
const TILT_OVER = { settlingMs: 45_000 };
const SHAPE = { primaries: 1, replicasPerPrimary: 1 };

function sentinelOf({ sentinels }: Deployment): DeploymentNode {
  const [first] = sentinels?.nodes ?? [];
  if (first === undefined) throw new Error("there is no Sentinel");
  return first;
}

const sandbox = useSandbox();
let replication: FaultSubject;
beforeAll(async () => {
  const plan = {
    name: "watched",
    mode: "replication",
    shape: SHAPE,
    settings: { save: "", appendonly: true, "repl-diskless-sync-delay": 0, "repl-diskless-load": "swapdb" },
    zones: ZONES,
    sentinel: SENTINEL,
  } as const;
  const deployment = await sandbox.host.start(plan, never);
  await hastenSentinels(deployment);
  await sandbox.host.form(deployment, SHAPE, {});
  replication = {
    injector: new HostFaultInjector(sandbox.host, deployment, never),
    shape: SHAPE,
    hasAutomaticFailover: true,
    initialPrimaries: ["watched-0"],
  };
});
beforeEach(async () => {
  await verifyUntilPass(withCurrentNodes(replication), TILT_OVER);
});

describe("replication with Sentinels", () => {
  it("is formed and passes verification, Sentinels included", async () => {
    const { deployment } = replication.injector;
    const { verdict } = await verify(deployment);
    expect(
      verdict.assertions
        .filter(({ id }) => id.startsWith("sentinels-"))
        .map(({ id, found, pass }) => `${id} ${pass ? found : "fails"}`),
    ).toEqual([
      "sentinels-watch 3 Sentinels, primary watched-0",
      "sentinels-know 2 other Sentinels, 1 replicas",
      "sentinels-quorum quorum 2",
      "sentinels-zones 3 zones",
    ]);
    expect(await form(deployment, SHAPE)).toMatchObject({ changed: false });
  });

  it("has Sentinels that take no program which reads the data of the primary for a replica", async () => {
    const { deployment } = replication.injector;
    const [primary] = deployment.nodes;
    if (primary === undefined) throw new Error("there is no primary");
    const link = await ReplicaLink.open(sourceAt(deployment, primary));
    try {
      expect(await link.sync(undefined)).toMatchObject({ kind: "full" });
      for await (const _ of readSnapshot(link.reader));
      link.acknowledge(0);
      await withNode(deployment, 0, async (connection) => {
        expect(await connection.info("replication")).toContain("connected_slaves:2");
      });
      // Sentinels ask the primary for its replicas.
      await sleep(2000);
    } finally {
      link.close();
    }
    const { verdict } = await verifyUntilPass(deployment, TILT_OVER);
    expect(verdict.assertions.find(({ id }) => id === "sentinels-know")?.found).toBe("2 other Sentinels, 1 replicas");
  });

  it("has Sentinels that forget a replica which leaves while they are told, one after the other", async () => {
    const { deployment } = replication.injector;
    const { sentinels, nodes, access } = deployment;
    const plan = { name: "leaving", mode: "replication", shape: { primaries: 1, replicasPerPrimary: 0 } } as const;
    const leaving = await sandbox.host.start(
      { ...plan, settings: { save: "" }, zones: ZONES.slice(0, 1), password: access.password },
      never,
    );
    const { host = "", port = 0 } = nodes[0]?.endpoint ?? {};
    await callNode(leaving, 0, "REPLICAOF", host, port);
    const known = async (): Promise<readonly string[]> =>
      (await verify(deployment)).verdict.assertions.flatMap(({ id, found, pass }) =>
        id === "sentinels-know" && !pass ? [found] : [],
      );
    if (sentinels === undefined) throw new Error("there are no Sentinels");
    const watchers = { ...deployment, nodes: sentinels.nodes };
    await eventually("all Sentinels know both", async () => {
      const views = sentinels.nodes.map((_node, index) => callNode(watchers, index, "SENTINEL", "REPLICAS", "watched"));
      return (await Promise.all(views)).every((view) => (view as unknown[]).length === 2);
    });
    const forgetting = forgetGone(deployment, sentinels);
    // Like a pod that is stopping. Sentinels ask the primary for its replicas, and learn of it again.
    await sleep(2000);
    await sandbox.host.signal("leaving", ["leaving-0"], "SIGKILL");
    expect(await forgetting).toBe(true);
    expect(await known()).toEqual([]);
    expect(await forgetGone(deployment, sentinels)).toBe(false);
  });

  it("waits for a Sentinel that does not answer yet, before Sentinels forget what is gone", async () => {
    const { deployment } = replication.injector;
    const { sentinels, access } = deployment;
    const { name } = sentinelOf(deployment);
    if (sentinels === undefined) throw new Error("there are no Sentinels");
    let failures = 0;
    const impatient: Deployment = {
      ...deployment,
      connect: (node) =>
        connect(node.name, node.endpoint, access, 300).catch((error: unknown) => {
          failures++;
          throw error;
        }),
    };
    await sandbox.host.signal("watched", [name], "SIGSTOP");
    const forgetting = forgetGone(impatient, sentinels);
    await sleep(1000);
    await sandbox.host.signal("watched", [name], "SIGCONT");
    expect(await forgetting).toBe(false);
    expect(failures).toBeGreaterThan(0);
  });

  it("fails over when its primary is killed, and passes verification again", async () => {
    const record = await injectFault(replication, { kind: "kill-primary" }, PATIENCE);
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

  it("has another password without a restart, with which Sentinels fail over", async () => {
    const deployment = withCurrentNodes(replication);
    const password = "another-password-as-long";
    await sandbox.host.changePassword(deployment, password);
    const access = { password };
    const changed = {
      ...deployment,
      access,
      connect: (node: DeploymentNode) => connect(node.name, node.endpoint, access),
    };
    const sentinel = sentinelOf(deployment);
    await expect(deployment.connect(sentinel)).rejects.toThrow("the server refuses the password");
    // New connections, which need the password.
    for (const node of deployment.nodes) {
      const connection = await changed.connect(node);
      await connection.call("CLIENT", "KILL", "TYPE", "NORMAL", "SKIPME", "YES");
      connection.disconnect();
    }
    const before = (await verifyUntilPass(changed, TILT_OVER)).verdict;
    expect(before.assertions.filter(({ pass }) => !pass)).toEqual([]);
    const connection = await changed.connect(sentinel);
    await connection.call("SENTINEL", "FAILOVER", "watched");
    connection.disconnect();
    await awaitCondition(
      "another primary, followed by the former one",
      async () => {
        const { verdict } = await verify(changed);
        return verdict.pass && verdict.shards[0]?.primary !== before.shards[0]?.primary;
      },
      { timeoutMs: 60_000, intervalMs: 500 },
    );
    replication = { ...replication, injector: new HostFaultInjector(sandbox.host, changed, never) };
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
