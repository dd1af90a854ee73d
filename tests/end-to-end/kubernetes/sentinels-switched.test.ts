/** Sentinels that come to a deployment that runs, and leave it again, while a client writes. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { KubernetesReference } from "../../../platforms/deployment-reference";
import { openDeployment, openKubernetesClient } from "../../../platforms/deployment-reference";
import { designatedPod } from "../../../platforms/kubernetes/access/primary-lead";
import { handler as scaleIn } from "../../../provider/handlers/scale-in";
import type { Connection } from "../../../valkey/connection";
import type { Deployment } from "../../../valkey/deployment";
import { findSolePrimary } from "../../../valkey/membership/replication-primary";
import { verify } from "../../../valkey/verification/verify";
import { EnginelessStack, PASSWORD } from "../../support/kubernetes/engineless-stack";
import type { KubernetesObject } from "../../support/kubernetes/kubernetes-objects";
import { KUBECONFIG, ThrowAway, WHERE } from "../../support/kubernetes/throw-away";

const NAME = "orders";
const LABELS = { "app.kubernetes.io/name": "valkey", "app.kubernetes.io/instance": NAME };
const deployment = (sentinel: boolean): object => ({
  mode: "replication",
  replicas: 2,
  sentinel,
  settings: { save: "", "repl-diskless-sync-delay": 0 },
});
const PLAIN = deployment(false);
const WATCHED = deployment(true);

/** Without Sentinels, which may be stopped. */
function openServers({ target }: EnginelessStack, timeoutMs: number): Promise<Deployment> {
  const { sentinel: _sentinels, ...servers } = target;
  return openDeployment(servers, PASSWORD, { timeoutMs });
}

/** Writes to whichever server is the primary, and notes what a replica has acknowledged. */
class Writer {
  readonly acknowledged: string[] = [];
  #ends = false;
  readonly #work: Promise<void>;

  constructor(private readonly stack: EnginelessStack) {
    this.#work = this.#write();
  }

  async stop(): Promise<void> {
    this.#ends = true;
    await this.#work;
  }

  readonly #isDone = (): boolean => this.#ends;

  async #write(): Promise<void> {
    for (let number = 0; !this.#ends;) {
      let connection: Connection | undefined;
      try {
        const there = await openServers(this.stack, 1000);
        connection = await there.connect(await findSolePrimary(there));
        while (!this.#isDone()) {
          await connection.set(`order:${number}`, number);
          if ((await connection.wait(1, 1000)) > 0) this.acknowledged.push(`order:${number}`);
          number++;
          await sleep(5);
        }
      } catch {
        await sleep(100);
      } finally {
        connection?.disconnect();
      }
    }
  }
}

describe.skipIf(KUBECONFIG === undefined)(`Sentinels of a deployment that runs${WHERE}`, { timeout: 300_000 }, () => {
  let here: ThrowAway;
  let stack: EnginelessStack;
  let writer: Writer | undefined;
  beforeAll(async () => {
    here = await ThrowAway.open();
    stack = new EnginelessStack(here, NAME, await here.zones());
    await stack.bringTo(PLAIN);
    writer = new Writer(stack);
  }, 200_000);
  afterAll(async () => {
    await writer?.stop();
    await here.close();
  }, 200_000);

  const primary = async (): Promise<string> => {
    return (await findSolePrimary(await openServers(stack, 60_000))).name;
  };
  const sentinels = async (): Promise<number> =>
    (await here.pods({ "app.kubernetes.io/instance": NAME })).filter(({ metadata }) =>
      metadata?.name?.startsWith(`${NAME}-sentinel-`),
    ).length;
  /** The deployment passes verification, and has every write that a replica has acknowledged. */
  async function isWhole(): Promise<void> {
    const there = await openDeployment(stack.target, PASSWORD);
    const { verdict } = await verify(there);
    expect(verdict.assertions.filter(({ pass }) => !pass)).toEqual([]);
    const written = [...(writer?.acknowledged ?? [])];
    expect(written.length).toBeGreaterThan(50);
    const connection = await there.connect(await findSolePrimary(there));
    const values = await connection.mget(written);
    connection.disconnect();
    expect(written.filter((_key, index) => values[index] === null)).toEqual([]);
  }

  /** Sentinels and the replicas come long before pod 0 restarts, as where a replica copies much data. */
  async function bringReplicasFirst(objects: readonly KubernetesObject[], target: KubernetesReference): Promise<void> {
    const partly = { updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 1 } } };
    await here.apply(
      stack
        .managed(objects, target)
        .map((object) =>
          object.kind === "StatefulSet" && object.metadata.name === NAME
            ? { ...object, spec: { ...(object.spec as object), ...partly } }
            : object,
        ),
    );
    const asked = `SENTINEL REPLICAS ${NAME}`;
    const ask = `. /valkey/scripts/node.sh; echo "${asked}" | tell ${NAME}-sentinel-0.${NAME}-sentinel 5 26379`;
    await here.until(90, async () => {
      const said = await here.run(`${NAME}-1`, "valkey", ask).catch(String);
      return said.match(/^flags\nslave$/gm)?.length === 2 ? undefined : said;
    });
  }

  it("come, which the preview says, and leave pod 0 the primary", async () => {
    const { target, objects } = await stack.render(WATCHED);
    expect(
      scaleIn.describeChange?.({ target: stack.target, password: PASSWORD, timeoutSeconds: 0 }, { target }),
    ).toEqual([
      "Sentinels are added: a replica takes over when the primary fails, and clients connect through proxies",
    ]);
    await bringReplicasFirst(objects, target);
    expect((await stack.bringTo(WATCHED)).verdict.pass).toBe(true);
    await isWhole();
    // Sentinels look for a pod's new address after 15 s.
    await sleep(20_000);
    expect(await primary()).toBe(`${NAME}-0`);
    await isWhole();
  });

  it("run again where their end is taken back before the servers have changed", async () => {
    // The primary is another pod than the one that was designated before the Sentinels came.
    await here.core.deleteNamespacedPod({ namespace: here.namespace, name: `${NAME}-0` });
    await here.until(60, async () => ((await primary()) === `${NAME}-0` ? "pod 0 is still the primary" : undefined));
    await here.untilReady(LABELS, 3, 120);
    const { target: plain } = await stack.render(PLAIN);
    await stack.ready(plain);
    expect(await sentinels()).toBe(0);
    const { namespace, lead } = stack.target;
    if (lead === undefined) throw new Error("nothing leads to the primary");
    const kubernetes = await openKubernetesClient(stack.target);
    expect([await primary(), await designatedPod(kubernetes, { namespace, lead })]).not.toContain(`${NAME}-0`);
    expect(await designatedPod(kubernetes, { namespace, lead })).toBe(await primary());
    await stack.ready(stack.target, [plain]);
    expect((await stack.bringTo(WATCHED)).verdict.pass).toBe(true);
    expect(await sentinels()).toBe(3);
    await isWhole();
  });

  it("leave, after which the designated pod stays the primary, with every write", async () => {
    expect((await stack.bringTo(PLAIN)).verdict.pass).toBe(true);
    expect(await sentinels()).toBe(0);
    const designated = await primary();
    // Sentinels that are still there make another primary a replica after 15 to 18 s.
    await sleep(20_000);
    expect(await primary()).toBe(designated);
    await isWhole();
  });
});
