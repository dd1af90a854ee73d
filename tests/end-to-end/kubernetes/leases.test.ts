/** The Lease that the controller and updates of a deployment share. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { podReference } from "../../../components/kubernetes/deployment/reference";
import type { KubernetesReference } from "../../../platforms/deployment-reference";
import type { KubernetesClient } from "../../../platforms/kubernetes/api/client";
import { Lease } from "../../../platforms/kubernetes/api/lease";
import type { AnyHandler } from "../../../operations/provider/kinds";
import { SETTINGS_NOTE, WANTED_NOTE, wantedNodes, wantedSettings } from "../../../operations/changes/update-leases";
import { ValkeyProvider } from "../../../operations/provider/valkey-provider";
import { KUBECONFIG, openThrowAwayClient, ThrowAway, WHERE } from "../../support/kubernetes/throw-away";

const KIND = { mode: "cluster", shape: { primaries: 3, replicasPerPrimary: 1 } } as const;

describe.skipIf(KUBECONFIG === undefined)(`the Lease of a deployment${WHERE}`, { timeout: 120_000 }, () => {
  let here: ThrowAway;
  let kubernetes: KubernetesClient;
  let plain: KubernetesReference;
  beforeAll(async () => {
    here = await ThrowAway.open();
    kubernetes = await openThrowAwayClient();
    const location = { namespace: here.namespace, zones: ["a"], settings: {} };
    plain = { ...podReference("orders", KIND, location), kubeconfig: KUBECONFIG };
  });
  afterAll(() => here.close(), 100_000);

  it("is held by one process at a time, and by the next one when its holder is dead", async () => {
    const name = { namespace: here.namespace, lease: "shared" };
    const open = (holder: string, mayTakeFrom?: (other: string) => boolean): Lease =>
      new Lease(kubernetes, name, holder, mayTakeFrom, 3);
    const [first, second] = [open("first"), open("second")];
    const both = await Promise.all([first.acquire(), open("third", () => false).acquire()]);
    expect(both.filter((other) => other === undefined)).toHaveLength(1);
    expect(await open("pulumi b", () => true).acquire()).toBeUndefined();
    expect(await second.acquire()).toBe("pulumi b");
    // Its holder renews it no more.
    await here.until(10, async () => await second.acquire());
    expect(await first.acquire()).toBe("second");
    await second.release();
    expect(await first.acquire()).toBeUndefined();
  });

  it("keeps the controller out of an update, also of one that removes the controller", async () => {
    const target = { ...plain, lease: "held" };
    const { namespace } = here;
    const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: target.lease, namespace } };
    await here.apply([account]);
    const handler = { create: () => Promise.reject(new Error("unused")), update: () => Promise.resolve({}) };
    const provider = new ValkeyProvider("0.0.0", () => Promise.resolve(handler as unknown as AnyHandler));
    const urn = "urn:pulumi:test::test::valkey:index:Rollout::orders";
    await provider.update("orders", urn, { target }, { target: plain });
    const own = new Lease(kubernetes, { namespace, lease: target.lease }, "controller");
    expect(await own.acquire()).toMatch(/^pulumi on /);
    // The update has no controller any more, but if it fails the former one is still there.
    expect(own.notes).toEqual({ [WANTED_NOTE]: wantedNodes(target), [SETTINGS_NOTE]: wantedSettings(target) });
    // While its machine slept, the controller took the Lease.
    const taken = new Lease(kubernetes, { namespace, lease: target.lease }, "controller", () => true);
    expect(await taken.acquire()).toBeUndefined();
    await here.until(30, () =>
      provider.update("orders", urn, { target }, { target }).then(
        () => "the update goes on",
        (error: unknown) => (String(error).includes("controller has taken Lease held") ? undefined : String(error)),
      ),
    );
    await here.delete(account);
    await here.until(60, () =>
      kubernetes.coordination.readNamespacedLease({ namespace, name: target.lease }).then(
        () => "the Lease is still there",
        () => undefined,
      ),
    );
  });
});
