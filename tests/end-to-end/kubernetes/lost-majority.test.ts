/** A cluster that loses most primaries together, so that nobody can elect a replica: what the controller says and does. */
import type { V1NodeList } from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ControllerArgs } from "../../../components/kubernetes/arguments";
import calculateSlot from "cluster-key-slot";
import { lookOf } from "../../../operations/inspection/look";
import { LostShards } from "../../../operations/healing/lost-shards";
import { groupBy } from "../../../lib/group-by";
import { openKubernetesClient } from "../../../platforms/deployment-reference";
import type { KubernetesClient } from "../../../platforms/kubernetes/api/client";
import { inspectDeployment } from "../../../operations/inspection/drift";
import { ControlledPods } from "../../support/kubernetes/controlled-pods";
import { never } from "../../support/valkey/real";
import { DeployedPods, podLabels } from "../../support/kubernetes/deployed-pods";
import { giveBackPods, losePods } from "../../support/kubernetes/lost-pods";
import {
  MACHINE_COMMAND,
  makePrimaries,
  ON_MACHINES,
  taintOutOfService,
  untilMachineIsDown,
  withoutPower,
} from "../../support/kubernetes/machines";
import { KUBECONFIG, WHERE } from "../../support/kubernetes/throw-away";

const KEYS = Array.from({ length: 60 }, (_, index) => `key-${index}`);

