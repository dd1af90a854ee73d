/** The controller's pod: it looks at a real deployment, says what it finds, and repairs it. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { watchControllers } from "../../../cli/commands/watch-controllers";
import type { Look } from "../../../controller/look";
import { openKubernetesClient } from "../../../platforms/deployment-reference";
import { Lease } from "../../../platforms/kubernetes/api/lease";
import type { AnyHandler } from "../../../provider/kinds";
import { SETTINGS_NOTE, WANTED_NOTE, wantedNodes, wantedSettings } from "../../../provider/updates/update-leases";
import { ValkeyProvider } from "../../../provider/valkey-provider";
import { captured } from "../../support/captured";
import { issueCertificate, serverHosts } from "../../support/kubernetes/certificates";
import { never } from "../../support/valkey/real";
import { ControlledPods } from "../../support/kubernetes/controlled-pods";
import { DeployedPods, podLabels } from "../../support/kubernetes/deployed-pods";
import { KUBECONFIG, ThrowAway, WHERE } from "../../support/kubernetes/throw-away";

const SENTINEL = { count: 3, quorum: 2, downAfterMs: 2000, failoverTimeoutMs: 10_000 };
describe.skipIf(KUBECONFIG === undefined)(`the controller${WHERE}`, { timeout: 300_000 }, () => {
  describe("of a cluster without volumes", () => {
    let controlled: ControlledPods;
    beforeAll(async () => {
      const here = await ThrowAway.open();
      const kind = { mode: "cluster" as const, shape: { primaries: 3, replicasPerPrimary: 1 } };
      const pods = await DeployedPods.open("orders", kind, { settings: {}, ephemeral: true }, here);
      controlled = await ControlledPods.open(pods, { everySeconds: 5, repair: true });
    });
    afterAll(() => controlled.close(), 200_000);

    it("finds that all assertions hold, and publishes it as metrics", async () => {
      await controlled.untilLook(60, ({ pass }) => pass);
      const metrics = await controlled.ask("/metrics");
      expect(metrics).toContain('valkey_verified{deployment="orders"} 1');
      expect(metrics).toContain('valkey_assertion_holds{deployment="orders",assertion="one-owner"} 1');
    });

    it("shares a Lease that one process holds at a time, and that the next one gets when its holder is dead", async () => {
      const { target } = controlled.pods;
      const kubernetes = await openKubernetesClient(target);
      const name = { namespace: target.namespace, lease: "shared" };
      const open = (holder: string, mayTakeFrom?: (other: string) => boolean): Lease =>
        new Lease(kubernetes, name, holder, mayTakeFrom, 3);
      const [first, second] = [open("first"), open("second")];
      const both = await Promise.all([first.acquire(), open("third", () => false).acquire()]);
      expect(both.filter((other) => other === undefined)).toHaveLength(1);
      expect(await open("pulumi b", () => true).acquire()).toBeUndefined();
      expect(await second.acquire()).toBe("pulumi b");
      // Its holder renews it no more.
      await controlled.pods.here.until(10, async () => await second.acquire());
      expect(await first.acquire()).toBe("second");
      await second.release();
      expect(await first.acquire()).toBeUndefined();
    });

    it("says that a slot migration is open, and leaves it to whoever works on it", async () => {
      const [source, target] = await controlled.pods.primaries();
      await controlled.pods.withNodes(async (at) => {
        const [id, own] = [await at(target).call("CLUSTER", "MYID"), await at(source).call("CLUSTER", "NODES")];
        const slot = /myself.* (\d+)-\d+/.exec(String(own))?.[1] ?? "";
        await at(source).call("CLUSTER", "SETSLOT", slot, "MIGRATING", String(id));
        await controlled.untilLook(60, ({ pass }) => !pass);
        await sleep(30_000);
        expect((await controlled.look())?.pass).toBe(false);
        expect(await controlled.ask("/metrics")).not.toContain("valkey_repairs_total{");
        await at(source).call("CLUSTER", "SETSLOT", slot, "STABLE");
      });
      await controlled.untilLook(60, ({ pass }) => pass);
      const events = await controlled.events();
      expect(events.some((each) => each.startsWith("NotVerified: ") && each.includes("no-moves"))).toBe(true);
      expect(events.some((each) => each.startsWith("Verified: "))).toBe(true);
    });

    it("is kept out by an update, also by one that removes it, by a Lease that goes with it", async () => {
      const { pods } = controlled;
      const target = { ...pods.target, lease: "held" };
      const account = {
        apiVersion: "v1",
        kind: "ServiceAccount",
        metadata: { name: target.lease, namespace: target.namespace },
      };
      await pods.here.apply([account]);
      const handler = { create: () => Promise.reject(new Error("unused")), update: () => Promise.resolve({}) };
      const provider = new ValkeyProvider("0.0.0", () => Promise.resolve(handler as unknown as AnyHandler));
      const urn = "urn:pulumi:test::test::valkey:index:Rollout::orders";
      await provider.update("orders", urn, { target }, { target: pods.target });
      const { namespace } = pods.target;
      const kubernetes = await openKubernetesClient(target);
      const own = new Lease(kubernetes, { namespace, lease: target.lease }, "controller");
      expect(await own.acquire()).toMatch(/^pulumi on /);
      // The update has no controller any more, but if it fails the former one is still there.
      expect(own.notes).toEqual({ [WANTED_NOTE]: wantedNodes(target), [SETTINGS_NOTE]: wantedSettings(target) });
      // While its machine slept, the controller took the Lease.
      const taken = new Lease(kubernetes, { namespace, lease: target.lease }, "controller", () => true);
      expect(await taken.acquire()).toBeUndefined();
      await pods.here.until(30, () =>
        provider.update("orders", urn, { target }, { target }).then(
          () => "the update goes on",
          (error: unknown) => (String(error).includes("controller has taken Lease held") ? undefined : String(error)),
        ),
      );
      await pods.here.delete(account);
      await pods.here.until(60, () =>
        kubernetes.coordination.readNamespacedLease({ namespace, name: target.lease }).then(
          () => "the Lease is still there",
          () => undefined,
        ),
      );
    });

    it("waits while an update to other nodes has failed, and for a minute after one that was killed, then moves a replica back to a shard that has none", async () => {
      const { pods } = controlled;
      const { namespace } = pods.target;
      const kubernetes = await openKubernetesClient(pods.target);
      const update = new Lease(kubernetes, { namespace, lease: "orders-controller" }, "pulumi of this test");
      expect(await update.acquire({ [WANTED_NOTE]: "other nodes" })).toBeUndefined();
      await update.release();
      const { shards } = (await pods.verified()).verdict;
      const [first, second] = shards;
      await pods.withNodes(async (at, all) => {
        // Otherwise the nodes move a replica by themselves.
        for (const connection of all) await connection.config("SET", "cluster-allow-replica-migration", "no");
        const id = await at(second?.primary).call("CLUSTER", "MYID");
        await at(first?.replicas[0]).call("CLUSTER", "REPLICATE", String(id));
      });
      await controlled.untilLook(60, ({ pass }) => !pass);
      await sleep(30_000);
      expect(await controlled.ask("/metrics")).not.toContain("valkey_repairs_total{");
      expect(await update.acquire({ [WANTED_NOTE]: wantedNodes(pods.target) })).toBeUndefined();
      await sleep(30_000);
      expect(await controlled.ask("/metrics")).not.toContain("valkey_repairs_total{");
      await controlled.untilLook(120, ({ pass }) => pass);
      expect(await controlled.ask("/metrics")).toContain('valkey_repairs_total{deployment="orders",outcome="done"} 1');
      expect((await controlled.events()).some((each) => each.startsWith("Repaired: repaired "))).toBe(true);
    });

    it("leaves a pod that restarts to itself, or completes its return when it has lost its data", async () => {
      const { here, target } = controlled.pods;
      const primaries = await controlled.pods.primaries();
      await here.core.deleteNamespacedPod({ namespace: target.namespace, name: "orders-5" });
      await here.untilReady(podLabels("orders"), 6, 120);
      await controlled.untilLook(120, ({ pass }) => pass);
      expect(await controlled.ask("/metrics")).not.toContain('outcome="failed"');
      const after = await controlled.pods.primaries();
      expect(after.filter((name) => name !== "orders-5" && !primaries.includes(name)).length).toBeLessThanOrEqual(1);
    });
  });

  describe("of replication with Sentinels and TLS", () => {
    let controlled: ControlledPods;
    beforeAll(async () => {
      const here = await ThrowAway.open();
      const { namespace } = here;
      const data = issueCertificate(serverHosts(namespace, "sessions"));
      const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "certificate", namespace }, data };
      await here.apply([secret]);
      const shape = { primaries: 1, replicasPerPrimary: 2 };
      const kind = { mode: "replication" as const, shape, sentinel: SENTINEL };
      const tls = { secretName: "certificate" };
      const pods = await DeployedPods.open("sessions", kind, { settings: {}, ephemeral: true, tls }, here);
      controlled = await ControlledPods.open(pods, { everySeconds: 120 }, tls);
    });
    afterAll(() => controlled.close(), 200_000);

    it("asks servers, Sentinels and proxies at the addresses of their pods, and finds that all assertions hold", async () => {
      // The next look of a deployment that passes is two minutes later.
      await controlled.pods.here.until(90, async () => {
        const look = await controlled.look();
        return look?.pass === true ? undefined : JSON.stringify(look ?? "no look");
      });
      const look = await controlled.look();
      expect(Object.keys(look?.primaries ?? {})).toEqual([""]);
      const held = look?.assertions.map(({ id }) => id) ?? [];
      expect(held).toEqual(expect.arrayContaining(["clients-led", "sentinels-know", "links-up"]));
      const [, end = "0"] =
        /certificate_expires_timestamp_seconds\{deployment="sessions"\} (\d+)/.exec(await controlled.ask("/metrics")) ??
        [];
      const days = (Number(end) - Date.now() / 1000) / 86_400;
      expect(days).toBeGreaterThan(0.9);
      expect(days).toBeLessThan(1);
    });

    it("is shown live by status --watch, which asks only the controller's pod, and looks at once when a pod changes", async () => {
      const { target, password, here } = controlled.pods;
      const stop = new AbortController();
      const shown = captured({}, () => watchControllers([{ target, password }], true, stop.signal));
      await sleep(5000);
      const [primary] = await controlled.pods.primaries();
      const replica = ["sessions-0", "sessions-1", "sessions-2"].find((name) => name !== primary) ?? "";
      await here.core.deleteNamespacedPod({ namespace: target.namespace, name: replica });
      await controlled.untilLook(60, ({ pass }) => !pass);
      await controlled.untilLook(60, ({ pass }) => pass);
      await sleep(5000);
      stop.abort();
      const { status, output } = await shown;
      const looks = output
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as Look);
      expect(looks.map(({ pass }) => pass)).toContain(false);
      expect(looks.at(-1)).toMatchObject({ deployment: "sessions", pass: true });
      expect(status).toBe(0);
      const other = { ...target, name: "others" };
      await expect(watchControllers([{ target: other, password }], false, never)).rejects.toThrow(
        "others has no controller",
      );
    });
  });
});
