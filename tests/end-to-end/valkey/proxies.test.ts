/** Real proxies in front of real servers and Sentinels. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Deployment } from "../../../valkey/deployment";
import type { DeploymentNode } from "../../../valkey/node";
import { verify } from "../../../valkey/verification/verify";
import { Proxy, proxyProgram } from "../../support/valkey/proxy";
import { hastenSentinels } from "../../support/valkey/sentinels";
import { eventually, never, replicationOf, Sandbox, ZONES } from "../../support/valkey/real";

const NAME = "watched";
const SHAPE = { primaries: 1, replicasPerPrimary: 2 };
let haproxy: string | undefined;
let sandbox: Sandbox | undefined;
const proxies: Proxy[] = [];
beforeEach(async ({ skip }) => {
  haproxy = await proxyProgram();
  skip(haproxy === undefined, "this machine cannot have HAProxy from Debian's packages");
});
afterEach(async () => {
  await Promise.all(proxies.splice(0).map((proxy) => proxy.stop()));
  await sandbox?.close();
});

async function start(): Promise<Deployment> {
  sandbox = await Sandbox.open();
  const deployment = await sandbox.host.start(
    {
      name: NAME,
      mode: "replication",
      shape: SHAPE,
      settings: { save: "", "repl-diskless-sync-delay": 0 },
      zones: ZONES,
      zoneAddresses: true,
      sentinel: { count: 3, quorum: 2, downAfterMs: 1000, failoverTimeoutMs: 10_000 },
    },
    never,
  );
  await hastenSentinels(deployment);
  return deployment;
}

async function proxyOf(deployment: Deployment): Promise<Proxy> {
  const proxy = await Proxy.start(haproxy ?? "", deployment);
  proxies.push(proxy);
  return proxy;
}

const form = async (deployment: Deployment): Promise<void> => {
  await sandbox?.host.form(deployment, SHAPE, {});
  await eventually("Sentinels know all", async () => (await verify(deployment)).verdict.pass, 60_000);
};
const signal = async (name: string, what: "SIGSTOP" | "SIGCONT" | "SIGKILL"): Promise<void> =>
  sandbox?.host.signal(NAME, [name], what);

async function primaryAmong(deployment: Deployment, nodes: readonly DeploymentNode[]): Promise<string | undefined> {
  for (const node of nodes) {
    const index = deployment.nodes.indexOf(node);
    if ((await replicationOf(deployment, index)).get("role") === "master") return node.endpoint.host;
  }
  return undefined;
}

describe("proxies", () => {
  it(
    "send clients only to the new primary after the former one was frozen and goes on",
    { timeout: 180_000 },
    async () => {
      const deployment = await start();
      await form(deployment);
      const proxy = await proxyOf(deployment);
      const [first, ...replicas] = deployment.nodes;
      await eventually("the proxy leads to the primary", async () => (await proxy.reaches()) === first?.endpoint.host);

      await signal("watched-0", "SIGSTOP");
      let successor: string | undefined;
      await eventually(
        "a replica takes over",
        async () => (successor = await primaryAmong(deployment, replicas)) !== undefined,
        60_000,
      );
      await eventually("the proxy follows", async () => (await proxy.reaches()) === successor);
      await signal("watched-0", "SIGCONT");
      const reached = new Map<string | undefined, number>();
      for (let number = 0; number < 60; number++) {
        const server = await proxy.reaches();
        reached.set(server, (reached.get(server) ?? 0) + 1);
        await sleep(50);
      }
      // A busy machine may take longer for a connection than the client waits.
      expect([...reached.keys()].filter((server) => server !== undefined)).toEqual([successor]);
      expect(reached.get(successor)).toBeGreaterThan(50);
    },
  );

  it(
    "are ready when they have found a primary, and stay ready when all servers and most Sentinels fail",
    { timeout: 180_000 },
    async () => {
      const deployment = await start();
      const proxy = await proxyOf(deployment);
      // The servers answer, and each is a primary; Sentinels name none.
      await sleep(2000);
      expect(await proxy.isReady()).toBe(false);
      expect(await proxy.reaches()).toBeUndefined();
      await form(deployment);
      await eventually("the proxy is ready", () => proxy.isReady());
      const primary = deployment.nodes[0]?.endpoint.host;
      expect(await proxy.reaches()).toBe(primary);

      for (const name of ["watched-sentinel-0", "watched-sentinel-1"]) await signal(name, "SIGKILL");
      await sleep(2000);
      expect(await proxy.reaches()).toBe(primary);
      for (const { name } of deployment.nodes) await signal(name, "SIGKILL");
      await sleep(2000);
      expect(await proxy.reaches()).toBeUndefined();
      expect(await proxy.isReady()).toBe(true);
    },
  );
});
