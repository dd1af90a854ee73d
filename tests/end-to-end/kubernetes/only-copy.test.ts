/** Pods that stop with the only copy of the data, without snapshots and append-only file: they come back with it. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ServerArgs } from "../../../components/kubernetes/arguments";
import { podReference } from "../../../components/kubernetes/deployment/reference";
import { ClusterServers } from "../../../components/kubernetes/servers/cluster-servers";
import { EngineServers } from "../../../components/engine-deployment";
import { type KubernetesReference, openDeployment } from "../../../platforms/deployment-reference";
import { form } from "../../../valkey/formation/form";
import { renderObjects, type KubernetesObject } from "../../support/kubernetes/kubernetes-objects";
import { isStaying, KUBECONFIG, ThrowAway, WHERE } from "../../support/kubernetes/throw-away";
import { plainServers } from "../../support/kubernetes/server-args";

const PASSWORD = "known to all of them";
const SETTINGS = { save: "" } as const;
const labels = (instance: string): Record<string, string> => ({
  "app.kubernetes.io/name": "valkey",
  "app.kubernetes.io/instance": instance,
});

describe.skipIf(KUBECONFIG === undefined)(`the only copy of the data${WHERE}`, { timeout: 300_000 }, () => {
  let here: ThrowAway;
  let zones: string[];
  const tell = (pod: string, command: string): Promise<string> =>
    here.run(pod, "valkey", `. /valkey/scripts/node.sh; echo '${command}' | tell localhost 5`);
  const restart = async (pod: string, instance: string, pods: number): Promise<void> => {
    await here.core.deleteNamespacedPod({ namespace: here.namespace, name: pod });
    await here.until(60, async () =>
      (await here.pods(labels(instance))).every(isStaying) ? undefined : `${pod} is still there`,
    );
    await here.untilReady(labels(instance), pods, 120);
  };
  const common = (): Omit<ServerArgs, "engine"> => ({
    ...plainServers,
    namespace: here.namespace,
    imagePullPolicy: "IfNotPresent",
    password: PASSWORD,
    settings: SETTINGS,
    placement: { zones, hostAntiAffinity: "preferred" },
  });

  beforeAll(async () => {
    here = await ThrowAway.open();
    zones = (await here.zones()).slice(0, 3);
  });
  afterAll(() => here.close(), 200_000);

  it("survives a restart of a primary in replication mode", async () => {
    const objects = await renderObjects(
      () => new EngineServers("copies", { ...common(), engine: "redis", replicas: 2 }),
    );
    // The servers of Redis, with Valkey's programs of the same words.
    const text = JSON.stringify(objects).replaceAll(/redis-(server|cli)/g, "valkey-$1");
    await here.apply(JSON.parse(text) as KubernetesObject[]);
    await here.untilReady(labels("copies"), 3, 120);
    expect(await tell("copies-0", "SET kept yes")).toContain("OK");
    await restart("copies-0", "copies", 3);
    expect(await tell("copies-0", "GET kept")).toContain("yes");
  });

  it("survives a restart of a cluster node without replicas", async () => {
    const shape = { primaries: 3, replicasPerPrimary: 0 };
    await here.apply(await renderObjects(() => new ClusterServers("alone", { ...common(), shape })));
    await here.untilReady(labels("alone"), 3, 120);
    const location = { namespace: here.namespace, zones, settings: SETTINGS };
    const target: KubernetesReference = {
      ...podReference("alone", { mode: "cluster", shape }, location),
      kubeconfig: KUBECONFIG,
    };
    await form(await openDeployment(target, PASSWORD), shape);
    const pod = "alone-2";
    // A slot of the third primary.
    expect(await tell(pod, "SET kept{a} yes")).toContain("OK");
    await restart(pod, "alone", 3);
    expect(await tell(pod, "GET kept{a}")).toContain("yes");
  });
});
