/** A cluster whose data is gone with its pods, and its controller: faults while a client writes, and repairs. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { openKubernetesClient } from "../../../platforms/deployment-reference";
import { Lease } from "../../../platforms/kubernetes/api/lease";
import { WANTED_NOTE, wantedNodes } from "../../../operations/changes/update-leases";
import { injectFault } from "../../support/faults/fault-subject";
import { ControllerPod } from "../../support/kubernetes/controller-pod";
import type { LiveDeployment } from "../../support/kubernetes/live-deployment";
import { story } from "../../support/kubernetes/story";

const NAME = "broken";
const SETTINGS = {
  ...{ save: "", "cluster-node-timeout": 5000, "repl-diskless-sync-delay": 0, "enable-debug-command": "local" },
};
/** A shard is silent for so long: longer than a pod of another one takes to start. */
const SILENT_SECONDS = 25;
const WANTED = {
  deployment: {
    pods: { storage: { ephemeral: true } },
    ...{ mode: "cluster", primaries: 3, replicasPerPrimary: 1, settings: SETTINGS },
    controller: { everySeconds: 5 },
  },
};
/** Connections run through the API server's port-forward on a machine that runs a whole Kubernetes. */
const TUNNELLED = {
  load: { rate: 100, bytes: 64, timeoutMs: 5000, acknowledgement: { replicas: 0, timeoutMs: 0 } },
  recoveryTimeoutSeconds: 180,
};

const ready = (live: LiveDeployment, pod: string): Promise<boolean> =>
  live.run(pod, "sh /valkey/scripts/ready-cluster.sh").then(
    () => true,
    () => false,
  );
/** States that a starting node reports whenever its readiness probe would pass, until 10 s after the first. */
async function statesWhileReady(live: LiveDeployment, pod: string, seconds: number): Promise<string[]> {
  const script = `end=$(($(date +%s) + ${seconds})); first=
    while [ $(date +%s) -lt $end ]; do
      if sh /valkey/scripts/ready-cluster.sh; then
        echo 'CLUSTER INFO' | tell localhost 5 | tr -d '\\r' | grep ^cluster_state
        [ -n "$first" ] || { first=yes; end=$(($(date +%s) + 10)); }
      fi
      sleep 0.2
    done; true`;
  let printed: string | undefined;
  await live.here.until(60, async () => {
    printed ??= await live.run(pod, script).catch(() => undefined);
    return printed === undefined ? `${pod} does not run` : undefined;
  });
  return printed?.split("\n").filter((line) => line !== "") ?? [];
}
const timeouts = (live: LiveDeployment): Promise<(string | undefined)[]> =>
  live.withNodes((_at, all) =>
    Promise.all(all.map(async (each) => (await each.config("GET", "cluster-node-timeout"))[1])),
  );
