/** Nodes that come back without their data while a roll-out goes on, under writes: in other zones, and without volumes. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ServerArgs } from "../../../components/kubernetes/arguments";
import { podReference } from "../../../components/kubernetes/deployment/reference";
import { ClusterServers } from "../../../components/kubernetes/servers/cluster-servers";
import type { KubernetesReference } from "../../../platforms/deployment-reference";
import { openDeployment } from "../../../platforms/deployment-reference";
import { handler as rollout } from "../../../provider/handlers/rollout";
import { form } from "../../../valkey/formation/form";
import { verifyUntilPass } from "../../../valkey/verification/verify";
import { HANDLER_CONTEXT } from "../../support/pulumi/handler-context";
import { renderObjects } from "../../support/kubernetes/kubernetes-objects";
import { ObserverPod } from "../../support/kubernetes/observer-pod";
import { KUBECONFIG, ThrowAway, WHERE } from "../../support/kubernetes/throw-away";
import type { ObservedWrites } from "../../support/kubernetes/observer-main";
import { plainServers } from "../../support/kubernetes/server-args";

const PASSWORD = "known to all of them";
const SHAPE = { primaries: 3, replicasPerPrimary: 1 };
const SETTINGS = { save: "", "cluster-node-timeout": 5000 } as const;
const labels = (name: string): Record<string, string> => ({
  "app.kubernetes.io/name": "valkey",
  "app.kubernetes.io/instance": name,
});

// Both roll-outs wait most of the time, so they go on at the same time.
describe.skipIf(KUBECONFIG === undefined)(
  `nodes that lost their data${WHERE}`,
  { timeout: 400_000, concurrent: true },
  () => {
    let here: ThrowAway;
    let all: string[];

    const targetIn = (name: string, zones: readonly string[]): KubernetesReference => ({
      ...podReference(
        name,
        { mode: "cluster", shape: SHAPE },
        { namespace: here.namespace, zones, settings: SETTINGS },
      ),
      kubeconfig: KUBECONFIG,
    });
    const apply = async (name: string, zones: string[], ephemeral: boolean, backlog = 511): Promise<void> => {
      const args: Omit<ServerArgs, "engine"> = {
        ...plainServers,
        namespace: here.namespace,
        imagePullPolicy: "IfNotPresent",
        password: PASSWORD,
        settings: { ...SETTINGS, "tcp-backlog": backlog },
        storage: { ...plainServers.storage, ephemeral },
        placement: { zones, hostAntiAffinity: "preferred" },
      };
      await here.apply(await renderObjects(() => new ClusterServers(name, { ...args, shape: SHAPE })));
    };
    const rollOut = async (name: string, from: readonly string[], to: readonly string[], ephemeral: boolean) => {
      const inputsIn = (zones: readonly string[]) => ({
        target: targetIn(name, zones),
        password: PASSWORD,
        revision: zones.join(),
        storage: { size: "1Gi", template: "data", ephemeral, onDestroy: "delete" } as const,
        timeoutSeconds: 240,
      });
      await rollout.update?.("", inputsIn(from), inputsIn(to), HANDLER_CONTEXT);
      // A failover may have left a replica in its primary's zone.
      await form(await openDeployment(targetIn(name, to), PASSWORD), SHAPE);
    };
    const start = async (name: string, ephemeral: boolean): Promise<ObserverPod<"observer-main.ts">> => {
      await apply(name, all, ephemeral);
      await here.untilReady(labels(name), 6, 120);
      await form(await openDeployment(targetIn(name, all), PASSWORD), SHAPE);
      const endpoints = Array.from({ length: 6 }, (_, index) => ({
        host: `${name}-${index}.${name}-headless`,
        port: 6379,
      }));
      const order = { mode: "cluster" as const, endpoints, rate: 250 };
      const secret = { secret: `${name}-password`, key: "password" };
      return ObserverPod.start(here, `${name}-observer`, "observer-main.ts", order, secret);
    };
    /** @returns the zones of the nodes, of a cluster that passes verification */
    const verify = async (name: string, zones: readonly string[]): Promise<string[]> => {
      const deployment = await openDeployment(targetIn(name, zones), PASSWORD);
      const { verdict } = await verifyUntilPass(deployment, { settlingMs: 20_000 });
      expect(verdict.assertions.filter(({ pass }) => !pass)).toEqual([]);
      return (await here.zonesOf(await here.pods(labels(name)))).sort();
    };
    const unharmed = ({ acknowledged, failed, errors, lost, log }: ObservedWrites): void => {
      expect({ failed, errors, lost }, log.join("\n")).toEqual({ failed: 0, errors: {}, lost: 0 });
      expect(acknowledged).toBeGreaterThan(1000);
    };

    beforeAll(async () => {
      here = await ThrowAway.open();
      all = (await here.zones()).slice(0, 3);
    });
    afterAll(() => here.close(), 200_000);

    it("move out of a zone and back into it, and clients see nothing", async () => {
      const observer = await start("moving", false);
      const [a = "", b = "", c = ""] = all;
      const move = async (from: readonly string[], to: string[]): Promise<void> => {
        await apply("moving", to, false);
        await rollOut("moving", from, to, false);
      };
      const out = await observer.during(() => move(all, [a, b]), 1000);
      expect(await verify("moving", [a, b])).toEqual([a, a, a, b, b, b]);
      const back = await observer.during(() => move([a, b], all), 1000);
      expect(await verify("moving", all)).toEqual([a, a, b, b, c, c]);
      unharmed(out);
      unharmed(back);
    });

    it("have no volumes, and join again one after the other", async () => {
      const observer = await start("volatile", true);
      const seen = await observer.during(async () => {
        await apply("volatile", all, true, 512);
        await rollOut("volatile", all, all, true);
      }, 1000);
      await verify("volatile", all);
      unharmed(seen);
    });
  },
);
