import { ROOT } from "../../../../lib/system/package";
import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import type { EngineServersArgs } from "../../../../components/kubernetes/servers/engine-servers";
import { EngineServers } from "../../../../components/kubernetes/servers/engine-servers";
import { ClusterServers } from "../../../../components/kubernetes/servers/cluster-servers";
import { RULES } from "../../../../policies/all-rules";
import type { DeclaredResource } from "../../../support/pulumi/pulumi-mocks";
import { onlyResource, runProgram } from "../../../support/pulumi/pulumi-mocks";
import { plainServers } from "../../../support/kubernetes/server-args";

const args: EngineServersArgs = {
  ...plainServers,
  engine: "redis",
  image: "docker.io/library/redis:8.2.1",
  replicas: 2,
  settings: { maxmemory: 1e9, save: "", "io-threads": 2 },
};
const declare = async (make: () => unknown): Promise<readonly DeclaredResource[]> =>
  (await runProgram(make, (type) => (/^(kubernetes|valkey):/.test(type) ? {} : undefined))).resources;
const engine = (changes: Partial<EngineServersArgs> = {}): Promise<readonly DeclaredResource[]> =>
  declare(() => {
    new EngineServers("server", { ...args, ...changes });
  });

interface Container {
  readonly command: readonly string[];
  readonly env: readonly { readonly name: string; readonly value?: string }[];
  readonly readinessProbe: object;
  readonly livenessProbe: object;
}
const setOf = (
  resources: readonly DeclaredResource[],
  name = "server",
): {
  volumeClaimTemplates: readonly object[];
  replicas: number;
  template: { spec: { containers: readonly Container[]; volumes: readonly { name: string }[] } };
} => onlyResource(resources, "kubernetes:apps/v1:StatefulSet", name).inputs["spec"] as never;
const containerOf = (resources: readonly DeclaredResource[]): Container => {
  const [first] = setOf(resources).template.spec.containers;
  if (first === undefined) throw new Error("no container");
  return first;
};

describe("Redis in replication mode", () => {
  let resources: readonly DeclaredResource[];
  beforeAll(async () => {
    resources = await engine();
  });

  it("reads a configuration with its settings, and its password from the secret", () => {
    const config = (
      onlyResource(resources, "kubernetes:core/v1:ConfigMapPatch", "server-config").inputs["data"] as Record<
        string,
        string
      >
    )["valkey.conf"];
    expect(config).toBe(
      'port 6379\ndir /data\nshutdown-on-sigterm save\nmaxmemory 1000000000\nsave ""\nio-threads 2\ninclude /valkey/secret/password.conf\n',
    );
    expect(onlyResource(resources, "kubernetes:core/v1:SecretPatch").inputs["stringData"]).toEqual({
      password: "a secret",
      "password.conf": 'requirepass "a secret"\nmasterauth "a secret"\n',
    });
    expect(JSON.stringify(containerOf(resources))).not.toContain("a secret");
  });

  it("is asked by its own client", () => {
    expect(containerOf(resources).env).toContainEqual({ name: "VALKEY_CLI", value: "redis-cli" });
    expect(containerOf(resources).livenessProbe).toMatchObject({
      exec: { command: ["redis-cli", "-p", "6379", "-t", "5", "PING"] },
    });
  });

  it("has a volume for each of three pods, and holds to every guardrail", () => {
    expect(setOf(resources)).toMatchObject({ replicas: 3, volumeClaimTemplates: [{ metadata: { name: "data" } }] });
    expect(
      resources.flatMap(({ type, name, inputs }) => RULES.flatMap((rule) => rule.check({ type, name, props: inputs }))),
    ).toEqual([]);
  });

  it("keeps its data on the machine where it is told to", async () => {
    const spec = setOf(await engine({ storage: { ...args.storage, ephemeral: true } }));
    expect(spec.volumeClaimTemplates).toEqual([]);
    expect(spec.template.spec.volumes).toContainEqual({ name: "data", emptyDir: {} });
  });
});

