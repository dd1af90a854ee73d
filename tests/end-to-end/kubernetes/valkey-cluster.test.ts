import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { podReference } from "../../../components/kubernetes/deployment/reference";
import type { SettingsInputs } from "../../../provider/handlers/settings";
import { handler } from "../../../provider/handlers/settings";
import { ClusterServers } from "../../../components/kubernetes/servers/cluster-servers";
import type { KubernetesObject } from "../../support/kubernetes/kubernetes-objects";
import { renderObjects } from "../../support/kubernetes/kubernetes-objects";
import { plainServers } from "../../support/kubernetes/server-args";
import { isReady, KUBECONFIG, ThrowAway, WHERE } from "../../support/kubernetes/throw-away";
import { valkeyCliScript, WRITER_POD, writerPod, writtenKeys } from "../../support/kubernetes/writer-pod";

const LABELS = { "app.kubernetes.io/name": "valkey", "app.kubernetes.io/instance": "shop" };
const NODES = 6;
/** As hard to quote as a password can be. */
const PASSWORD = `a "hard" one\\'s #1 $HOME`;

describe.skipIf(KUBECONFIG === undefined)(`ClusterServers on Kubernetes${WHERE}`, () => {
  let here: ThrowAway;
  let zones: string[];

  const rendered = (maxmemory: number, other = {}): Promise<KubernetesObject[]> =>
    renderObjects(() => {
      new ClusterServers("shop", {
        ...plainServers,
        namespace: here.namespace,
        imagePullPolicy: "IfNotPresent",
        password: PASSWORD,
        shape: { primaries: 3, replicasPerPrimary: 1 },
        settings: {
          maxmemory,
          appendonly: true,
          appendfsync: "always",
          save: "",
          "cluster-node-timeout": 5000,
          "repl-diskless-sync-delay": 0,
          ...other,
        },
        // Kept, so that the StatefulSet can be deleted and come back to its volumes.
        storage: { size: "1Gi", onDestroy: "keep" },
        placement: { zones: zones.slice(0, 3), hostAntiAffinity: "preferred" },
      });
    });
  const tell = (pod: string, command: string): Promise<string> =>
    here.run(pod, "valkey", `. /valkey/scripts/node.sh; echo '${command}' | tell localhost 5`);
  const ready = (pod: string): Promise<boolean> =>
    here.run(pod, "valkey", "sh /valkey/scripts/ready-cluster.sh").then(
      () => true,
      () => false,
    );
  /** States that a starting node reports whenever its readiness script passes, until 10 s after the first. */
  const statesWhileReady = async (pod: string, seconds: number): Promise<string[]> => {
    const script = `. /valkey/scripts/node.sh; end=$(($(date +%s) + ${seconds})); first=
      while [ $(date +%s) -lt $end ]; do
        if sh /valkey/scripts/ready-cluster.sh; then
          echo 'CLUSTER INFO' | tell localhost 5 | tr -d '\\r' | grep ^cluster_state
          [ -n "$first" ] || { first=yes; end=$(($(date +%s) + 10)); }
        fi
        sleep 0.2
      done; true`;
    let printed: string | undefined;
    await here.until(60, async () => {
      printed ??= await here.run(pod, "valkey", script).catch(() => undefined);
      return printed === undefined ? `${pod} does not run` : undefined;
    });
    return printed?.split("\n").filter((line) => line !== "") ?? [];
  };
  const names = (pods: readonly { readonly metadata?: { readonly name?: string } }[]): string[] =>
    pods.map(({ metadata }) => metadata?.name ?? "").sort();
  const addresses = async (): Promise<string[]> => (await here.pods(LABELS)).map(({ status }) => status?.podIP ?? "");

  beforeAll(async () => {
    here = await ThrowAway.open();
    zones = await here.zones();
    await here.apply(await rendered(64 * 2 ** 20));
    await here.untilReady(LABELS, NODES, 120);
  });
  afterAll(() => here.close());

  it("is let in where only restricted pods are, which others are not", async () => {
    const root = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "root", namespace: here.namespace },
      spec: { containers: [{ name: "root", image: plainServers.image }] },
    };
    await expect(here.apply([root])).rejects.toThrow(/violates PodSecurity/);
  });

  it("is spread over the zones, one node more or less", async () => {
    const counts = new Map<string, number>();
    for (const zone of await here.zonesOf(await here.pods(LABELS))) counts.set(zone, (counts.get(zone) ?? 0) + 1);
    expect([...counts.keys()].sort()).toEqual(zones.slice(0, 3));
    expect(Math.max(...counts.values()) - Math.min(...counts.values())).toBeLessThanOrEqual(1);
  });

  it("shows the password to no list of processes", async () => {
    const seen = await here.run("shop-0", "valkey", "cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ | tr '\\0' '\\n'");
    expect(seen).toContain("valkey-server");
    expect(seen).not.toContain("hard");
    expect(await tell("shop-0", "PING")).toContain("PONG");
  });

  it("is ready before it is formed, and stays so when it is", async () => {
    expect(await tell("shop-0", "CLUSTER INFO")).toContain("cluster_known_nodes:1\r\n");
    await here.run(
      "shop-0",
      "valkey",
      `cat /valkey/secret/password | valkey-cli --askpass --no-auth-warning --cluster create ${(await addresses()).map((ip) => `${ip}:6379`).join(" ")} --cluster-replicas 1 --cluster-yes`,
    );
    await here.until(30, async () => {
      const unready = await Promise.all(
        names(await here.pods(LABELS)).map(async (pod) => ((await ready(pod)) ? [] : [pod])),
      );
      return unready.flat().length === 0 ? undefined : `not ready: ${unready.flat().join(", ")}`;
    });
    expect(await tell("shop-0", "CLUSTER NODES")).toContain(`shop-5.shop-headless.${here.namespace}.svc.cluster.local`);
  });

  it("is not ready while a replica is without its primary", async () => {
    const roles = await Promise.all(
      names(await here.pods(LABELS)).map(async (pod) => ({
        pod,
        replica: (await tell(pod, "ROLE")).startsWith("slave"),
      })),
    );
    const replica = roles.find((each) => each.replica)?.pod ?? "";
    await tell(replica, "CONFIG SET primaryauth wrong");
    await tell(replica, "CLIENT KILL TYPE master");
    await here.until(20, async () => ((await ready(replica)) ? `${replica} is still ready` : undefined));
    expect((await Promise.all(roles.map(({ pod }) => ready(pod)))).filter((is) => is)).toHaveLength(NODES - 1);
    await here.run(
      replica,
      "valkey",
      `. /valkey/scripts/node.sh; sed -n 's/^primaryauth/CONFIG SET primaryauth/p' /valkey/secret/password.conf | tell localhost 5`,
    );
    await here.until(20, async () => ((await ready(replica)) ? undefined : `${replica} is not ready`));
  });

  it("takes another limit of memory while it runs, and has it after a restart", async () => {
    const uids = async (): Promise<unknown[]> => (await here.pods(LABELS)).map(({ metadata }) => metadata?.uid).sort();
    const before = await uids();
    const bytes = 66 * 2 ** 20;
    const target = (maxmemory: number): SettingsInputs["target"] => ({
      ...podReference(
        "shop",
        { mode: "cluster", shape: { primaries: 3, replicasPerPrimary: 1 } },
        { namespace: here.namespace, zones: zones.slice(0, 3), settings: { maxmemory } },
      ),
      kubeconfig: KUBECONFIG,
    });
    const inputs = (maxmemory: number): SettingsInputs => ({
      target: target(maxmemory),
      password: PASSWORD,
      timeoutSeconds: 60,
    });
    const context = { signal: AbortSignal.timeout(60_000), report: () => undefined };
    const olds = { ...inputs(64 * 2 ** 20), pending: false, drift: [] };
    await expect(handler.update?.("shop", olds, inputs(1000), context)).rejects.toThrow(
      /more than the new maxmemory of 1000/,
    );
    await handler.update?.("shop", olds, inputs(bytes), context);
    await here.apply(await rendered(bytes));
    for (const pod of names(await here.pods(LABELS)))
      expect(await tell(pod, "CONFIG GET maxmemory")).toContain(String(bytes));
    expect(await uids()).toEqual(before);
    await here.core.deleteNamespacedPod({ namespace: here.namespace, name: "shop-5" });
    await here.until(60, async () => {
      const replaced = (await here.pods(LABELS)).filter((pod) => !before.includes(pod.metadata?.uid));
      return replaced.length === 1 && replaced.every(isReady) ? undefined : "shop-5 has not restarted";
    });
    expect(await tell("shop-5", "CONFIG GET maxmemory")).toContain(String(bytes));
  }, 200_000);

  it("loses no acknowledged write while a changed setting restarts all pods, one by one", async () => {
    await here.apply([writerPod(here.namespace, "shop", "shop-password")]);
    const before = new Set((await here.pods(LABELS)).map(({ metadata }) => metadata?.uid));
    await here.apply(await rendered(65 * 2 ** 20, { "tcp-backlog": 128 }));
    let most = 0;
    await here.until(300, async () => {
      const pods = await here.pods(LABELS);
      // A pod that stays may be unready for a moment, while its primary changes.
      most = Math.max(
        most,
        NODES -
          pods.filter(
            ({ metadata, status }) => metadata?.deletionTimestamp === undefined && status?.phase === "Running",
          ).length,
      );
      const old = pods.filter(({ metadata }) => before.has(metadata?.uid)).length;
      return old === 0 && pods.length === NODES && pods.every(isReady)
        ? undefined
        : `${old} pods are old, ${pods.filter(isReady).length} ready`;
    });
    expect(most).toBe(1);
    expect(await tell("shop-3", "CONFIG GET maxmemory")).toContain(String(65 * 2 ** 20));

    const { acknowledged, lost } = await writtenKeys(here);
    expect(acknowledged.length).toBeGreaterThan(20);
    expect(lost).toEqual([]);
  }, 400_000);

  it("does not call a node ready that has just started, while primaries elsewhere do not answer", async () => {
    const pods = names(await here.pods(LABELS));
    const [first, ...others] = (
      await Promise.all(pods.map(async (pod) => ({ pod, id: (await tell(pod, "CLUSTER MYSHARDID")).trim() })))
    ).sort((a, b) => a.id.localeCompare(b.id));
    const [second, third] = others;
    if (first === undefined || second?.id !== first.id || third === undefined)
      throw new Error("there is no shard of two");
    // CPU time, of which a pod has half a second per second.
    const busy = "local began = os.clock(); while os.clock() - began < 14 do end";
    const away = [first, second].map(({ pod }) =>
      here.run(
        pod,
        "valkey",
        `{ cat $VALKEY_PASSWORD_FILE; printf '\\n%s\\n' 'CONFIG SET busy-reply-threshold 0' 'EVAL "${busy}" 0'; } |
          valkey-cli --askpass --no-auth-warning`,
      ),
    );
    await here.until(30, async () =>
      (await tell(third.pod, "CLUSTER INFO")).includes("cluster_state:fail") ? undefined : "the shard still answers",
    );
    const before = (await here.pods(LABELS)).find((pod) => pod.metadata?.name === third.pod)?.metadata?.uid;
    await here.core.deleteNamespacedPod({ namespace: here.namespace, name: third.pod });
    await here.until(60, async () =>
      (await here.pods(LABELS)).some((pod) => pod.metadata?.name === third.pod && pod.metadata.uid !== before)
        ? undefined
        : `${third.pod} has not restarted`,
    );
    const states = await statesWhileReady(third.pod, 40);
    expect(states.filter((state) => state !== "cluster_state:ok")).toEqual([]);
    await Promise.all(away);
    await here.untilReady(LABELS, NODES, 120);
  }, 300_000);

  it("heals by itself when every pod comes back with a new address", async () => {
    const objects = await rendered(65 * 2 ** 20, { "tcp-backlog": 128 });
    const statefulSet = objects.find(({ kind }) => kind === "StatefulSet");
    if (statefulSet === undefined) throw new Error("there is no StatefulSet");
    const before = await addresses();
    expect(await here.run(WRITER_POD, WRITER_POD, valkeyCliScript("echo SET kept yes"))).toMatch(/^OK$/m);
    await here.delete(statefulSet);
    await here.apply([statefulSet]);
    const pods = Array.from({ length: NODES }, (_, number) => `shop-${number}`);
    const states = await Promise.all(pods.map((pod) => statesWhileReady(pod, 60)));
    await here.untilReady(LABELS, NODES, 120);
    expect((await addresses()).filter((address) => before.includes(address))).toEqual([]);
    // Each node, at every moment at which its readiness probe would have passed.
    expect(new Set(states.flat())).toEqual(new Set(["cluster_state:ok"]));
    expect(await here.run(WRITER_POD, WRITER_POD, valkeyCliScript("echo GET kept"))).toMatch(/^yes$/m);
  }, 300_000);
});
