/** The provider `valkey`: in its own process, as the engine starts it, and with handlers of the tests' own. */
import { problem } from "../../../lib/errors";
import { type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import * as pulumi from "@pulumi/pulumi";
import { podReference } from "../../../components/kubernetes/deployment/reference";
import { VERSION } from "../../../lib/system/package";
import { type AnyHandler, loadHandler, RESOURCE_NAMES, resourceType } from "../../../operations/provider/kinds";
import { withPackageVersion } from "../../../operations/provider/package-version";
import { FailedButSeen } from "../../../operations/protocol/resource-handler";
import { ValkeyProvider } from "../../../operations/provider/valkey-provider";
import { waitOptions } from "../../../operations/protocol/waiting";
import type { Mode } from "../../../valkey/node";
import { kubeconfigOf } from "../../support/kubernetes/fake-api-server";
import { ProviderProcess } from "../../support/pulumi/provider-process";

const { specialSecretSig, specialSigKey, unknownValue } = pulumi.runtime as unknown as Readonly<Record<string, string>>;
/** A secret as the engine sends it. */
const secret = (value: unknown): object => ({ [String(specialSigKey)]: specialSecretSig, value });

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

/** A deployment of one server. @param url of its API server */
const targetOf = (name: string, mode: Mode, url: string): Record<string, unknown> => ({
  ...podReference(
    name,
    { mode, shape: { primaries: 1, replicasPerPrimary: 0 } },
    { namespace: "valkey", zones: [], settings: {} },
  ),
  kubeconfig: kubeconfigOf(url),
});

describe("the process of the provider", { timeout: 60_000 }, () => {
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
  }, 60_000);
  afterEach(() => {
    provider.stop();
    api.closeAllConnections();
    api.close();
  });

  it("creates a resource by its handler, and marks what is secret", async () => {
    const { id, properties } = await provider.create(resourceType("Password"), {});
    expect(id).toMatch(/^[0-9a-f]{16}$/);
    expect(properties["password"]).toEqual(secret(expect.stringMatching(/^[0-9a-f]{48}$/)));
  });

  it("keeps in the state what an update that failed has tried", async () => {
    const target = targetOf("orders", "replication", "http://127.0.0.1:1");
    const olds = { target, password: "p", timeoutSeconds: 1 };
    const news = { ...olds, target: { ...target, directives: { hz: "50" } } };
    const failed = await provider
      .update(resourceType("Preparation"), { ...olds, settings: { pending: false, drift: [] } }, news)
      .catch((error: unknown) => error);
    const { metadata } = failed as { readonly metadata: { get(key: string): readonly unknown[] } };
    const details = String(metadata.get("grpc-status-details-bin")[0]);
    expect(details).toContain("pulumirpc.ErrorResourceInitFailed");
    expect(details).toContain("attempts");
    expect(details).toContain("cannot be reached");
  });

  it("says within half a minute which volume it waits for, and ends when the update is cancelled", async () => {
    const { port } = api.address() as AddressInfo;
    const target = targetOf("cluster", "cluster", `http://127.0.0.1:${port}`);
    const storage = { size: "1Gi", template: "data", ephemeral: false, onDestroy: "delete" };
    const inputs = { target, password: "p", revision: "1", storage, timeoutSeconds: 600 };
    const outcome = provider.create(resourceType("Rollout"), inputs).then(
      () => "created",
      (error: unknown) => String(error),
    );
    await expect
      .poll(() => provider.output, { timeout: 30_000, interval: 200 })
      .toMatch(/cluster: waited \d+ s of at most 600 s: .*storage class slow .*no disk is left/);
    await provider.cancel();
    expect(await outcome).toContain("the update was cancelled");
  });
});