describe("Dragonfly", () => {
  let resources: readonly DeclaredResource[];
  beforeAll(async () => {
    resources = await engine({
      engine: "dragonfly",
      image: "docker.dragonflydb.io/dragonflydb/dragonfly:v1.37.2",
      settings: { maxmemory: 28e9, conn_use_incoming_cpu: true, proactor_threads: 8 },
    });
  });

  it("has the flags of Dragonfly head-to-head, its settings as flags, and its password from a file", () => {
    const { command } = containerOf(resources);
    expect(command.slice(2)).toEqual([
      "dragonfly",
      "--port=6379",
      "--dir=/data",
      "--dbfilename=",
      "--logtostderr",
      "--default_lua_config=allow-undeclared-keys",
      "--flagfile=/valkey/secret/flags",
      "--maxmemory=28000000000",
      "--conn_use_incoming_cpu",
      "--proactor_threads=8",
    ]);
    expect(onlyResource(resources, "kubernetes:core/v1:SecretPatch").inputs["stringData"]).toEqual({
      password: "a secret",
      flags: "--requirepass=a secret\n--masterauth=a secret\n",
    });
  });

  it("keeps nothing, is ready when it listens, and holds to every guardrail", () => {
    expect(setOf(resources).volumeClaimTemplates).toEqual([]);
    expect(containerOf(resources).readinessProbe).toMatchObject({ tcpSocket: { port: "valkey" } });
    expect(
      resources.flatMap(({ type, name, inputs }) => RULES.flatMap((rule) => rule.check({ type, name, props: inputs }))),
    ).toEqual([]);
  });
});

/** The scripts in the repository, in place of those that a pod mounts. */
const SCRIPTS = join(ROOT, "components", "kubernetes", "scripts");

describe("how a server starts", () => {
  const started = ({ command, env }: Container, pod: string): string => {
    const directory = mkdtempSync(join(tmpdir(), "start-"));
    try {
      for (const program of ["redis-server", "dragonfly"]) {
        writeFileSync(join(directory, program), '#!/bin/sh\necho "$(basename "$0") $*"\n');
        chmodSync(join(directory, program), 0o755);
      }
      const [shell = "", ...rest] = command.map((word) => word.replace("/valkey/scripts", SCRIPTS));
      // As Kubernetes does.
      const expanded = (value: string): string => value.replace("$(POD_NAMESPACE)", "valkey");
      const service = expanded(env.find(({ name }) => name === "PRIMARY_SERVICE")?.value ?? "");
      return execFileSync(shell, rest, {
        env: { PATH: `${directory}:${process.env["PATH"] ?? ""}`, POD_NAME: pod, PRIMARY_SERVICE: service },
        encoding: "utf8",
      }).trim();
    } finally {
      rmSync(directory, { recursive: true });
    }
  };

  it("selects pod 0, and no other, by the Service that replicas follow", async () => {
    const { spec } = onlyResource(await engine(), "kubernetes:core/v1:Service", "server-primary").inputs;
    expect(spec).toMatchObject({ selector: { "statefulset.kubernetes.io/pod-name": "server-0" } });
  });

  it("is as the primary in pod 0, and as its replica in every other", async () => {
    const redis = containerOf(await engine());
    expect(started(redis, "server-0")).toBe("redis-server /valkey/config/valkey.conf");
    for (const pod of ["server-1", "server-10"])
      expect(started(redis, pod)).toBe(
        "redis-server /valkey/config/valkey.conf --replicaof server-primary.valkey.svc.cluster.local 6379",
      );
    const dragonfly = containerOf(await engine({ engine: "dragonfly", settings: {} }));
    expect(started(dragonfly, "server-0")).not.toContain("replicaof");
    expect(started(dragonfly, "server-2")).toMatch(/ --replicaof=server-primary\.valkey\.svc\.cluster\.local:6379$/);
  });
});

describe("a cluster of Redis", () => {
  it("is Valkey's with Redis' programs and words", async () => {
    const resources = await declare(() => {
      new ClusterServers("cluster", {
        ...plainServers,
        engine: "redis",
        image: args.image,
        shape: { primaries: 3, replicasPerPrimary: 1 },
      });
    });
    const [container] = setOf(resources, "cluster").template.spec.containers;
    expect(container?.command[4]).toBe("redis-server");
    expect(onlyResource(resources, "kubernetes:core/v1:SecretPatch").inputs["stringData"]).toMatchObject({
      "password.conf": 'requirepass "a secret"\nmasterauth "a secret"\n',
    });
  });
});
