/** A deployment without Sentinels whose primary hands over, in order, while a client writes at its Service. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openDeployment, openKubernetesClient } from "../../../platforms/deployment-reference";
import { designate, leadClients } from "../../../platforms/kubernetes/access/primary-lead";
import { handOver } from "../../../valkey/formation/hand-over";
import { findSolePrimary } from "../../../valkey/formation/replication-primary";
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

  it("hands over before its pod leaves", async () => {
    const leaves = `${NAME}-3`;
    const kubernetes = await openKubernetesClient(stack.target);
    const { namespace, lead } = stack.target;
    if (lead === undefined) throw new Error("nothing leads to the primary");
    await handOver(await openDeployment(stack.target, PASSWORD), {
      to: leaves,
      lead: async () => {
        await designate(kubernetes, { namespace, lead }, leaves);
        await leadClients(kubernetes, { namespace, lead }, leaves);
        // For the Service to follow.
        await sleep(1500);
      },
    });
    await untilWhole();
    const { target } = await stack.render(deployment(258, 2));
    const writes = await client.during(() => stack.ready(target), 3000);
    expect(await primary()).not.toBe(leaves);
    expect(writes).toMatchObject({ failed: [], lost: 0 });
    expect(await failing()).toEqual([]);
  });
});