describe("the provider", () => {
  const URN = `urn:pulumi:stack::project::parent$${resourceType("Formation")}::orders`;
  const providerOf = (handler: Partial<AnyHandler>): ValkeyProvider =>
    new ValkeyProvider(
      "1.2.3",
      () =>
        Promise.resolve({ create: (inputs) => Promise.resolve({ id: "1", outputs: { seen: inputs } }), ...handler }),
      () => undefined,
    );

  it("has a handler for every resource, and refuses resources of others", async () => {
    for (const name of RESOURCE_NAMES) expect((await loadHandler(name)).create, name).toBeTypeOf("function");
    const foreign = "urn:pulumi:stack::project::aws:s3/bucket:Bucket::b";
    await expect(providerOf({}).create(foreign, {})).rejects.toThrow(
      "has no resource of the type aws:s3/bucket:Bucket",
    );
  });

  it("gives handlers plain values, and returns secrets as secrets", async () => {
    const created = await providerOf({ secretOutputs: ["made"] }).create(URN, {
      password: secret("p"),
      inside: { of: secret("q") },
      open: [1],
    });
    expect(created.outs).toEqual({
      password: secret("p"),
      inside: secret({ of: "q" }),
      open: [1],
      seen: { password: "p", inside: { of: "q" }, open: [1] },
    });
  });

  it("compares inputs whatever the order of their keys, and names those that replace", async () => {
    const { diff } = providerOf({ replaceOn: ["a"] });
    const olds = { a: { x: 1, y: 2 }, b: secret(1), made: "output" };
    expect(await diff("1", URN, olds, { a: { y: 2, x: 1 }, b: secret(1) })).toMatchObject({ changes: false });
    expect(await diff("1", URN, olds, { a: { x: 2 }, b: 2 })).toMatchObject({ changes: true, replaces: ["a"] });
    expect(await diff("1", URN, olds, { a: olds.a, b: unknownValue })).toMatchObject({ changes: true, replaces: [] });
  });

  it("announces what a change does, and nothing where nothing changes", async () => {
    const lines: string[] = [];
    const handler = {
      create: () => Promise.resolve({ id: "1", outputs: {} }),
      describeChange: (olds: object, news: object) => [`${JSON.stringify(olds)} becomes ${JSON.stringify(news)}`],
    };
    const { diff } = new ValkeyProvider(
      "1.2.3",
      () => Promise.resolve(handler),
      (urn, line) => lines.push(`${urn.split("::").at(-1) ?? ""}: ${line}`),
    );
    await diff("1", URN, { a: 1 }, { a: 1 });
    await diff("1", URN, { a: 1 }, { a: 2, later: unknownValue });
    expect(lines).toEqual(['orders: {"a":1} becomes {"a":2}']);
  });

  it("updates nothing where only an input without effect has changed, and has its new value for the next update", async () => {
    const seen: unknown[] = [];
    const provider = providerOf({
      silentInputs: ["directory"],
      create: (inputs) => {
        seen.push(inputs);
        return Promise.resolve({ id: "1", outputs: {} });
      },
    });
    const olds = { directory: "/a", load: 1 };
    expect(await provider.diff("1", URN, olds, { directory: "/b", load: 1 })).toMatchObject({ changes: false });
    expect(await provider.diff("1", URN, olds, { directory: "/b", load: 2 })).toMatchObject({ changes: true });
    await provider.update("1", URN, olds, { directory: "/b", load: 2 });
    expect(seen).toEqual([{ directory: "/b", load: 2 }]);
  });

  it("checks inputs that are known and have changed, and passes on which of them are refused", async () => {
    const asked: unknown[] = [];
    const { check } = providerOf({
      check: (olds, news) => {
        asked.push([olds, news]);
        return Promise.resolve([problem("too-small", "size", "is too small")]);
      },
    });
    const failures = [{ property: "size", reason: "is too small" }];
    expect(await check(URN, {}, { size: 1, later: unknownValue })).toMatchObject({ failures });
    expect(await check(URN, { size: 1 }, { size: 1 })).toEqual({ inputs: { size: 1 } });
    expect(await check(URN, { size: secret(1) }, { size: 2 })).toMatchObject({ failures });
    expect(asked).toEqual([
      [undefined, { size: 1 }],
      [{ size: 1 }, { size: 2 }],
    ]);
  });

  it("refuses a program whose package has another version, and keeps its version out of the state", async () => {
    const { check } = providerOf({});
    const inputs = { size: 1 };
    expect(await check(URN, {}, inputs)).toEqual({ inputs });
    const declared = withPackageVersion(inputs);
    const { failures = [] } = await check(URN, {}, declared);
    expect(failures.map(({ property }) => property)).toEqual([""]);
    expect(failures[0]?.reason).toMatch(/valkey-measured has version \S+, but the provider .* has 1\.2\.3/);
    expect(await new ValkeyProvider(VERSION).check(URN, {}, declared)).toEqual({ inputs });
  });

  it("has what a refresh reads made good by the next update", async () => {
    const { read, diff } = providerOf({
      read: (_id, { target }) => Promise.resolve({ drift: target === "broken" ? ["slots-covered"] : [] }),
      drifted: ({ drift }) => Array.isArray(drift) && drift.length > 0,
    });
    const broken = await read("1", URN, { target: "broken", password: secret("p"), drift: [] });
    expect(broken).toEqual({ id: "1", props: { target: "broken", password: secret("p"), drift: ["slots-covered"] } });
    const inputs = { target: "broken", password: secret("p") };
    expect(await diff("1", URN, broken.props as never, inputs)).toMatchObject({ changes: true, replaces: [] });
    expect(await diff("1", URN, { ...inputs, drift: [] }, inputs)).toMatchObject({ changes: false });
  });

  it("tells the engine that a resource is gone", async () => {
    const { read } = providerOf({ read: () => Promise.resolve(undefined) });
    expect(await read("1", URN, {})).toEqual({ id: "", props: {} });
  });

  it("runs an update whose change is taken back after it failed, with what was tried, until one succeeds", async () => {
    const seen: unknown[] = [];
    let fails = true;
    const provider = providerOf({
      recordsAttempts: true,
      update: (_id, olds, news, _context, attempts) => {
        seen.push([olds, news, attempts]);
        return fails ? Promise.reject(new Error("no answer")) : Promise.resolve({ told: true });
      },
    });
    const [before, after, third] = [{ size: 1 }, { size: 2, password: secret("p") }, { size: 3 }];
    const failure = async (olds: object, news: object): Promise<Record<string, unknown>> => {
      const error: unknown = await provider
        .update("7", URN, olds as never, news as never)
        .catch((each: unknown) => each);
      expect(error).toMatchObject({ message: "no answer", id: "7", reasons: ["no answer"] });
      return (error as { readonly properties: Record<string, unknown> }).properties;
    };
    const once = await failure({ ...before, told: true }, after);
    expect(once).toEqual({ ...before, told: true, attempts: secret([{ size: 2, password: "p" }]) });
    expect(await provider.diff("7", URN, once, before)).toMatchObject({ changes: true, replaces: [] });
    expect(await provider.diff("7", URN, once, after)).toMatchObject({ changes: true });
    expect((await provider.read("7", URN, once)).props).toEqual(once);
    const again = await failure(await failure(once, after), third);
    fails = false;
    expect(await provider.update("7", URN, again, before)).toEqual({ outs: { ...before, told: true } });
    expect(seen.at(-1)).toEqual([{ ...before, told: true }, before, [{ size: 2, password: "p" }, third]]);
    expect(await provider.diff("7", URN, { ...before, told: true }, before)).toMatchObject({ changes: false });
  });

  it("keeps what an update saw that failed", async () => {
    const provider = providerOf({
      recordsAttempts: true,
      update: () => Promise.reject(new FailedButSeen("data is gone", { data: "empty" })),
    });
    const error: unknown = await provider
      .update("7", URN, { size: 1, data: "full" }, { size: 1 })
      .catch((each: unknown) => each);
    expect(error).toMatchObject({ message: "data is gone", properties: { size: 1, data: "empty" } });
  });

  it("keeps nothing of an update that failed and changed nothing", async () => {
    const provider = providerOf({ update: () => Promise.reject(new Error("no answer")) });
    const error: unknown = await provider.update("7", URN, { size: 1 }, { size: 2 }).catch((each: unknown) => each);
    expect(error).not.toHaveProperty("properties");
  });

  it("lets a handler end by itself after a cancellation", async () => {
    let begin: () => void;
    const begun = new Promise<void>((resolve) => (begin = resolve));
    const provider = providerOf({
      create: async (_inputs, { signal }) => {
        begin();
        await new Promise((resolve) => {
          signal.addEventListener("abort", resolve);
        });
        throw new Error("partial results are kept");
      },
    });
    const created = provider.create(URN, {});
    await begun;
    await provider.cancel();
    await expect(created).rejects.toThrow("partial results are kept");
    await expect(provider.create(URN, {})).rejects.toThrow("the update was cancelled");
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
      "cluster: waited 10 s of at most 600 s: no volume",
      "cluster: waited 50 s of at most 600 s: no machine",
    ]);
  });
});
