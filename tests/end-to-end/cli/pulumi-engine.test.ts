/** The host stack on a real Pulumi engine: up, again, resized, changed, refreshed, interrupted, destroyed. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { stopRun } from "../../../platforms/host/run-directory";
import type { Deployment } from "../../../valkey/deployment";
import { openDeployment } from "../../../platforms/deployment-reference";
import { type StackOutputs, outputsSchema } from "../../../stacks/program/outputs";
import { Clients } from "../../support/valkey/clients";
import { pulumiPath, PulumiStack, pulumiSkipNote } from "../../support/pulumi/pulumi-stack";
import { valkeyHome, withNode } from "../../support/valkey/real";

const config = (
  changes: {
    clients?: number;
    policy?: string;
    backlog?: number;
    primaries?: number;
    replicas?: number;
    capacity?: boolean;
    output?: string;
  } = {},
): Record<string, unknown> => ({
  platform: { type: "host", zones: ["a", "b", "c"] },
  deployments: {
    cluster: {
      mode: "cluster",
      primaries: changes.primaries ?? 3,
      settings: {
        save: "",
        "maxmemory-policy": changes.policy ?? "noeviction",
        "tcp-backlog": changes.backlog ?? 511,
      },
    },
    replication: { mode: "replication", replicas: changes.replicas ?? 2, sentinel: false, settings: { save: "" } },
  },
  benchmark: {
    tests: ["get"],
    clients: changes.clients ?? 12,
    threads: 1,
    duration: 1,
    warmup: 0,
    repeats: 1,
    keySpace: 16_384,
    ...(changes.output === undefined ? {} : { output: changes.output }),
  },
  ...(changes.capacity === true
    ? {
        workloads: { steady: { loadGenerator: "open-loop", rate: 100, reads: 0.9, clients: 6, keySpace: 16_384 } },
        capacity: { objective: "p50=2s", initialRate: 100, maxRate: 200, precision: 1, confirmations: 1 },
      }
    : {}),
});

/**
 * The stack, the benchmark with its measurement, and of each deployment the component, password, servers, formation and
 * check.
 */
const ALL_SAME = { same: 13 };

