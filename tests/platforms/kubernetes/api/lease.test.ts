/** Renewals of a Lease that others change too, against an API server in memory. */
import { ApiException, type V1Lease } from "@kubernetes/client-node";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { KubernetesClient } from "../../../../platforms/kubernetes/api/client";
import { Lease, LEASE_SECONDS } from "../../../../platforms/kubernetes/api/lease";
import type { Plain } from "../../../../platforms/kubernetes/api/plain";

const NAME = { namespace: "shop", lease: "orders-controller" };

/** One Lease, or none, with the version that the API server compares. */
class FakeServer {
  stored: Plain<V1Lease> | undefined = leaseOf("update", "1");
  isAway = false;
  /** Called before each replacement, so that another write comes first. */
  before: () => void = () => undefined;

  get client(): KubernetesClient {
    const answer = <T>(_doing: string, given: Promise<T>): Promise<T> => given;
    const coordination = {
      readNamespacedLease: () =>
        this.isAway ? Promise.reject(new Error("away")) : Promise.resolve(this.stored && structuredClone(this.stored)),
      replaceNamespacedLease: ({ body }: { readonly body: Plain<V1Lease> }) => {
        this.before();
        if (body.metadata?.resourceVersion !== this.stored?.metadata?.resourceVersion)
          return Promise.reject(new ApiException(409, "Conflict", { kind: "Status", code: 409 }, {}));
        this.stored = { ...body, metadata: { ...body.metadata, resourceVersion: String(Math.random()) } };
        return Promise.resolve(this.stored);
      },
    };
    return { call: answer, find: answer, coordination } as unknown as KubernetesClient;
  }
}

const leaseOf = (holderIdentity: string, resourceVersion: string): Plain<V1Lease> => ({
  metadata: { name: NAME.lease, resourceVersion },
  spec: { holderIdentity },
});

let server: FakeServer;
let lost: string[];
let stop: () => void;
beforeEach(() => {
  vi.useFakeTimers();
  server = new FakeServer();
  lost = [];
  stop = new Lease(server.client, NAME, "update").keep((why) => lost.push(why));
});
afterEach(() => {
  stop();
  vi.useRealTimers();
});

it("keeps a Lease whose note is written at the moment of a renewal", async () => {
  server.before = () => {
    server.before = () => undefined;
    server.stored = leaseOf("update", "2");
  };
  await vi.advanceTimersByTimeAsync(60_000);
  expect(lost).toEqual([]);
});

it("says once that another process has the Lease", async () => {
  server.stored = leaseOf("controller", "2");
  await vi.advanceTimersByTimeAsync(60_000);
  expect(lost).toEqual(["controller has taken Lease orders-controller"]);
});

it("does not bring a deleted Lease back", async () => {
  server.stored = undefined;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(lost).toEqual(["gone"]);
});

it("keeps a Lease while the API server is away for half a minute, and gives it up after forty seconds", async () => {
  server.isAway = true;
  await vi.advanceTimersByTimeAsync(30_000);
  server.isAway = false;
  await vi.advanceTimersByTimeAsync(30_000);
  expect(lost).toEqual([]);
  server.isAway = true;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(lost).toEqual(["Lease orders-controller could not be renewed for 40 s"]);
});

it("never takes a Lease that another process renews, and takes one that was not renewed for its seconds", async () => {
  const other = new Lease(server.client, NAME, "controller");
  const takenAfter = async (seconds: number): Promise<boolean> => {
    await vi.advanceTimersByTimeAsync(seconds * 1000);
    return (await other.acquire()) === undefined;
  };
  expect([await takenAfter(0), await takenAfter(300), await takenAfter(300)]).toEqual([false, false, false]);
  stop();
  expect([await takenAfter(0), await takenAfter(LEASE_SECONDS - 1), await takenAfter(2)]).toEqual([false, false, true]);
});
