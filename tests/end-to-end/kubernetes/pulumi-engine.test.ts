/**
 * The Kubernetes stack on a real Pulumi engine: up, again, changed, resized under writes, killed, refused, destroyed.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type StackOutputs, outputsSchema } from "../../../stacks/program/outputs";
import { pulumiPath, PulumiStack, pulumiSkipNote } from "../../support/pulumi/pulumi-stack";
import { isReady, isStaying, KUBECONFIG, ThrowAway, WHERE } from "../../support/kubernetes/throw-away";
import { writerPod, writtenKeys } from "../../support/kubernetes/writer-pod";

const LABELS = { "app.kubernetes.io/name": "valkey", "app.kubernetes.io/instance": "cluster" };

interface Changes {
  readonly primaries?: number;
  readonly maxmemory?: string;
  /** Another one restarts servers. */
  readonly backlog?: number;
  readonly size?: string;
  /** Rules of the user `app`. @default no such user */
  readonly rules?: string;
}

describe.skipIf(KUBECONFIG === undefined || pulumiPath() === undefined)(
  `the Kubernetes stack on the Pulumi engine${WHERE || pulumiSkipNote()}`,
  { timeout: 400_000 },
  () => {
    const namespace = `valkey-engine-${process.pid}`;
    let trial: PulumiStack;
    let here: ThrowAway;
    let zones: string[];
    /** Besides the namespace, what it depends on, and the provider: resources of a deployment and one measurement. */
    let resources = 0;

    const config = ({ primaries = 3, maxmemory = "64mb", backlog = 511, size = "1Gi", rules }: Changes = {}): Record<
      string,
      unknown
    > => ({
      platform: {
        type: "kubernetes",
        kubeconfig: KUBECONFIG,
        namespace,
        zones: zones.slice(0, 3),
        imagePullPolicy: "IfNotPresent",
        resources: { requests: { cpu: "50m", memory: "64Mi" }, limits: { cpu: "2", memory: "512Mi" } },
        storage: { size },
        clients: { shareMachines: true },
      },
      verification: { timeout: 120 },
      deployments: {
        cluster: {
          mode: "cluster",
          primaries,
          ...(rules === undefined ? {} : { users: { app: { rules } } }),
          settings: {
            maxmemory,
            appendonly: true,
            appendfsync: "always",
            save: "",
            "cluster-node-timeout": 5000,
            "tcp-backlog": backlog,
          },
        },
        replication: {
          mode: "replication",
          replicas: 2,
          sentinel: false,
          settings: { maxmemory, "tcp-backlog": backlog },
        },
      },
      benchmark: { tests: ["get"], clients: 12, threads: 1, duration: 1, warmup: 0, repeats: 1, keySpace: 16_384 },
    });
    const outputs = async (): Promise<StackOutputs> =>
      outputsSchema.parse((await trial.stack.outputs())["valkey"]?.value);
    const passing = async (): Promise<unknown[]> =>
      (await outputs()).topologies.map(({ deployment, shards, verdict }) => [deployment, shards.length, verdict.pass]);
    const expected = (primaries: number): unknown[] => [
      ["cluster", primaries, true],
      ["replication", 1, true],
    ];

    beforeAll(async () => {
      here = await ThrowAway.at(namespace);
      zones = await here.zones();
      trial = await PulumiStack.open(config());
    });
    afterAll(async () => {
      await trial.stack.destroy({ onOutput: trial.onOutput }).catch(() => undefined);
      await trial.close();
    });

    it("comes up verified and measured, by nothing more than a stack file", async () => {
      const { create = 0 } = await trial.up();
      resources = create;
      expect(await passing()).toEqual(expected(3));
      const { results, endpoints } = await outputs();
      expect(results?.records.map(({ deployment }) => deployment)).toEqual(
        expected(3).map((each) => (each as string[])[0]),
      );
      expect(endpoints[0]?.addresses).toEqual([`cluster.${namespace}.svc.cluster.local:6379`]);
      const { cluster: password = "none" } = (await trial.stack.outputs())["passwords"]?.value as Record<
        string,
        string
      >;
      expect(trial.state().includes(password) || trial.log.join("").includes(password)).toBe(false);
    });

    it("changes nothing the second time, and refresh finds no drift", async () => {
      expect(await trial.up({ expectNoChanges: true })).toEqual({ same: resources });
      expect(
        (await trial.stack.refresh({ onOutput: trial.onOutput, expectNoChanges: true })).summary.resourceChanges,
      ).toEqual({ same: resources });
    });

    it("sets another limit of memory on running servers, and says so in the preview", async () => {
      const before = (await here.pods(LABELS)).map(({ metadata }) => metadata?.uid).sort();
      trial.configure(config({ maxmemory: "65mb" }));
      trial.log.length = 0;
      await trial.stack.preview({ onOutput: trial.onOutput });
      expect(trial.log.join("")).toContain(
        "maxmemory 68157440: set on 6 running nodes within seconds; no restart, no effect on clients",
      );
      await trial.up();
      expect((await here.pods(LABELS)).map(({ metadata }) => metadata?.uid).sort()).toEqual(before);
      expect(await passing()).toEqual(expected(3));
    });

    it("gives an application a user of its own on running servers, and refuses rules that no server takes", async () => {
      const before = (await here.pods(LABELS)).map(({ metadata }) => metadata?.uid).sort();
      trial.configure(config({ maxmemory: "65mb", rules: "+@reads ~app:*" }));
      await expect(trial.up()).rejects.toThrow(
        /refuse rules of users, so nothing has changed: users\.app\.rules "\+@reads ~app:\*": ERR/,
      );
      trial.configure(config({ maxmemory: "65mb", rules: "+@read ~app:*" }));
      await trial.up();
      const { verdict } = (await outputs()).topologies[0] ?? {};
      expect(verdict?.assertions.find(({ id }) => id === "users")).toMatchObject({ found: "app", pass: true });
      const { cluster } = (await trial.stack.outputs())["userPasswords"]?.value as Record<
        string,
        Record<string, string>
      >;
      const password = cluster?.["app"] ?? "none";
      expect(trial.state().includes(password) || trial.log.join("").includes(password)).toBe(false);
      trial.configure(config({ maxmemory: "65mb" }));
      await trial.up();
      expect((await here.pods(LABELS)).map(({ metadata }) => metadata?.uid).sort()).toEqual(before);
    });

    it("sets what somebody changed by hand again, after a refresh", async () => {
      const script = ". /valkey/scripts/node.sh; echo 'CONFIG SET maxmemory 1gb' | tell localhost 5";
      expect(await here.run("cluster-4", "valkey", script)).toContain("OK");
      await trial.stack.refresh({ onOutput: trial.onOutput });
      expect(trial.state()).toContain("cluster-4: maxmemory is 1073741824, not 68157440");
      await trial.up();
      expect(await passing()).toEqual(expected(3));
    });

    it("restarts pods one by one for another setting, and loses no acknowledged write", async () => {
      await here.apply([writerPod(namespace, "cluster", "cluster-password")]);
      const before = new Set((await here.pods(LABELS)).map(({ metadata }) => metadata?.uid));
      trial.configure(config({ maxmemory: "65mb", backlog: 128 }));
      const counts = { up: false, mostAway: 0 };
      const done = trial.up().finally(() => {
        counts.up = true;
      });
      while (!counts.up) {
        counts.mostAway = Math.max(counts.mostAway, 6 - (await here.pods(LABELS)).filter(isReady).length);
        await new Promise((resolve) => setTimeout(resolve, 300));
      }
      expect(await done).not.toHaveProperty("replace");
      const pods = await here.pods(LABELS);
      expect(pods.filter(({ metadata }) => before.has(metadata?.uid))).toEqual([]);
      expect(pods.filter(isReady)).toHaveLength(6);
      expect(counts.mostAway).toBe(1);
      expect(await passing()).toEqual(expected(3));
    });

    it("takes primaries in and out under writes, and keeps every key", async () => {
      for (const primaries of [4, 3]) {
        trial.configure(config({ maxmemory: "65mb", backlog: 128, primaries }));
        expect(await trial.up()).not.toHaveProperty("replace");
        expect(await passing()).toEqual(expected(primaries));
        expect((await here.pods(LABELS)).filter(isStaying)).toHaveLength(2 * primaries);
      }
      const { acknowledged, lost } = await writtenKeys(here);
      expect(acknowledged.length).toBeGreaterThan(100);
      expect(lost).toEqual([]);
    });

    it("refuses smaller volumes, which would begin without the data", async () => {
      trial.configure(config({ maxmemory: "65mb", backlog: 128, size: "512Mi" }));
      await expect(trial.stack.preview({ onOutput: trial.onOutput })).rejects.toThrow(
        /property storage\.size .* volumes of 1Gi cannot shrink to 512Mi: .*volumes of (cluster|replication) .* hold the data/,
      );
    });

    it("goes on where it was killed in the middle of a change", async () => {
      trial.configure(config({ maxmemory: "65mb", backlog: 128, primaries: 4 }));
      await trial.interruptedUp(/Formation cluster updating/, "SIGKILL");
      await trial.stack.cancel();
      await trial.up();
      expect(await passing()).toEqual(expected(4));
      expect(await trial.up({ expectNoChanges: true })).toEqual({ same: resources });
    });

    it("leaves nothing when it is destroyed", async () => {
      await trial.stack.destroy({ onOutput: trial.onOutput });
      const { items } = await here.core.listNamespace({ fieldSelector: `metadata.name=${namespace}` });
      expect(items).toEqual([]);
    });

    it.each<[string, RegExp, NodeJS.Signals]>([
      ["interrupted while objects are made", /StatefulSet cluster creating/, "SIGINT"],
      ["killed while pods start", /Rollout cluster creating/, "SIGKILL"],
    ])("ends in the same state when it is %s and run again", async (_what, at, signal) => {
      trial.configure(config());
      await trial.interruptedUp(at, signal);
      if (signal === "SIGKILL") await trial.stack.cancel();
      await trial.up();
      expect(await passing()).toEqual(expected(3));
      expect(await trial.up({ expectNoChanges: true })).toEqual({ same: resources });
      await trial.stack.destroy({ onOutput: trial.onOutput });
    });
  },
);
