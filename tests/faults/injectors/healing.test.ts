/** Cuts whose healing fails at first: the failure is reported, the cut is remembered, and the next attempt heals it. */
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
import type { KubernetesClient } from "../../../platforms/kubernetes/api/client";
import type { PodDeployment } from "../../../platforms/kubernetes/deployment";
import type { Plain } from "../../../platforms/kubernetes/api/plain";

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

  /** An API server with one NetworkPolicy that refuses the operations in `refuse`. */
  function fakeApiServer(): { injector: PodFaultInjector; refuse: Set<string>; policy: () => Plain<V1NetworkPolicy> } {
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
    } as unknown as PodDeployment;
    const injector = new PodFaultInjector(deployment, {
      kubernetes,
      container: "server",
      networkPolicy: "shop",
      signal: new AbortController().signal,
    });
    injector.close();
    return { injector, refuse, policy: () => policy };
  }

  it("is remembered until the API server has reversed it", async () => {
    const { injector, refuse, policy } = fakeApiServer();
    await injector.cut(["shop-0"]);
    expect(policy().spec).not.toEqual(spec);
    refuse.add("replace");
    expect(await injector.restore()).toEqual(["may not replace"]);
    await expect(injector.cut(["shop-1"])).rejects.toThrow("may not replace");
    refuse.clear();
    expect(await injector.restore()).toEqual([]);
    expect(policy()).toEqual({ metadata: { name: "shop", annotations: {} }, spec });
    refuse.add("get");
    expect(await injector.restore()).toEqual([]);
  });

  it("that fails halfway is healed as well", async () => {
    const { injector, refuse } = fakeApiServer();
    refuse.add("create");
    await expect(injector.cut(["shop-0"])).rejects.toThrow("may not create");
    refuse.add("label");
    expect(await injector.restore()).toEqual(["may not label"]);
    refuse.delete("label");
    expect(await injector.restore()).toEqual([]);
  });
});

describe("a cut between addresses", () => {
  /** An iptables that logs its commands and exits with the status in a file. */
  const exitWith = (status: number): void => {
    writeFileSync(join(directory, "status"), String(status));
  };
  mkdirSync(join(directory, "bin"));
  writeFileSync(
    join(directory, "bin", "iptables"),
    `#!/bin/sh\necho "$@" >>'${join(directory, "commands")}'\nread -r status <'${join(directory, "status")}' || :\nexit "$status"\n`,
  );
  chmodSync(join(directory, "bin", "iptables"), 0o755);

  it("stays on record until iptables reports that its rules are gone", async () => {
    vi.stubEnv("PATH", join(directory, "bin"));
    const run = RunDirectory.create(join(directory, "runs"), "s");
    const sideEffects = (): number =>
      existsSync(join(run.path, "side-effects")) ? readdirSync(join(run.path, "side-effects")).length : 0;
    exitWith(0);
    await partitionNetwork(run, ["127.0.9.1"], ["127.0.9.2"]);
    expect(sideEffects()).toBe(2);
    // Another process holds the lock of iptables.
    exitWith(4);
    await expect(healNetwork(run)).rejects.toThrow(Failure);
    expect(sideEffects()).toBe(2);
    exitWith(1);
    await healNetwork(run);
    expect(sideEffects()).toBe(0);
    expect(readFileSync(join(directory, "commands"), "utf8")).toMatch(
      /-I INPUT -s 127\.0\.9\.1 -d 127\.0\.9\.2 [^]*-D INPUT -s 127\.0\.9\.2 -d 127\.0\.9\.1 /,
    );
  });
});
