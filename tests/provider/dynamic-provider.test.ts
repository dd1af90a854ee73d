/**
 * Custom resources in Pulumi's own process for dynamic providers: created, reported on while they wait, and cancelled.
 */
import type { Server } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { HandlerContext } from "../../provider/resource-handler";
import { providerOf } from "../../provider/dynamic-provider";
import { Password } from "../../provider/resources/password";
import { Rollout } from "../../provider/resources/rollout";
import { waitOptions } from "../../provider/waiting";
import { ProviderProcess, registeredProperties } from "../support/pulumi/provider-process";

/** Answers of an API server whose storage class makes no volume. */
const ANSWERS: Readonly<Record<string, unknown>> = {
  "/version": { major: "1", minor: "35", gitVersion: "v1.35.0" },
  "/apis/apps/v1/namespaces/valkey/statefulsets/cluster": {
    metadata: { name: "cluster", generation: 1 },
    spec: { selector: { matchLabels: { app: "valkey" } }, template: { metadata: { labels: { app: "valkey" } } } },
    status: { observedGeneration: 1, updateRevision: "1" },
  },
  "/apis/apps/v1/namespaces/valkey/statefulsets": { items: [] },
  "/api/v1/namespaces/valkey/pods": {
    items: [
      {
        metadata: { name: "cluster-0" },
        spec: { containers: [], volumes: [{ name: "data", persistentVolumeClaim: { claimName: "data-cluster-0" } }] },
        status: { phase: "Pending" },
      },
    ],
  },
  "/api/v1/namespaces/valkey/persistentvolumeclaims": {
    items: [{ metadata: { name: "data-cluster-0" }, spec: { storageClassName: "slow" }, status: { phase: "Pending" } }],
  },
  "/api/v1/namespaces/valkey/events": {
    items: [
      {
        metadata: { name: "event" },
        involvedObject: { name: "data-cluster-0" },
        type: "Warning",
        reason: "ProvisioningFailed",
        message: "no disk is left",
      },
    ],
  },
  "/apis/storage.k8s.io/v1/storageclasses": { items: [{ metadata: { name: "slow" } }] },
};

function kubeconfig(server: string): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "test",
    clusters: [{ name: "test", cluster: { server, "insecure-skip-tls-verify": true } }],
    users: [{ name: "test", user: {} }],
    contexts: [{ name: "test", context: { cluster: "test", user: "test" } }],
  });
}

describe("a custom resource in Pulumi's process for dynamic providers", { timeout: 60_000 }, () => {
  let provider: ProviderProcess;
  let api: Server;
  beforeEach(async () => {
    provider = await ProviderProcess.start();
    api = createServer((request, response) => {
      const answer = ANSWERS[(request.url ?? "").split("?")[0] ?? ""];
      response.writeHead(answer === undefined ? 404 : 200, { "content-type": "application/json" });
      response.end(JSON.stringify(answer ?? {}));
    });
    await new Promise<void>((resolve) => api.listen(0, "127.0.0.1", resolve));
  });
  afterEach(() => {
    provider.stop();
    api.closeAllConnections();
    api.close();
  });

  it("is created by its handler, from the text that the program registers", async () => {
    const registered = await registeredProperties(() => new Password("p"), "Password");
    const { id, properties } = await provider.create(registered);
    expect(id).toMatch(/^[0-9a-f]{16}$/);
    expect(properties["password"]).toMatch(/^[0-9a-f]{48}$/);
  });

  it("says within half a minute which volume it waits for, and ends when the update is cancelled", async () => {
    const { port } = api.address() as AddressInfo;
    const target = {
      platform: "kubernetes",
      name: "cluster",
      mode: "cluster",
      shape: { primaries: 1, replicasPerPrimary: 0 },
      zones: [],
      directives: {},
      kubeconfig: kubeconfig(`http://127.0.0.1:${port}`),
      namespace: "valkey",
      statefulSet: "cluster",
      container: "valkey",
      port: 6379,
      tls: false,
      service: "",
    } as const;
    const registered = await registeredProperties(
      () => new Rollout("cluster", { target, revision: "1", timeoutSeconds: 600 }),
      "Rollout",
    );
    const outcome = provider.create(registered).then(
      () => "created",
      (error: unknown) => String(error),
    );
    await expect
      .poll(() => provider.output, { timeout: 30_000, interval: 200 })
      .toMatch(/^cluster: waiting for \d+ s of at most 600 s: .*storage class slow .*no disk is left/);
    await provider.cancel();
    expect(await outcome).toContain("the update was cancelled");
  });
});

describe("the provider of a handler", () => {
  const context = (): HandlerContext & { readonly abort: () => void } => {
    const controller = new AbortController();
    return {
      signal: controller.signal,
      report: () => undefined,
      abort: () => {
        controller.abort(new Error("cancelled"));
      },
    };
  };

  it("compares inputs whatever the order of their keys, and leaves out the provider's code", async () => {
    const handler = { create: () => Promise.resolve({ id: "1", outputs: {} }), replaceOn: ["a"] };
    const { diff } = providerOf(handler, context());
    const olds = { a: { x: 1, y: 2 }, b: 1, __provider: "old" };
    expect(await diff?.("1", olds, { a: { y: 2, x: 1 }, b: 1, __provider: "new" })).toMatchObject({ changes: false });
    expect(await diff?.("1", olds, { a: { x: 2 }, b: 2 })).toMatchObject({ changes: true, replaces: ["a"] });
  });

  it("lets a handler end by itself after a cancellation", async () => {
    const { abort, ...rest } = context();
    const handler = {
      create: async (_inputs: object, { signal }: HandlerContext) => {
        await new Promise((resolve) => {
          signal.addEventListener("abort", resolve);
        });
        throw new Error("partial results are kept");
      },
    };
    const created = providerOf(handler, rest).create({});
    abort();
    await expect(created).rejects.toThrow("partial results are kept");
  });
});

describe("the lines of a handler that waits", () => {
  it("begin after a while, and do not repeat themselves at every look", () => {
    const lines: string[] = [];
    const now = Date.now();
    const clock = { now };
    const realNow = Date.now;
    Date.now = () => clock.now;
    try {
      const { report } = waitOptions("cluster", 600, {
        signal: new AbortController().signal,
        report: (line) => lines.push(line),
      });
      for (let second = 0; second < 100; second += 2) {
        clock.now = now + second * 1000;
        report(second < 50 ? "no volume" : "no machine");
      }
    } finally {
      Date.now = realNow;
    }
    expect(lines).toEqual([
      "cluster: waiting for 10 s of at most 600 s: no volume",
      "cluster: waiting for 50 s of at most 600 s: no machine",
    ]);
  });
});
