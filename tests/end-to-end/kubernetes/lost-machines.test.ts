/** Pods whose machine is switched off and does not come back: the controllers of a cluster and of Sentinels replace them. */
import type { V1Pod } from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { holdsInTime } from "../../../lib/polling";
import { ControlledPods } from "../../support/kubernetes/controlled-pods";
import { DeployedPods, podLabels } from "../../support/kubernetes/deployed-pods";
import { LocalVolumes } from "../../support/kubernetes/local-volumes";
import {
  MACHINE_COMMAND,
  neighboursOfMachines,
  ON_MACHINES,
  withCordoned,
  withoutPower,
} from "../../support/kubernetes/machines";
import { isReady, KUBECONFIG, ThrowAway } from "../../support/kubernetes/throw-away";

const SENTINEL = { count: 3, quorum: 2, downAfterMs: 2000, failoverTimeoutMs: 10_000 };
const CONTROLLER = { everySeconds: 5, repair: true, replaceLostMachinesAfterSeconds: 10 };
/** Volumes for each machine: more than the pods that may be there. */
const VOLUMES = 3;
const KEYS = 200;

describe.skipIf(KUBECONFIG === undefined || MACHINE_COMMAND === undefined)(
  `pods of a machine that does not come back${ON_MACHINES}`,
  { timeout: 600_000 },
  () => {
    const closing: (() => Promise<unknown>)[] = [];
    let here: ThrowAway;
    let victim: string;
    let cluster: ControlledPods;
    let sessions: ControlledPods;

    const podsOf = (name: string): Promise<V1Pod[]> => here.pods({ "app.kubernetes.io/instance": name });
    const isOn = ({ spec }: V1Pod): boolean => spec?.nodeName === victim;
    const isServerOrSentinel = ({ metadata }: V1Pod): boolean => /-\d+$/.test(metadata?.name ?? "");
    /** The machine with the fewest pods of others, in a zone that has a second machine. */
    const choose = async (): Promise<{ readonly victim: string; readonly neighbours: readonly string[] }> => {
      const { items } = await here.core.listPodForAllNamespaces();
      const load = (name: string): number => items.filter(({ spec }) => spec?.nodeName === name).length;
      const [first] = [...(await neighboursOfMachines(here))]
        .filter(([, neighbours]) => neighbours.length > 0)
        .sort(([a], [b]) => load(a) - load(b));
      if (first === undefined) throw new Error("no zone has two machines");
      return { victim: first[0], neighbours: first[1] };
    };

    beforeAll(async () => {
      here = await ThrowAway.open();
      closing.push(() => here.close());
      const chosen = await choose();
      ({ victim } = chosen);
      const volumes = await LocalVolumes.open(here, VOLUMES);
      closing.splice(1, 0, () => volumes.close());
      // All pods of this zone start on the machine that will be lost, and no controller does.
      const [orders, replicated] = await withCordoned(here, chosen.neighbours, async () => [
        await DeployedPods.open(
          "orders",
          { mode: "cluster", shape: { primaries: 3, replicasPerPrimary: 1 } },
          { settings: { "cluster-node-timeout": 5000 }, change: volumes.claimedBy },
          here,
        ),
        await DeployedPods.open(
          "sessions",
          { mode: "replication", shape: { primaries: 1, replicasPerPrimary: 2 }, sentinel: SENTINEL },
          { settings: {}, ephemeral: true },
          here,
        ),
      ]);
      [cluster, sessions] = await withCordoned(here, [victim], async () => [
        await ControlledPods.open(orders, CONTROLLER),
        await ControlledPods.open(replicated, CONTROLLER),
      ]);
      closing.push(
        () => cluster.close(),
        () => sessions.close(),
      );
      await cluster.untilLook(90, ({ pass }) => pass);
      await sessions.untilLook(90, ({ pass }) => pass);
    }, 500_000);
    afterAll(async () => {
      // Each but the last two removes the namespace, and the others then find it gone.
      for (const close of closing.reverse()) await close().catch(() => undefined);
    }, 300_000);

    const keysOfPrimaries = async (): Promise<number> => {
      const primaries = await cluster.pods.primaries();
      const { facts } = await cluster.pods.verified();
      return facts.nodes
        .filter(({ node }) => primaries.includes(node.name))
        .reduce((sum, { keys }) => sum + (keys.known ? keys.value : Number.NaN), 0);
    };
    const writeKeys = async (): Promise<void> => {
      const primaries = await cluster.pods.primaries();
      await cluster.pods.withNodes(async (at) => {
        for (let key = 0; key < KEYS; key++)
          for (const primary of primaries)
            await at(primary)
              .call("SET", `key:${key}`, "value")
              .catch(() => undefined);
        for (const primary of primaries) await at(primary).call("WAIT", "1", "5000");
      });
    };

    it("are replaced one at a time, with volumes that only this machine has, and no key is lost", async () => {
      await writeKeys();
      expect(await keysOfPrimaries()).toBe(KEYS);
      const all = [...(await podsOf("orders")), ...(await podsOf("sessions"))].filter(isServerOrSentinel);
      const lost = all.filter(isOn);
      const names = lost.map(({ metadata }) => metadata?.name ?? "").sort();
      // Two servers of the cluster, one of the replicated deployment, and a Sentinel.
      expect(names).toHaveLength(4);
      const began = Date.now();
      const seconds = (): number => Math.round((Date.now() - began) / 1000);
      const returned = new Map<string, number>();
      let mostAtOnce = 0;
      await withoutPower(here, victim, async () => {
        const areBack = async (): Promise<boolean> => {
          const pods = [...(await podsOf("orders")), ...(await podsOf("sessions"))].filter(isServerOrSentinel);
          const fresh = pods.filter((pod) => names.includes(pod.metadata?.name ?? "") && !isOn(pod));
          for (const pod of fresh.filter(isReady)) {
            const name = pod.metadata?.name ?? "";
            if (!returned.has(name)) returned.set(name, seconds());
          }
          const copying = fresh.filter((pod) => !isReady(pod) && pod.metadata?.name?.startsWith("orders-") === true);
          mostAtOnce = Math.max(mostAtOnce, copying.length);
          return returned.size === names.length;
        };
        const isDone = await holdsInTime(areBack, { timeoutMs: 240_000, intervalMs: 1000 });
        const events = [...(await cluster.events())];
        expect(isDone, [...returned.keys(), ...events].join("\n")).toBe(true);
        await cluster.untilLook(90, ({ pass }) => pass);
        // Kubernetes replaces proxies by itself, after five minutes.
        await sessions.untilLook(90, ({ assertions }) =>
          assertions.every(({ id, holds }) => holds || id === "clients-led"),
        );
      });
      process.stderr.write(`back after seconds: ${JSON.stringify([...returned])}\n`);
      expect(mostAtOnce).toBe(1);
      await here.untilReady(podLabels("orders"), 6, 60);
      expect(await keysOfPrimaries()).toBe(KEYS);
      const events = await cluster.events();
      const replaced = events.filter((each) => each.startsWith("Replaced: "));
      process.stderr.write(`${replaced.join("\n")}\n`);
      for (const name of names) {
        const [event = ""] = replaced.filter((each) => each.includes(` ${name}: `));
        expect(event).toContain(`machine ${victim} has been not Ready for`);
        if (name.startsWith("orders-")) expect(event).toContain(`the volume of data-${name} is on this machine`);
      }
      expect(replaced).toHaveLength(names.length);
    });
  },
);