describe.skipIf(pulumiPath() === undefined)(
  `the host stack on the Pulumi engine${pulumiSkipNote()}`,
  { timeout: 240_000 },
  () => {
    let trial: PulumiStack;
    beforeAll(async () => {
      trial = await PulumiStack.open(config(), { VALKEY_HOME: await valkeyHome() });
    });
    afterAll(() => trial.close());

    const outputs = async (): Promise<StackOutputs> =>
      outputsSchema.parse((await trial.stack.outputs())["valkey"]?.value);
    const passwords = async (): Promise<Record<string, string>> =>
      (await trial.stack.outputs())["passwords"]?.value as Record<string, string>;

    async function clusterNow(): Promise<Deployment> {
      const { endpoints } = await outputs();
      const { cluster: password } = await passwords();
      const addresses = endpoints.find(({ deployment }) => deployment === "cluster")?.addresses ?? [];
      const nodes = addresses.map((address, index) => {
        const [host = "", port = ""] = address.split(":");
        return { name: `cluster-${index}`, machine: "here", zone: undefined, endpoint: { host, port: Number(port) } };
      });
      return openDeployment(
        {
          platform: "endpoints",
          name: "cluster",
          mode: "cluster",
          shape: { primaries: nodes.length / 2, replicasPerPrimary: 1 },
          zones: [],
          directives: {},
          nodes,
        },
        password,
      );
    }

    async function upUnderLoad(): Promise<Record<string, number>> {
      const clients = new Clients(await clusterNow());
      let wrong: string[] = [];
      let changes: Record<string, number>;
      try {
        changes = await trial.up();
      } finally {
        wrong = await clients.stop();
      }
      expect(clients.operations).toBeGreaterThan(100);
      expect({ wrong, errors: clients.errors }).toEqual({ wrong: [], errors: [] });
      return changes;
    }

    it("comes up verified and measured, with results among the outputs and no password in plain state", async () => {
      await trial.up();
      const { topologies, comparison } = await outputs();
      expect(topologies.map(({ verdict }) => verdict.pass)).toEqual([true, true]);
      expect(comparison.map(({ test, rows }) => [test, rows.length])).toEqual([["GET", 2]]);
      expect((await trial.stack.outputs())["passwords"]?.secret).toBe(true);
      expect(trial.state()).toContain("DeploymentVerification");
      for (const password of Object.values(await passwords())) {
        expect(password).toMatch(/^[0-9a-f]{48}$/);
        expect(trial.state().includes(password)).toBe(false);
        expect(trial.log.join("").includes(password)).toBe(false);
      }
      expect(trial.living()).toBe(9);
      const report = String((await trial.stack.outputs())["report"]?.value);
      expect(report).toMatch(/^results\/\d{8}-\d{6}\/report\.html$/);
      expect(existsSync(join(trial.directory, report))).toBe(true);
    });

    it("changes nothing the second time, and refresh finds no drift", async () => {
      expect(await trial.up({ expectNoChanges: true })).toEqual(ALL_SAME);
      expect(
        (await trial.stack.refresh({ onOutput: trial.onOutput, expectNoChanges: true })).summary.resourceChanges,
      ).toEqual(ALL_SAME);
    });

    it("measures anew when the workload changes, and nothing else", async () => {
      trial.configure(config({ clients: 24 }));
      expect(await trial.up()).toEqual({ same: 12, update: 1 });
    });

    it("measures nothing again because results are to lie elsewhere", async () => {
      trial.configure(config({ clients: 24, output: "elsewhere" }));
      expect(await trial.up()).toEqual(ALL_SAME);
      expect(existsSync(join(trial.directory, "elsewhere"))).toBe(false);
    });

    it("finds the capacity that is asked for, and has it among the outputs", async () => {
      trial.configure(config({ clients: 24, capacity: true }));
      expect(await trial.up()).toEqual({ same: 12, update: 1 });
      const { results } = await outputs();
      expect(results?.capacities).toMatchObject([
        { deployment: "cluster", capacity: 200, isOpenEnded: true },
        { deployment: "replication", capacity: 200, isOpenEnded: true },
      ]);
      // Before each round and after the last, and around the searches.
      expect(results?.referenceLoads.map(({ round }) => round)).toEqual([1, 2, 3, 4, 5]);
      trial.configure(config({ clients: 24 }));
      await trial.up();
      expect((await outputs()).results?.capacities).toEqual([]);
    });

    it("takes primaries and replicas in and out while clients work, and replaces nothing", async () => {
      const before = (await clusterNow()).nodes.map(({ endpoint }) => endpoint);
      trial.configure(config({ clients: 24, primaries: 4, replicas: 3 }));
      // Of either deployment servers, formation and check, and the measurement.
      expect(await upUnderLoad()).toEqual({ same: 6, update: 7 });
      expect((await outputs()).topologies.map(({ verdict, shards }) => [verdict.pass, shards.length])).toEqual([
        [true, 4],
        [true, 1],
      ]);
      expect(trial.living()).toBe(12);
      trial.configure(config({ clients: 24 }));
      expect(await upUnderLoad()).toEqual({ same: 6, update: 7 });
      expect((await clusterNow()).nodes.map(({ endpoint }) => endpoint)).toEqual(before);
      expect(trial.living()).toBe(9);
    });

    it("sets another policy on running servers, which keep their data, and refuses what would lose it", async () => {
      trial.configure(config({ clients: 24, policy: "allkeys-lru" }));
      trial.log.length = 0;
      await trial.stack.preview({ onOutput: trial.onOutput });
      expect(trial.log.join("")).toContain("maxmemory-policy allkeys-lru: set on 6 running nodes");
      expect(await upUnderLoad()).not.toHaveProperty("replace");
      const policy = await withNode(await clusterNow(), 5, (connection) =>
        connection.config("GET", "maxmemory-policy"),
      );
      expect(policy).toEqual(["maxmemory-policy", "allkeys-lru"]);
      trial.configure(config({ clients: 24, policy: "allkeys-lru", backlog: 128 }));
      await expect(trial.up()).rejects.toThrow(
        /a running server cannot take a new value of tcp-backlog, and a restart .* loses the data/,
      );
      trial.configure(config({ clients: 24 }));
      await trial.up();
    });

    it("goes on where it was killed in the middle of another shape", async () => {
      trial.configure(config({ clients: 24, primaries: 4 }));
      const clients = new Clients(await clusterNow());
      await trial.interruptedUp(/HostServers cluster updating/, "SIGKILL");
      await trial.stack.cancel();
      await trial.up();
      expect(await clients.stop()).toEqual([]);
      expect((await outputs()).topologies.map(({ verdict }) => verdict.pass)).toEqual([true, true]);
      expect(trial.living()).toBe(11);
    });

    it("notices on refresh that servers are gone, and makes them again", async () => {
      const cluster = trial.runs().find(({ info }) => info.stack.endsWith("/cluster"));
      await stopRun(cluster?.path ?? "");
      expect((await trial.stack.refresh({ onOutput: trial.onOutput })).summary.resourceChanges).toMatchObject({
        delete: 1,
      });
      trial.configure(config());
      await trial.up();
      expect(trial.living()).toBe(9);
    });

    it("sees on refresh that a node has lost its data and its cluster, and takes it back", async () => {
      const lost = (await clusterNow()).nodes.length - 1;
      await withNode(await clusterNow(), lost, (connection) => connection.cluster("RESET", "HARD"));
      expect((await trial.stack.refresh({ onOutput: trial.onOutput })).summary.resourceChanges).toMatchObject({
        update: 2,
      });
      expect(trial.state()).toMatch(/"drift":\s*\[\s*"[a-z-]+: /);
      await trial.up();
      expect(trial.state()).not.toMatch(/"drift":\s*\[\s*"/);
      expect((await outputs()).topologies.map(({ verdict }) => verdict.pass)).toEqual([true, true]);
    });

    it("refuses bad configuration in one message, with nothing touched", async () => {
      trial.configure({ ...config(), benchmark: { tets: "x" } });
      await expect(trial.up()).rejects.toThrow(/valkey:benchmark\.tets: unknown key; did you mean tests\?/);
      trial.configure(config());
    });

    it("leaves nothing behind when it is destroyed", async () => {
      await trial.stack.destroy({ onOutput: trial.onOutput });
      expect(trial.runs()).toEqual([]);
    });

    it.each<[string, RegExp, NodeJS.Signals]>([
      ["interrupted while servers start", /HostServers cluster creating/, "SIGINT"],
      ["killed while servers start", /HostServers cluster creating/, "SIGKILL"],
      ["killed while the cluster is formed", /Formation cluster creating/, "SIGKILL"],
    ])("ends in the same state when it is %s and run again", async (_what, at, signal) => {
      await trial.interruptedUp(at, signal);
      if (signal === "SIGKILL") await trial.stack.cancel();
      await trial.up();
      expect((await outputs()).topologies.map(({ verdict }) => verdict.pass)).toEqual([true, true]);
      expect(trial.living()).toBe(9);
      expect(await trial.up({ expectNoChanges: true })).toEqual(ALL_SAME);
      await trial.stack.destroy({ onOutput: trial.onOutput });
      expect(trial.runs()).toEqual([]);
    });
  },
);
