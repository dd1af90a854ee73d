import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { form } from "../../../valkey/formation/form";
import type { KubernetesClient } from "../../../platforms/kubernetes/api/client";
import { type PodDeployment, awaitPodDeployment } from "../../../platforms/kubernetes/deployment";
import { infoNumber, parseInfo } from "../../../valkey/topology/replies";
import { verify } from "../../../valkey/verification/verify";
import { applyServers, testServers } from "../../support/kubernetes/test-servers";
import { KUBECONFIG, ThrowAway, WHERE, openThrowAwayClient } from "../../support/kubernetes/throw-away";

describe.skipIf(KUBECONFIG === undefined)(`pods as a deployment${WHERE}`, { timeout: 180_000 }, () => {
  let kubernetes: KubernetesClient;
  let here: ThrowAway;
  beforeAll(async () => {
    kubernetes = await openThrowAwayClient();
    here = await ThrowAway.open();
  });
  afterAll(() => here.close());

  describe("in cluster mode", () => {
    const servers = testServers({ name: "cluster" });
    let deployment: PodDeployment;
    beforeAll(async () => {
      deployment = await awaitPodDeployment(kubernetes, await applyServers(here, servers), {
        timeoutMs: 120_000,
      });
    });

    it("has the pods' names, addresses, machines and zones, and the image", () => {
      expect(deployment.nodes.map(({ name }) => name)).toEqual(
        [0, 1, 2, 3, 4, 5].map((ordinal) => `cluster-${ordinal}`),
      );
      for (const { endpoint, machine, zone } of deployment.nodes) {
        expect(endpoint).toMatchObject({ host: expect.stringMatching(/^[\d.]+$|:/) as string, port: 6379 });
        expect(machine).not.toBe("");
        expect(zone).toBeDefined();
      }
      expect(new Set(deployment.nodes.map(({ zone }) => zone)).size).toBe(3);
      expect(deployment).toMatchObject({
        labels: { app: "cluster" },
        image: expect.stringContaining("valkey") as string,
        memoryBytes: 16 * 2 ** 20,
      });
    });

    it("forms, passes verification, and forming again changes nothing", async () => {
      expect(await form(deployment, servers.shape)).toMatchObject({ changed: true });
      const { verdict } = await verify(deployment);
      expect(verdict.assertions.filter(({ pass }) => !pass)).toEqual([]);
      expect(verdict.pass).toBe(true);
      expect(await form(deployment, servers.shape)).toMatchObject({ changed: false });
    });

    it("opens many port-forwards at once, and closes each when it is done with", async () => {
      const [node] = deployment.nodes;
      if (node === undefined) throw new Error("there is no node");
      const watching = await deployment.connect(node);
      const clients = async (): Promise<number | undefined> =>
        infoNumber(parseInfo(await watching.info("clients")), "connected_clients");
      const settled = async (count: number): Promise<void> => {
        for (let tries = 0; tries < 50 && (await clients()) !== count; tries++) await sleep(100);
        expect(await clients()).toBe(count);
      };
      await settled(1);
      const connections = await Promise.all(Array.from({ length: 40 }, () => deployment.connect(node)));
      expect(await Promise.all(connections.map((connection) => connection.ping()))).toEqual(
        connections.map(() => "PONG"),
      );
      await settled(41);
      for (const connection of connections) connection.disconnect();
      await settled(1);
      watching.disconnect();
    });

    it("carries replies of any size", async () => {
      const [node] = deployment.nodes;
      if (node === undefined) throw new Error("there is no node");
      const connection = await deployment.connect(node);
      const text = "0123456789abcdef".repeat(512 * 1024);
      expect(await connection.echo(text)).toBe(text);
      connection.disconnect();
    });

    it("is refused with a word on the password when that is another", async () => {
      const other = {
        name: "cluster",
        mode: servers.mode,
        shape: servers.shape,
        namespace: here.namespace,
        pods: { labels: { app: "cluster" } },
        directives: new Map<string, string>(),
      };
      await expect(awaitPodDeployment(kubernetes, { ...other, access: { password: "wrong" } })).rejects.toThrow(
        /^cluster-\d \([\d.]+:6379\): the server refuses the password$/,
      );
    });
  });

  it("forms and verifies in replication mode", async () => {
    const servers = testServers({
      name: "replication",
      mode: "replication",
      shape: { primaries: 1, replicasPerPrimary: 2 },
    });
    const deployment = await awaitPodDeployment(kubernetes, await applyServers(here, servers), {
      timeoutMs: 120_000,
    });
    expect(await form(deployment, servers.shape)).toMatchObject({ changed: true });
    const { verdict } = await verify(deployment);
    expect(verdict.assertions.filter(({ pass }) => !pass)).toEqual([]);
    expect(verdict.shards).toMatchObject([{ primary: "replication-0" }]);
  });
});
