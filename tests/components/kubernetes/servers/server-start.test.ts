/** Files of the Secret with which servers start, and how Redis and Dragonfly start as a primary and as a replica. */
import { execFileSync } from "node:child_process";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryDirectory } from "../../../support/directory";
import { ClusterServers } from "../../../../components/kubernetes/servers/cluster-servers";
import { type EngineServersArgs, EngineServers } from "../../../../components/engine-deployment";
import { ReplicationServers } from "../../../../components/kubernetes/servers/replication-servers";
import { ROOT } from "../../../../lib/system/package";
import { passwordHash } from "../../../../valkey/access/users";
import type { Container, PodSpec } from "../../../support/kubernetes/pod-specs";
import { plainServers } from "../../../support/kubernetes/server-args";
import { type DeclaredResource, evaluateProgram, onlyResource } from "../../../support/pulumi/pulumi-mocks";

const shape = { primaries: 3, replicasPerPrimary: 1 };
const redis: EngineServersArgs = {
  ...plainServers,
  ...{ engine: "redis", image: "docker.io/library/redis:8.2.1", replicas: 2 },
};
const dragonfly: EngineServersArgs = { ...redis, engine: "dragonfly" };
const engine = (args: EngineServersArgs): Promise<readonly DeclaredResource[]> =>
  evaluateProgram(() => new EngineServers("server", args));
const containerOf = (resources: readonly DeclaredResource[]): Container => {
  const { spec } = onlyResource(resources, "kubernetes:apps/v1:StatefulSet").inputs;
  const [first] = (spec as { template: { spec: PodSpec } }).template.spec.containers;
  if (first === undefined) throw new Error("no container");
  return first;
};

describe("the Secret of servers", () => {
  const filesOf = async (make: () => unknown): Promise<unknown> =>
    onlyResource(await evaluateProgram(make), "kubernetes:core/v1:SecretPatch").inputs["stringData"];
  const password = 'a "b" \\c';

  it.each<[string, () => unknown]>([
    ["a cluster", () => new ClusterServers("cluster", { ...plainServers, shape, password })],
    ["replication", () => new ReplicationServers("replication", { ...plainServers, replicas: 3, password })],
  ])("of %s has the password, quoted for valkey.conf and hashed for the list of users", async (_what, make) => {
    expect(await filesOf(make)).toEqual({
      password,
      "password.conf": 'aclfile /valkey/secret/users.acl\nprimaryauth "a \\"b\\" \\\\c"\n',
      "users.acl": `user default on #${passwordHash(password)} ~* &* +@all\n`,
    });
  });

  it("of other engines and of exporters has their own files", async () => {
    const conf = { password: "a secret", "password.conf": 'requirepass "a secret"\nmasterauth "a secret"\n' };
    expect(await filesOf(() => new EngineServers("server", redis))).toEqual(conf);
    const asCluster = { ...plainServers, shape, engine: "redis" as const, image: redis.image };
    expect(await filesOf(() => new ClusterServers("cluster", asCluster))).toEqual(conf);
    const flags = "--requirepass=a secret\n--masterauth=a secret\n";
    expect(await filesOf(() => new EngineServers("server", dragonfly))).toEqual({ password: "a secret", flags });
    const exported = (tls?: { secretName: string }): Promise<unknown> =>
      filesOf(() => new ClusterServers("cluster", { ...plainServers, shape, tls, metrics: {} }));
    expect(await exported()).toMatchObject({ "exporter.json": '{"redis://localhost:6379":"a secret"}' });
    expect(await exported({ secretName: "certificate" })).toMatchObject({
      "exporter.json": '{"rediss://localhost:6379":"a secret"}',
    });
  });
});

/** The scripts in the repository, in place of those that a pod mounts. */
const SCRIPTS = join(ROOT, "components", "kubernetes", "scripts");

describe("how a server starts", () => {
  const started = ({ command = [], env = [] }: Container, pod: string): string => {
    const directory = temporaryDirectory();
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
  };

  it("is as the primary in pod 0, and as its replica in every other", async () => {
    const server = containerOf(await engine(redis));
    expect(started(server, "server-0")).toBe("redis-server /valkey/config/valkey.conf");
    for (const pod of ["server-1", "server-10"])
      expect(started(server, pod)).toBe(
        "redis-server /valkey/config/valkey.conf --replicaof server-primary.valkey.svc.cluster.local 6379",
      );
    const other = containerOf(await engine(dragonfly));
    expect(started(other, "server-0")).not.toContain("replicaof");
    expect(started(other, "server-2")).toMatch(/ --replicaof=server-primary\.valkey\.svc\.cluster\.local:6379$/);
  });
});