const repairs = async (controller: ControllerPod): Promise<number> => {
  const found = /valkey_repairs_total\{[^}]*outcome="done"\} (\d+)/.exec(await controller.ask("/metrics"));
  return Number(found?.[1] ?? 0);
};
story("a cluster without volumes", NAME, WANTED, [
  {
    title: "a crash of a primary's process leaves every key that a replica had",
    client: "is not asked",
    change: async (live) => {
      const [primary = ""] = await live.primaries();
      await live.crash(primary);
      await live.isWhole();
      expect(await live.primaries()).not.toContain(primary);
    },
  },
  {
    title: "the loss of a primary's pod ends when its replica is elected, and a scenario's settings end with it",
    client: "is not asked",
    change: async (live) => {
      const settings = new Map([["cluster-node-timeout", "2500"]]);
      const record = await injectFault(await live.subject(), { kind: "kill-primary" }, { ...TUNNELLED, settings });
      // An orderly hand-over, which the pod's last second would suffice for, takes less.
      expect(record.outage.overMs).toBeGreaterThan(500);
      expect(record.states.some(({ state }) => state === "silent")).toBe(true);
      expect(await timeouts(live)).toEqual(live.pods.map(() => "5000"));
    },
  },
  {
    title: "a cut that Kubernetes does not enforce is healed, and the scenario fails with the reason",
    client: "is not asked",
    change: async (live) => {
      const fault = { kind: "cut-zone", seconds: 4 } as const;
      await expect(injectFault(await live.subject(), fault, TUNNELLED)).rejects.toThrow(
        /had no effect: this Kubernetes cluster does not enforce NetworkPolicies/,
      );
      const policy = { apiVersion: "networking.k8s.io/v1", kind: "NetworkPolicy", metadata: { name: NAME } };
      const { metadata, spec } = (await live.here.read(policy)) as {
        metadata: { annotations?: object };
        spec: { podSelector: object };
      };
      expect(spec.podSelector).toEqual({ matchLabels: live.labels });
      expect(JSON.stringify(metadata.annotations ?? {})).not.toContain("before-the-cut");
      const cut = (await live.here.pods(live.labels)).filter(
        (pod) => pod.metadata?.labels?.["valkey-measured/cut"] !== undefined,
      );
      expect(cut).toEqual([]);
    },
  },
  {
    title: "a replica is not ready while it is without its primary",
    client: "is not asked",
    change: async (live) => {
      const [replica = ""] = await live.replicas();
      await live.tell(replica, "CONFIG SET primaryauth wrong");
      await live.tell(replica, "CLIENT KILL TYPE master");
      await live.here.until(20, async () => ((await ready(live, replica)) ? `${replica} is still ready` : undefined));
      const others = await Promise.all(live.pods.map((pod) => ready(live, pod)));
      expect(others.filter((is) => is)).toHaveLength(live.pods.length - 1);
      const own = "sed -n 's/^primaryauth/CONFIG SET primaryauth/p' /valkey/secret/password.conf | tell localhost 5";
      await live.run(replica, own);
      await live.here.until(20, async () => ((await ready(live, replica)) ? undefined : `${replica} is not ready`));
    },
  },
  {
    title: "a node that has just started is not ready while primaries elsewhere do not answer",
    client: "is not asked",
    change: async (live) => {
      const { shards } = (await live.verified()).verdict;
      const [first, second] = shards;
      const away = [first?.primary ?? "", first?.replicas[0] ?? ""];
      const started = second?.replicas[0] ?? "";
      // The client gives up before.
      await Promise.all(away.map((pod) => live.tell(pod, `DEBUG SLEEP ${SILENT_SECONDS}`).catch(() => undefined)));
      await live.here.until(30, async () =>
        (await live.tell(started, "CLUSTER INFO")).includes("cluster_state:fail")
          ? undefined
          : "the shard still answers",
      );
      const former = await live.identities();
      await live.delete(undefined, started);
      await live.here.until(60, async () =>
        (await live.identities()).some((each) => each.startsWith(`${started} `) && !former.includes(each))
          ? undefined
          : `${started} has not restarted`,
      );
      const states = await statesWhileReady(live, started, 40);
      expect(states.filter((state) => state !== "cluster_state:ok")).toEqual([]);
    },
  },
  {
    title: "more primaries come and go",
    client: "no failed write",
    change: async (live) => {
      for (const primaries of [4, 3]) await live.up({ deployment: { primaries } });
    },
  },
  {
    title: "a changed setting restarts all nodes, which join again without their data one after the other",
    client: "no failed write",
    change: (live) => live.up({ deployment: { settings: { ...SETTINGS, "tcp-backlog": 512 } } }),
    leaves: "tcp-backlog 512",
  },
  {
    title: "the controller publishes what it finds, and leaves an open slot migration to whoever works on it",
    client: "is not asked",
    change: async (live) => {
      const controller = new ControllerPod(live);
      await controller.untilLook(60, ({ pass }) => pass);
      const metrics = await controller.ask("/metrics");
      expect(metrics).toContain(`valkey_verified{deployment="${NAME}"} 1`);
      expect(metrics).toContain(`valkey_assertion_holds{deployment="${NAME}",assertion="one-owner"} 1`);
      const before = await repairs(controller);
      const [source, target] = await live.primaries();
      await live.withNodes(async (at) => {
        const [id, own] = [await at(target).call("CLUSTER", "MYID"), await at(source).call("CLUSTER", "NODES")];
        const slot = /myself.* (\d+)-\d+/.exec(String(own))?.[1] ?? "";
        await at(source).call("CLUSTER", "SETSLOT", slot, "MIGRATING", String(id));
        // A repair begins at the second look that finds the same.
        for (let look = 0; look < 4; look++) await controller.untilLook(60, ({ pass }) => !pass);
        expect(await repairs(controller)).toBe(before);
        await at(source).call("CLUSTER", "SETSLOT", slot, "STABLE");
      });
      await controller.untilLook(60, ({ pass }) => pass);
      const events = await controller.events();
      expect(events.some((each) => each.startsWith("NotVerified: ") && each.includes("no-moves"))).toBe(true);
      expect(events.some((each) => each.startsWith("Verified: "))).toBe(true);
    },
  },
  {
    title:
      "the controller waits after a failed update to other nodes, then moves a replica back to a shard that has none",
    client: "no failed write",
    change: async (live) => {
      const controller = new ControllerPod(live);
      const before = await repairs(controller);
      const { target } = live;
      const { namespace } = target;
      const kubernetes = await openKubernetesClient(target);
      const update = new Lease(kubernetes, { namespace, lease: controller.lease }, "pulumi of this test", () => true);
      await live.here.until(60, async () => await update.acquire({ [WANTED_NOTE]: "other nodes" }));
      await update.release();
      const [first, second] = (await live.verified()).verdict.shards;
      await live.withNodes(async (at, all) => {
        // Otherwise the nodes move a replica by themselves.
        for (const connection of all) await connection.config("SET", "cluster-allow-replica-migration", "no");
        const id = await at(second?.primary).call("CLUSTER", "MYID");
        await at(first?.replicas[0]).call("CLUSTER", "REPLICATE", String(id));
      });
      for (let look = 0; look < 4; look++) await controller.untilLook(60, ({ pass }) => !pass);
      expect(await repairs(controller)).toBe(before);
      // As an update that was killed: a minute later the controller goes on.
      expect(await update.acquire({ [WANTED_NOTE]: wantedNodes(target) })).toBeUndefined();
      await sleep(20_000);
      expect(await repairs(controller)).toBe(before);
      await controller.untilLook(120, ({ pass }) => pass);
      expect(await repairs(controller)).toBe(before + 1);
      expect((await controller.events()).some((each) => each.startsWith("Repaired: repaired "))).toBe(true);
      await live.withNodes((_at, all) =>
        Promise.all(all.map((each) => each.config("SET", "cluster-allow-replica-migration", "yes"))),
      );
    },
  },
  {
    title: "the controller leaves a pod that restarts to itself, or completes its return",
    client: "failed writes",
    change: async (live) => {
      const controller = new ControllerPod(live);
      const before = await live.primaries();
      await live.delete(undefined, `${NAME}-5`);
      await live.here.untilReady(live.labels, 6, 120);
      await controller.untilLook(120, ({ pass }) => pass);
      expect(await controller.ask("/metrics")).not.toContain('outcome="failed"');
      const others = (await live.primaries()).filter((name) => name !== `${NAME}-5` && !before.includes(name));
      expect(others.length).toBeLessThanOrEqual(1);
    },
  },
]);
