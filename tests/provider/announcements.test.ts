/** What previews say of changes. */
import { describe, expect, it } from "vitest";
import { podReference } from "../../components/kubernetes/reference";
import type { KubernetesReference } from "../../platforms/deployment-reference";
import { handler as hostServers } from "../../provider/handlers/host-servers";
import { handler as imageCheck } from "../../provider/handlers/image-check";
import { handler as rollout } from "../../provider/handlers/rollout";
import { handler as scaleIn } from "../../provider/handlers/scale-in";
import { handler as settings } from "../../provider/handlers/settings";
import type { Mode } from "../../valkey/node";
import type { ServerSettings } from "../../valkey/settings";

const shape = { primaries: 3, replicasPerPrimary: 1 };
const target = (primaries = 3, values: ServerSettings = {}, mode: Mode = "cluster"): KubernetesReference =>
  podReference(
    "orders",
    { engine: "valkey", mode, shape: { ...shape, primaries } },
    { namespace: "valkey", zones: ["a", "b", "c"], settings: values, tls: false },
  );

describe("a preview", () => {
  it("says which settings are set on running nodes, and which restart them", () => {
    const inputs = { target: target(3, { maxmemory: 1, other: { hz: 50 } }), password: "p", timeoutSeconds: 60 };
    const news = target(3, { maxmemory: 2, "io-threads": 4, other: { hz: 50 } });
    expect(settings.announce?.(inputs, { target: news })).toEqual([
      "maxmemory 2: set on 6 running nodes; no restart, clients see nothing",
      "io-threads: set by a restart of 6 nodes",
    ]);
    expect(settings.announce?.(inputs, { target: inputs.target })).toEqual([]);
  });

  it("says how many nodes restart, and what clients see", () => {
    const inputs = { target: target(), revision: "1", timeoutSeconds: 60 };
    expect(rollout.announce?.(inputs, { ...inputs, revision: "2" })).toEqual([
      "6 nodes restart, one after the other; a primary hands its slots over before it stops",
    ]);
    expect(rollout.announce?.(inputs, { target: target(1, {}, "replication"), revision: "2" })).toEqual([
      "2 nodes restart, one after the other; clients cannot write while the primary restarts",
    ]);
    // Another shape alone restarts nothing.
    expect(rollout.announce?.(inputs, { ...inputs, target: target(4) })).toEqual([]);
  });

  it("says that another image is looked at before pods are replaced", () => {
    const inputs = { target: target(), password: "p", image: "valkey:8.1.1", pod: {}, timeoutSeconds: 60 };
    expect(imageCheck.announce?.(inputs, { ...inputs, image: "valkey:9.1.2" })).toEqual([
      "image valkey:8.1.1 becomes valkey:9.1.2, which one pod runs first: nothing changes where it is not Valkey",
    ]);
    expect(imageCheck.announce?.(inputs, { ...inputs, password: "q" })).toEqual([]);
  });

  it("says that another shape moves slots", () => {
    const inputs = { target: target(), password: "p", timeoutSeconds: 60, storage: { size: "1Gi" } };
    expect(scaleIn.announce?.(inputs, { target: target(4) })).toEqual([
      "6 nodes become 8: slots move while clients work; no node restarts",
    ]);
    expect(scaleIn.announce?.(inputs, { target: inputs.target })).toEqual([]);
  });

  it("says on the platform host when servers are replaced, and refuses what would lose data unasked", async () => {
    const plan = { name: "orders", mode: "cluster", zones: ["a", "b", "c"] } as const;
    const inputs = { plan, settings: { maxmemory: 1 }, shape, password: "p", owner: "o", timeoutSeconds: 60 };
    expect(hostServers.announce?.(inputs, { ...inputs, plan: { ...plan, zones: ["a", "b"] } })).toEqual([
      "orders: all servers are replaced, and their data is deleted",
    ]);
    expect(hostServers.announce?.(inputs, { ...inputs, settings: { maxmemory: 2 } })).toEqual([
      "maxmemory 2: set on 6 running nodes; no restart, clients see nothing",
    ]);
    expect(await hostServers.check?.(inputs, { ...inputs, settings: { maxmemory: 2 } })).toEqual([]);
    expect(await hostServers.check?.(inputs, { ...inputs, settings: { "io-threads": 2 } })).toMatchObject([
      { property: "settings", reason: expect.stringMatching(/does not take io-threads, .* loses the data/) as string },
    ]);
  });
});
