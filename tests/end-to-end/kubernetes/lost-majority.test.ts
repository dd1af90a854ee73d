/** Shards that lose their primaries together, so that nobody can elect a replica: with consent, a replica takes over. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ControllerArgs } from "../../../components/kubernetes/arguments";
import calculateSlot from "cluster-key-slot";
import { ControlledPods } from "../../support/kubernetes/controlled-pods";
import { DeployedPods } from "../../support/kubernetes/deployed-pods";
import { giveBackPods, losePods } from "../../support/kubernetes/lost-pods";
import { KUBECONFIG, WHERE } from "../../support/kubernetes/throw-away";

const KEYS = Array.from({ length: 60 }, (_, index) => `key-${index}`);

describe.skipIf(KUBECONFIG === undefined)(`a cluster that loses most primaries${WHERE}`, { timeout: 400_000 }, () => {
  let pods: DeployedPods;
  let controlled: ControlledPods;
  beforeAll(async () => {
    const kind = { mode: "cluster" as const, shape: { primaries: 3, replicasPerPrimary: 1 } };
    const settings = {
      ...{ appendonly: true, save: "", "cluster-node-timeout": 2000, "repl-diskless-sync-delay": 0 },
      "enable-debug-command": "yes",
    };
    pods = await DeployedPods.open("orders", kind, { settings });
  });
  afterAll(() => controlled.close(), 200_000);

  const control = async (args: ControllerArgs): Promise<void> => {
    controlled = await ControlledPods.open(pods, { everySeconds: 5, ...args });
    await controlled.untilLook(60, ({ pass }) => pass);
  };

  const lose = (names: readonly string[]): Promise<void> => losePods(pods, names);

  /** Lets the pods come back, and waits until the deployment passes. */
  const giveBack = async (): Promise<void> => {
    await giveBackPods(pods, 6);
    await controlled.untilLook(120, ({ pass }) => pass);
  };

  /** Number of the keys that the primaries hold now. */
  const heldKeys = async (): Promise<number> => {
    const primaries = await pods.primaries();
    return pods.withNodes(async (at) => {
      const counts = await Promise.all(primaries.map((name) => at(name).dbsize()));
      return counts.reduce((sum, each) => sum + each, 0);
    });
  };

  it("is told apart from one that recovers, and the controller says what to type", async () => {
    await control({ onLostMajority: "report" });
    const { shards } = (await pods.verified()).verdict;
    await pods.withNodes(async (at) => {
      for (const key of KEYS) {
        const shard = shards.find(({ slots }) =>
          slots.some(({ from, to }) => from <= calculateSlot(key) && calculateSlot(key) <= to),
        );
        await at(shard?.primary).set(key, "value");
        await at(shard?.primary).wait(1, 5000);
      }
    });
    const [first, second] = shards;
    await lose([first?.primary ?? "", second?.primary ?? ""]);
    await pods.here.until(90, async () => {
      const events = await controlled.events();
      const advice = events.find((each) => each.startsWith("ShardsLost: "));
      return advice?.includes(`exec ${first?.replicas[0] ?? ""} `) === true && advice.includes("FAILOVER TAKEOVER")
        ? undefined
        : events.join("\n");
    });
    await giveBack();
    expect(await controlled.events()).not.toContainEqual(expect.stringMatching(/^TookOver/));
    expect(await heldKeys()).toBe(KEYS.length);
  });

  it("serves again with consent, without its lost servers and without losing a key", async () => {
    await control({ onLostMajority: "takeover" });
    const { shards } = (await pods.verified()).verdict;
    const [first, second] = shards;
    await lose([first?.primary ?? "", second?.primary ?? ""]);
    await pods.here.until(60, async () => {
      const events = await controlled.events();
      return events.some((each) => each.startsWith("TookOver: ")) ? undefined : events.join("\n");
    });
    const replica = first?.replicas[0] ?? "";
    await pods.here.until(20, () =>
      pods.here
        .run(replica, "valkey", '. /valkey/scripts/node.sh; echo "CLUSTER INFO" | tell localhost 5')
        .then((info) => (info.includes("cluster_state:ok") ? undefined : info)),
    );
    await giveBack();
    expect(await heldKeys()).toBe(KEYS.length);
  });

  it("gets a primary for one shard whose replica has restarted and is never elected", async () => {
    const { shards } = (await pods.verified()).verdict;
    const [{ primary = "", replicas: [replica = ""] } = { replicas: [] }] = shards;
    await pods.withNodes(async (at) => {
      // The replica restarts while its primary does not reply, so it never links again.
      const frozen = at(primary)
        .call("DEBUG", "SLEEP", "8")
        .catch(() => undefined);
      await at(replica)
        .call("SHUTDOWN", "NOSAVE")
        .catch(() => undefined);
      await frozen;
    });
    await lose([primary]);
    await pods.here.until(90, async () => {
      const events = await controlled.events();
      return events.some((each) => each.startsWith("TookOver: ") && each.includes(replica))
        ? undefined
        : events.join("\n");
    });
    await giveBack();
    expect(await heldKeys()).toBe(KEYS.length);
  });
});
