/** Servers in replication mode in pods: all start at once, and a crash of the primary loses nothing that a replica had. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ReplicatedPods } from "../../support/kubernetes/replicated-pods";
import { KUBECONFIG, WHERE } from "../../support/kubernetes/throw-away";

describe.skipIf(KUBECONFIG === undefined)(`replication in pods${WHERE}`, { timeout: 300_000 }, () => {
  let plain: ReplicatedPods;
  beforeAll(async () => {
    plain = await ReplicatedPods.open("plain");
  }, 200_000);
  afterAll(() => plain.deployed.close(), 200_000);

  it("has pod 0 as its primary again after a crash, with every key that a replica had", async () => {
    await plain.fill("plain");
    await plain.crash("plain-0");
    await plain.isWhole();
    expect(await plain.primaries()).toEqual(["plain-0"]);
  });

  it("does not pass verification while its Service leads to a replica, or nowhere", async () => {
    const { here } = plain.deployed;
    const lead = (pod: string): Promise<unknown> =>
      here.core.patchNamespacedService({
        ...{ namespace: here.namespace, name: "plain" },
        body: [{ op: "replace", path: "/spec/selector/statefulset.kubernetes.io~1pod-name", value: pod }],
      });
    const found = async (text: string): Promise<void> =>
      here.until(20, async () => {
        const failing = JSON.stringify(await plain.failing());
        return failing === JSON.stringify([["clients-led", text]]) ? undefined : failing;
      });
    try {
      await lead("plain-1");
      await found(
        "plain-1: Service plain routes clients to this server, which is not the primary; plain-0: Service plain does not route clients to this server",
      );
      await lead("plain-9");
      await found("Service plain has no endpoint");
    } finally {
      await lead("plain-0");
    }
    await plain.isWhole();
  });

  it("keeps what the primary saved when all pods go in order, and what a replica had when the primary's pod is deleted", async () => {
    await plain.delete(undefined, ...plain.pods);
    await plain.isWhole();
    await plain.delete(0, "plain-0");
    await plain.isWhole();
    expect(await plain.primaries()).toEqual(["plain-0"]);
  });
});