describe.skipIf(KUBECONFIG === undefined)(`a cluster that loses most primaries${WHERE}`, { timeout: 400_000 }, () => {
  let pods: DeployedPods;
  let controlled: ControlledPods;
  beforeAll(async () => {
    const kind = { mode: "cluster" as const, shape: { primaries: 3, replicasPerPrimary: 1 } };
    const settings = {
      ...{ appendonly: true, save: "", "cluster-node-timeout": 2000, "repl-diskless-sync-delay": 0 },
    };
    pods = await DeployedPods.open("orders", kind, { settings });
  });
  afterAll(() => controlled.close(), 200_000);

  const control = async (args: ControllerArgs): Promise<void> => {
    controlled = await ControlledPods.open(pods, { everySeconds: 5, ...args });
    await controlled.untilLook(60, ({ pass }) => pass);
  };

  const lose = (names: readonly string[]): Promise<void> => losePods(pods, names);

  const giveBack = async (): Promise<void> => {
    await giveBackPods(pods, 6);
    await controlled.untilLook(120, ({ pass }) => pass);
  };

  const heldKeys = async (): Promise<number> => {
    const primaries = await pods.primaries();
    return pods.withNodes(async (at) => {
      const counts = await Promise.all(primaries.map((name) => at(name).dbsize()));
      return counts.reduce((sum, each) => sum + each, 0);
    });
  };

  const writeKeys = async (): Promise<void> => {
    const { shards } = (await pods.verified()).verdict;
    await pods.withNodes(async (at) => {
      for (const key of KEYS) {
        const slot = calculateSlot(key);
        const shard = shards.find(({ slots }) => slots.some(({ from, to }) => from <= slot && slot <= to));
        await at(shard?.primary).set(key, "value");
        await at(shard?.primary).wait(1, 5000);
      }
    });
  };

  it("is told apart from one that recovers, and the controller says what to type", async () => {
    await control({ onLostMajority: "report" });
    await writeKeys();
    const [first, second] = (await pods.verified()).verdict.shards;
    await lose([first?.primary ?? "", second?.primary ?? ""]);
    await pods.here.until(90, async () => {
      const advice = (await controlled.events()).filter((each) => each.startsWith("ShardsLost: "));
      const says = (replica: string | undefined, command: string): boolean =>
        advice.some((each) => each.includes(`exec ${replica ?? ""} `) && each.includes(`FAILOVER ${command}`));
      const replicas = [first?.replicas[0], second?.replicas[0]];
      return replicas.some((each) => says(each, "TAKEOVER")) && replicas.some((each) => says(each, "FORCE"))
        ? undefined
        : advice.join("\n");
    });
    await giveBack();
    expect(await controlled.events()).not.toContainEqual(expect.stringMatching(/^TookOver/));
    expect(await heldKeys()).toBe(KEYS.length);
  });

  it("gets no new primaries while the machines of its lost servers may run, even with consent", async () => {
    await control({ onLostMajority: "takeover" });
    const [first, second] = (await pods.verified()).verdict.shards;
    await lose([first?.primary ?? "", second?.primary ?? ""]);
    await pods.here.until(90, async () => {
      const events = await controlled.events();
      return events.some((each) => each.startsWith("ShardsLost: no replica takes over"))
        ? undefined
        : events.join("\n");
    });
    await giveBack();
    expect(await controlled.events()).not.toContainEqual(expect.stringMatching(/^TookOver/));
    expect(await heldKeys()).toBe(KEYS.length);
  });

  it("serves again when the API server no longer knows the machine of two primaries, without losing a key", async () => {
    await control({ repair: false });
    const { target, password } = pods;
    const victim = await crowd(pods);
    const told: string[] = [];
    const context = { target, reaction: "takeover" as const, log: (): void => undefined };
    const lostShards = new LostShards({
      ...{ ...context, kubernetes: withoutMachine(await openKubernetesClient(target), victim) },
      tell: ({ reason, message }) => Promise.resolve(void told.push(`${reason}: ${message}`)),
      withLease: async (signal, work) => {
        await work(signal);
        return true;
      },
    });
    const look = async (): Promise<void> => {
      const inspection = await inspectDeployment(target, password, { timeoutMs: 5000, signal: never });
      const found = lookOf("orders", inspection, { at: new Date(), seconds: 0, former: undefined });
      await lostShards.onLook(found, password, never);
    };
    // Before the loss, a look finds out on which machines the pods are.
    await look();
    expect(told).toEqual([]);
    const on = (await pods.here.pods(podLabels("orders"))).filter(({ spec }) => spec?.nodeName === victim);
    await lose(on.map(({ metadata }) => metadata?.name ?? ""));
    const survivor = (await pods.here.pods(podLabels("orders")))[0]?.metadata?.name ?? "";
    await pods.here.until(90, async () => {
      await look();
      const info = await clusterInfo(pods, survivor);
      return info.includes("cluster_state:ok") ? undefined : [...told, info].join("\n");
    });
    expect(told.filter((each) => each.startsWith("TookOver: ")).length).toBeGreaterThan(0);
    await giveBack();
    expect(await heldKeys()).toBe(KEYS.length);
  });

  it.skipIf(MACHINE_COMMAND === undefined)(
    `serves again when the machine of two primaries is out of service, without losing a key${ON_MACHINES}`,
    async () => {
      await control({ onLostMajority: "takeover" });
      const { here } = pods;
      const victim = await crowd(pods);
      try {
        await withoutPower(here, victim, async () => {
          await untilMachineIsDown(here, victim);
          await taintOutOfService(here, victim, true);
          const tainted = Date.now();
          const survivor = (await here.pods(podLabels("orders"))).find(({ spec }) => spec?.nodeName !== victim);
          await here.until(90, async () => {
            const info = await clusterInfo(pods, survivor?.metadata?.name ?? "");
            return info.includes("cluster_state:ok") ? undefined : info;
          });
          const seconds = (Date.now() - tainted) / 1000;
          process.stderr.write(`served again ${seconds} s after the machine was known to be off\n`);
        });
      } finally {
        await taintOutOfService(here, victim, false);
      }
      await here.untilReady(podLabels("orders"), 6, 240);
      await controlled.untilLook(180, ({ pass }) => pass);
      expect((await controlled.events()).filter((each) => each.startsWith("TookOver: ")).length).toBeGreaterThan(0);
      expect(await heldKeys()).toBe(KEYS.length);
    },
  );
});

async function crowd(pods: DeployedPods): Promise<string> {
  const machines = groupBy((await pods.verified()).facts.nodes, ({ node }) => node.machine);
  const [victim = ""] = [...machines].find(([, on]) => on.length === 2) ?? [];
  await makePrimaries(pods, victim);
  return victim;
}

/** A client to which the API server seems not to know a machine. */
function withoutMachine(kubernetes: KubernetesClient, machine: string): KubernetesClient {
  const listNode = async (): Promise<V1NodeList> => {
    const list = await kubernetes.core.listNode();
    list.items = list.items.filter(({ metadata }) => metadata?.name !== machine);
    return list;
  };
  const core = Object.create(kubernetes.core, { listNode: { value: listNode } }) as KubernetesClient["core"];
  return Object.create(kubernetes, { core: { value: core } }) as KubernetesClient;
}

function clusterInfo({ here, target: { container } }: DeployedPods, pod: string): Promise<string> {
  return here.run(pod, container, '. /valkey/scripts/node.sh; echo "CLUSTER INFO" | tell localhost 5');
}
