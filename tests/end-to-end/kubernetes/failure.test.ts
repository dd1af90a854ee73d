/** Faults in a cluster of pods while a client writes. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FaultSubject } from "../../../faults/scenarios/run-scenarios";
import { PodFaultInjector } from "../../../faults/injectors/pod-injector";
import { form } from "../../../valkey/formation/form";
import type { KubernetesReference } from "../../../platforms/deployment-reference";
import { openKubernetesClient, openKubernetesDeployment } from "../../../platforms/deployment-reference";
import { verifyUntilPass } from "../../../valkey/verification/verify";
import { SERVER_CONTAINER } from "../../../components/kubernetes/layout";
import { podReference } from "../../../components/kubernetes/reference";
import { ClusterServers } from "../../../components/servers/cluster-servers";
import { renderObjects } from "../../support/kubernetes/kubernetes-objects";
import { plainServers } from "../../support/valkey/servers";
import { injectFault } from "../../support/faults/fault-subject";
import { KUBECONFIG, ThrowAway, WHERE } from "../../support/kubernetes/throw-away";
import { never } from "../../support/valkey/real";

const SHAPE = { primaries: 3, replicasPerPrimary: 1 };
const PASSWORD = "broken on purpose";
const SETTINGS = {
  appendonly: true,
  appendfsync: "always",
  save: "",
  "cluster-node-timeout": 2000,
  "repl-diskless-sync-delay": 0,
} as const;
const LABELS = { "app.kubernetes.io/name": "valkey", "app.kubernetes.io/instance": "broken" };
/** Connections run through the API server's port-forward on a machine that runs a whole Kubernetes. */
const TUNNELLED = {
  load: { rate: 100, bytes: 64, timeoutMs: 5000, acknowledgement: { replicas: 0, timeoutMs: 0 } },
  recoveryTimeoutSeconds: 180,
};

describe.skipIf(KUBECONFIG === undefined)(`faults in pods${WHERE}`, { timeout: 400_000 }, () => {
  let here: ThrowAway;
  let injector: PodFaultInjector | undefined;
  let cluster: FaultSubject;

  beforeAll(async () => {
    here = await ThrowAway.open();
    const zones = (await here.zones()).slice(0, 3);
    await here.apply(
      await renderObjects(() => {
        new ClusterServers("broken", {
          ...plainServers,
          namespace: here.namespace,
          imagePullPolicy: "IfNotPresent",
          password: PASSWORD,
          shape: SHAPE,
          settings: SETTINGS,
          placement: { zones, hostAntiAffinity: "preferred" },
        });
      }),
    );
    await here.untilReady(LABELS, 6, 180);
    const target: KubernetesReference = {
      ...podReference(
        "broken",
        { engine: "valkey", mode: "cluster", shape: SHAPE },
        { namespace: here.namespace, zones, settings: SETTINGS },
      ),
      kubeconfig: KUBECONFIG,
    };
    const kubernetes = await openKubernetesClient(target);
    const deployment = await openKubernetesDeployment(kubernetes, target, PASSWORD);
    await form(deployment, SHAPE);
    const { verdict } = await verifyUntilPass(deployment, { settlingMs: 30_000 });
    const pods = new PodFaultInjector(deployment, {
      kubernetes,
      port: 6379,
      container: SERVER_CONTAINER,
      networkPolicy: "broken",
      signal: never,
    });
    injector = pods;
    cluster = {
      injector: pods,
      shape: SHAPE,
      hasAutomaticFailover: true,
      initialPrimaries: verdict.shards.flatMap(({ primary }) => primary ?? []),
    };
  }, 400_000);
  afterAll(async () => {
    injector?.close();
    await here.close();
  });

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
      /had no effect: this Kubernetes does not enforce NetworkPolicies/,
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
