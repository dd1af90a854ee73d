/** Cuts that cannot be healed at once: said, kept, and healed by whoever tries again. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { V1NetworkPolicy } from "@kubernetes/client-node";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { Failure } from "../../../lib/errors";
import { PodFaultInjector } from "../../../faults/injectors/pod-injector";
import { RunDirectory } from "../../../platforms/host/run-directory";
import { partitionNetwork, healNetwork } from "../../../platforms/host/side-effects";
import type { KubernetesClient } from "../../../platforms/kubernetes/client";
import type { KubernetesDeployment } from "../../../platforms/kubernetes/deployment";
import type { Plain } from "../../../platforms/kubernetes/plain";

const directory = mkdtempSync(join(tmpdir(), "healing-"));
afterEach(() => {
  vi.unstubAllEnvs();
});
afterAll(() => {
  rmSync(directory, { recursive: true });
});

describe("a cut between pods", () => {
  const labels = { app: "shop" };
  const spec = { podSelector: { matchLabels: labels } };

  /** An API server with one NetworkPolicy, that refuses what it is told to refuse. */
  function world(): { breaker: PodFaultInjector; refuse: Set<string>; policy: () => Plain<V1NetworkPolicy> } {
    let policy: Plain<V1NetworkPolicy> = { metadata: { name: "shop" }, spec };
    const refuse = new Set<string>();
    const answer = <T>(doing: string, value: T): Promise<T> =>
      refuse.has(doing) ? Promise.reject(new Error(`may not ${doing}`)) : Promise.resolve(value);
    const pass = (_doing: string, promise: Promise<unknown>): Promise<unknown> => promise;
    const kubernetes = {
      call: pass,
      find: pass,
      core: {
        listNamespacedPod: () => answer("list", { items: [] }),
        readNamespacedPod: () => answer("read", { metadata: { labels: { "valkey-measured/cut": "yes" } } }),
        patchNamespacedPod: () => answer("label", {}),
      },
      custom: {
        getNamespacedCustomObject: () => answer("get", policy),
        createNamespacedCustomObject: () => answer("create", {}),
        deleteNamespacedCustomObject: () => answer("delete", {}),
        replaceNamespacedCustomObject: async ({ body }: { body: Plain<V1NetworkPolicy> }) => {
          policy = await answer("replace", body);
        },
      },
    } as unknown as KubernetesClient;
    const deployment = {
      name: "shop",
      mode: "cluster",
      nodes: [],
      namespace: "n",
      labels,
      directives: new Map(),
    } as unknown as KubernetesDeployment;
    const breaker = new PodFaultInjector(deployment, {
      kubernetes,
      port: 6379,
      container: "server",
      networkPolicy: "shop",
      signal: new AbortController().signal,
    });
    breaker.close();
    return { breaker, refuse, policy: () => policy };
  }

  it("is kept until the API server has taken it back, and then is no more", async () => {
    const { breaker, refuse, policy } = world();
    await breaker.cut(["shop-0"]);
    expect(policy().spec).not.toEqual(spec);
    refuse.add("replace");
    expect(await breaker.restore()).toEqual(["may not replace"]);
    await expect(breaker.cut(["shop-1"])).rejects.toThrow("may not replace");
    refuse.clear();
    expect(await breaker.restore()).toEqual([]);
    expect(policy()).toEqual({ metadata: { name: "shop", annotations: {} }, spec });
    refuse.add("get");
    expect(await breaker.restore()).toEqual([]);
  });

  it("that fails half way is healed as well", async () => {
    const { breaker, refuse } = world();
    refuse.add("create");
    await expect(breaker.cut(["shop-0"])).rejects.toThrow("may not create");
    refuse.add("label");
    expect(await breaker.restore()).toEqual(["may not label"]);
    refuse.delete("label");
    expect(await breaker.restore()).toEqual([]);
  });
});

describe("a cut between addresses", () => {
  /** An iptables that notes its commands and ends with the status that is in a file. */
  const told = (status: number): void => {
    writeFileSync(join(directory, "status"), String(status));
  };
  mkdirSync(join(directory, "bin"));
  writeFileSync(
    join(directory, "bin", "iptables"),
    `#!/bin/sh\necho "$@" >>'${join(directory, "commands")}'\nread -r status <'${join(directory, "status")}' || :\nexit "$status"\n`,
  );
  chmodSync(join(directory, "bin", "iptables"), 0o755);

  it("stays on record until iptables says that its rules are gone", async () => {
    vi.stubEnv("PATH", join(directory, "bin"));
    const run = RunDirectory.create(join(directory, "runs"), "s");
    const scars = (): number => (existsSync(join(run.path, "scars")) ? readdirSync(join(run.path, "scars")).length : 0);
    told(0);
    await partitionNetwork(run, ["127.0.9.1"], ["127.0.9.2"]);
    expect(scars()).toBe(2);
    // Somebody else's lock.
    told(4);
    await expect(healNetwork(run)).rejects.toThrow(Failure);
    expect(scars()).toBe(2);
    told(1);
    await healNetwork(run);
    expect(scars()).toBe(0);
    expect(readFileSync(join(directory, "commands"), "utf8")).toMatch(
      /-I INPUT -s 127\.0\.9\.1 -d 127\.0\.9\.2 [^]*-D INPUT -s 127\.0\.9\.2 -d 127\.0\.9\.1 /,
    );
  });
});
