/** Faults in a cluster of pods while a client writes. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { PodFaultInjector } from "../../../faults/injectors/pod-injector";
import type { FaultSubject } from "../../../faults/scenarios/scenario-run";
import { injectFault } from "../../support/faults/fault-subject";
import { DeployedPods, podLabels } from "../../support/kubernetes/deployed-pods";
import type { ThrowAway } from "../../support/kubernetes/throw-away";
import { KUBECONFIG, WHERE } from "../../support/kubernetes/throw-away";

const SHAPE = { primaries: 3, replicasPerPrimary: 1 };
const SETTINGS = {
  appendonly: true,
  appendfsync: "always",
  save: "",
  "cluster-node-timeout": 2000,
  "repl-diskless-sync-delay": 0,
} as const;
const LABELS = podLabels("broken");
/** Connections run through the API server's port-forward on a machine that runs a whole Kubernetes. */
const TUNNELLED = {
  load: { rate: 100, bytes: 64, timeoutMs: 5000, acknowledgement: { replicas: 0, timeoutMs: 0 } },
  recoveryTimeoutSeconds: 180,
};

describe.skipIf(KUBECONFIG === undefined)(`faults in pods${WHERE}`, { timeout: 400_000 }, () => {
  let here: ThrowAway;
  let pods: DeployedPods;
  let cluster: FaultSubject & { readonly injector: PodFaultInjector };

  beforeAll(async () => {
    pods = await DeployedPods.open("broken", { mode: "cluster", shape: SHAPE }, { settings: SETTINGS });
    here = pods.here;
    cluster = await pods.subject();
  }, 400_000);
  afterAll(() => pods.close());

  it("the loss of a primary's pod is over once its replica is elected", async () => {
    const record = await injectFault(cluster, { kind: "kill-primary", restart: "served" }, TUNNELLED);
    // An orderly hand-over, which the pod's last second would suffice for, takes less.
    expect(record.outage.overMs).toBeGreaterThan(500);
    expect(record.states.some(({ state }) => state === "silent")).toBe(true);
  });

  it("all pods lost at once return with other addresses and every write that a replica had", async () => {
    const before = cluster.injector.nodes().map(({ endpoint }) => endpoint.host);
    // The first node of a shard that is back may become its primary, so that a write is safe only where a replica has
    // it as well.
    const record = await injectFault(
      cluster,
      { kind: "kill-all", newAddresses: true },
      { ...TUNNELLED, load: { ...TUNNELLED.load, acknowledgement: { replicas: 1, timeoutMs: 2000 } } },
    );
    expect(record.lost.count).toBe(0);
    expect(record.okMs).not.toBeNull();
    expect(cluster.injector.nodes().filter(({ endpoint }) => before.includes(endpoint.host))).toEqual([]);
    expect(record.events.map(({ what }) => what).join()).not.toContain("meet again");
  });

  it("a rolling restart loses no write", async () => {
    expect(await injectFault(cluster, { kind: "rolling-restart", home: undefined }, TUNNELLED)).toMatchObject({
      lost: { count: 0 },
    });
  });

  it("pods have the scenario's directives, also recreated ones, and the deployment's afterwards", async () => {
    const timeouts = (): Promise<string[]> =>
      Promise.all(
        cluster.injector.nodes().map(async (node) => {
          const connection = await cluster.injector.deployment.connect(node);
          try {
            return (await connection.config("GET", "cluster-node-timeout"))[1] ?? "";
          } finally {
            connection.disconnect();
          }
        }),
      );
    const recreate = async (directives: ReadonlyMap<string, string>): Promise<string | undefined> => {
      cluster.injector.setStartupDirectives(directives);
      const [node] = cluster.injector.nodes();
      await cluster.injector.kill([node?.name ?? ""]);
      await cluster.injector.start([node?.name ?? ""], { newAddresses: false });
      return (await timeouts())[0];
    };
    const configured = cluster.injector.deployment.directives;
    expect(await recreate(new Map([...configured, ["cluster-node-timeout", "3456"]]))).toBe("3456");
    expect(await recreate(configured)).toBe("2000");
    await injectFault(
      cluster,
      { kind: "kill-primary", restart: "served" },
      { ...TUNNELLED, settings: new Map([["cluster-node-timeout", "2500"]]) },
    );
    expect(await timeouts()).toEqual(["2000", "2000", "2000", "2000", "2000", "2000"]);
  });

  it("a cut that Kubernetes does not enforce is healed, and the scenario fails with the reason", async () => {
    await expect(injectFault(cluster, { kind: "cut-zone", zone: undefined, seconds: 4 }, TUNNELLED)).rejects.toThrow(
      /had no effect: this Kubernetes cluster does not enforce NetworkPolicies/,
    );
    const policies = (await here.read({
      apiVersion: "networking.k8s.io/v1",
      kind: "NetworkPolicy",
      metadata: { name: "broken" },
    })) as { metadata: { annotations?: Record<string, string> }; spec: { podSelector: unknown } };
    expect(policies.spec.podSelector).toEqual({ matchLabels: LABELS });
    expect(JSON.stringify(policies.metadata.annotations ?? {})).not.toContain("before-the-cut");
    expect(
      (await here.pods(LABELS)).filter(({ metadata }) => metadata?.labels?.["valkey-measured/cut"] !== undefined),
    ).toEqual([]);
  });
});
