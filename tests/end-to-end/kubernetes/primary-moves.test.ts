/** A deployment without Sentinels whose primary hands over, in order, while a client writes at its Service. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openDeployment, openKubernetesClient } from "../../../platforms/deployment-reference";
import type { LeadPlace } from "../../../platforms/kubernetes/access/primary-lead";
import { designate, leadClients } from "../../../platforms/kubernetes/access/primary-lead";
import type { KubernetesClient } from "../../../platforms/kubernetes/api/client";
import { handOver } from "../../../valkey/formation/hand-over";
import { findSolePrimary } from "../../../valkey/membership/replication-primary";
import { verify } from "../../../valkey/verification/verify";
import { EnginelessStack, PASSWORD } from "../../support/kubernetes/engineless-stack";
import { ObserverPod } from "../../support/kubernetes/observer-pod";
import { KUBECONFIG, ThrowAway, WHERE } from "../../support/kubernetes/throw-away";

const NAME = "orders";
const deployment = (backlog: number, replicas = 3): object => ({
  mode: "replication",
  replicas,
  sentinel: false,
  settings: { save: "", "repl-diskless-sync-delay": 0, "tcp-backlog": backlog },
});

describe.skipIf(KUBECONFIG === undefined)(`a primary without Sentinels${WHERE}`, { timeout: 300_000 }, () => {
  let here: ThrowAway;
  let stack: EnginelessStack;
  let client: ObserverPod<"ioredis-main.ts">;
  beforeAll(async () => {
    here = await ThrowAway.open();
    stack = new EnginelessStack(here, NAME, await here.zones());
    await stack.bringTo(deployment(256));
    const at = { host: `${NAME}.${here.namespace}.svc.cluster.local`, port: 6379 };
    const password = { secret: `${NAME}-password`, key: "password" };
    client = await ObserverPod.start(...([here, "client", "ioredis-main.ts"] as const), { at }, password);
  }, 200_000);
  afterAll(() => here.close(), 200_000);

  const primary = async (): Promise<string> =>
    (await findSolePrimary(await openDeployment(stack.target, PASSWORD))).name;
  const failing = async (): Promise<unknown[]> => {
    const { verdict } = await verify(await openDeployment(stack.target, PASSWORD));
    return verdict.assertions.filter(({ pass }) => !pass);
  };
  const leading = async (): Promise<{ readonly kubernetes: KubernetesClient; readonly place: LeadPlace }> => {
    const { namespace, lead } = stack.target;
    if (lead === undefined) throw new Error("nothing leads to the primary");
    return { kubernetes: await openKubernetesClient(stack.target), place: { namespace, lead } };
  };
  /** Has a pod take over, to which clients are led then. */
  async function moveTo(pod: string): Promise<void> {
    const { kubernetes, place } = await leading();
    await handOver(await openDeployment(stack.target, PASSWORD), {
      to: pod,
      lead: async () => {
        await designate(kubernetes, place, pod);
        await leadClients(kubernetes, place, pod);
        // For the Service to follow.
        await sleep(1500);
      },
    });
    await untilWhole();
  }
  const untilWhole = (): Promise<void> =>
    here.until(60, async () => {
      const found = await failing();
      return found.length === 0 ? undefined : JSON.stringify(found);
    });

  async function changes(backlog: number): Promise<void> {
    const former = await primary();
    const writes = await client.during(() => stack.bringTo(deployment(backlog)), 3000);
    expect(await primary()).not.toBe(former);
    expect(writes).toMatchObject({ failed: [], lost: 0 });
    expect(writes.acknowledged).toBeGreaterThan(500);
    expect(await failing()).toEqual([]);
  }

  it("hands over before its pod restarts", () => changes(257));

  it("is the designated one when it restarts by itself, wherever it is", async () => {
    const former = await primary();
    expect(former).not.toBe(`${NAME}-0`);
    const writes = await client.during(async () => {
      await here.core.deleteNamespacedPod({ namespace: here.namespace, name: former });
      await untilWhole();
    }, 1000);
    expect(await primary()).toBe(former);
    expect(writes.lost).toBe(0);
  });

  it("hands over again, to a pod of the new template", () => changes(258));

  it("is shown by a refresh to be led to by nobody, or to have pods that nobody restarts", async () => {
    expect(await stack.refreshed()).not.toHaveProperty("unfinished");
    const { kubernetes, place } = await leading();
    await leadClients(kubernetes, place, `${NAME}-3`);
    expect(await stack.refreshed()).toMatchObject({ unfinished: true });
    await leadClients(kubernetes, place, await primary());
    expect(await stack.refreshed()).not.toHaveProperty("unfinished");
    // As an update that was killed: the StatefulSet has its template, and nobody restarts the pods.
    const { objects, target } = await stack.render(deployment(259));
    await here.apply(stack.managed(objects, target));
    await here.until(30, async () => ((await stack.refreshed())?.unfinished === true ? undefined : "nothing is found"));
    await stack.bringTo(deployment(258));
    expect(await stack.refreshed()).not.toHaveProperty("unfinished");
  });

  it.each([
    ["", false],
    [" and Sentinels come", true],
  ])("hands over before its pod leaves%s", async (_when, sentinel) => {
    const leaves = `${NAME}-3`;
    await moveTo(leaves);
    const { target } = await stack.render({ ...deployment(258, 2), sentinel });
    const writes = await client.during(() => stack.ready(target), 3000);
    expect(await primary()).not.toBe(leaves);
    expect(writes).toMatchObject({ failed: [], lost: 0 });
    expect(await failing()).toEqual([]);
  });

  it("is where a Service for clients outside leads that comes later", async () => {
    await moveTo(`${NAME}-1`);
    const { verdict } = await stack.bringTo({ ...deployment(258), external: { type: "NodePort" } });
    expect(verdict.assertions.find(({ id }) => id === "clients-led")).toMatchObject({
      pass: true,
      found: expect.stringContaining(`${NAME}-external to the primary`) as string,
    });
  });
});
