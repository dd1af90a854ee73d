/** Volumes of a StatefulSet: what grows, what is refused, and what an update leaves that was killed halfway. */
import { problemText } from "../../../lib/errors";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CONTAINER_SECURITY_CONTEXT, POD_SECURITY_CONTEXT } from "../../../components/kubernetes/pods/pod-basics";
import { podReference } from "../../../components/kubernetes/deployment/reference";
import { type KubernetesReference, openKubernetesClient } from "../../../platforms/deployment-reference";
import { orphanStatefulSet } from "../../../platforms/kubernetes/volumes/statefulset-recreation";
import { handler as volumes } from "../../../operations/handlers/deployment/volumes";
import { KUBECONFIG, ThrowAway, WHERE } from "../../support/kubernetes/throw-away";
import type { KubernetesObject } from "../../support/kubernetes/kubernetes-objects";
import { HANDLER_CONTEXT } from "../../support/pulumi/handler-context";
import { IMAGE } from "../../support/kubernetes/server-args";
import { never } from "../../support/valkey/real";

describe.skipIf(KUBECONFIG === undefined)(`volumes of a StatefulSet${WHERE}`, { timeout: 120_000 }, () => {
  const fixedClass = `fixed-${process.pid}`;
  const slowClass = `slow-${process.pid}`;
  const storage = { template: "data", ephemeral: false, size: "1Gi", onDestroy: "delete" } as const;
  let here: ThrowAway;

  const storageClass = (name: string, provisioner: string, allowVolumeExpansion: boolean): KubernetesObject =>
    ({
      apiVersion: "storage.k8s.io/v1",
      kind: "StorageClass",
      metadata: { name },
      provisioner,
      allowVolumeExpansion,
      volumeBindingMode: "WaitForFirstConsumer",
    }) as KubernetesObject;
  const statefulSet = (name: string, storageClassName?: string): KubernetesObject => ({
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name, namespace: here.namespace },
    spec: {
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: {
          terminationGracePeriodSeconds: 0,
          securityContext: POD_SECURITY_CONTEXT,
          containers: [
            { name: "waits", image: IMAGE, command: ["sleep", "600"], securityContext: CONTAINER_SECURITY_CONTEXT },
          ],
        },
      },
      volumeClaimTemplates: [
        {
          metadata: { name: "data" },
          spec: {
            accessModes: ["ReadWriteOnce"],
            storageClassName,
            resources: { requests: { storage: storage.size } },
          },
        },
      ],
      persistentVolumeClaimRetentionPolicy: { whenDeleted: "Delete", whenScaled: "Delete" },
    },
  });
  const target = (name: string): KubernetesReference => ({
    ...podReference(
      name,
      { mode: "cluster", shape: { primaries: 1, replicasPerPrimary: 0 } },
      { namespace: here.namespace, zones: ["a"], settings: {} },
    ),
    kubeconfig: KUBECONFIG,
  });
  const claims = async (name: string): Promise<unknown[]> =>
    (await here.core.listNamespacedPersistentVolumeClaim({ namespace: here.namespace })).items
      .filter(({ metadata }) => metadata?.name === `data-${name}-0`)
      .map(({ metadata, status }) => [status?.capacity?.["storage"], metadata?.ownerReferences?.[0]?.kind]);
  /** Leaves what an update leaves that is killed before the StatefulSet is made again. */
  const interrupt = async (name: string): Promise<void> => {
    const volumes = { namespace: here.namespace, statefulSet: name, template: "data" };
    await orphanStatefulSet(await openKubernetesClient(target(name)), volumes, {
      timeoutMs: 30_000,
      signal: never,
      report: () => undefined,
    });
    expect(await claims(name)).toEqual([["1Gi", undefined]]);
  };

  beforeAll(async () => {
    here = await ThrowAway.open();
    const { items } = await here.storage.listStorageClass();
    const provisioner = items[0]?.provisioner ?? "";
    const classes = [storageClass(fixedClass, provisioner, false), storageClass(slowClass, provisioner, true)];
    await here.apply(classes);
    await here.apply([
      statefulSet("fixed", fixedClass),
      statefulSet("slow", slowClass),
      statefulSet("grows"),
      statefulSet("goes"),
    ]);
    for (const app of ["fixed", "slow", "grows", "goes"]) await here.untilReady({ app }, 1, 60);
    // From now on nobody grows its volumes.
    await here.storage.deleteStorageClass({ name: slowClass });
    await here.apply([storageClass(slowClass, "nobody", true)]);
  }, 120_000);
  afterAll(async () => {
    await here.close();
    for (const name of [fixedClass, slowClass]) await here.storage.deleteStorageClass({ name });
  }, 120_000);

  it("keep the zones that they lie in, unless another node has a copy and takes over", async () => {
    const all = await here.zones();
    const [own = ""] = await here.zonesOf(await here.pods({ app: "grows" }));
    const others = all.filter((zone) => zone !== own);
    const without = (zones: readonly string[], other: Partial<KubernetesReference> = {}) => {
      const olds = { target: { ...target("grows"), zones: all, ...other }, storage, timeoutSeconds: 60 };
      return volumes.check?.(olds, { ...olds, target: { ...olds.target, zones } }, HANDLER_CONTEXT);
    };
    expect(await without(all.slice().reverse())).toEqual([]);
    expect(await without([own])).toEqual([]);
    expect(await without(others)).toEqual([
      {
        code: "zones-changed",
        path: "target.zones",
        message: expect.stringContaining(
          `zone ${own} cannot be removed: a pod can run only in the zone of its volume, so nodes of grows would have to move, and no replica could take over from them (volumes: data-grows-0)`,
        ) as string,
      },
    ]);
    const shape = { primaries: 1, replicasPerPrimary: 1 };
    expect(await without(others, { shape })).toEqual([]);
    expect(await without(others, { shape, mode: "replication" })).toEqual([]);
  });

  it("grow in the next update after one that was killed halfway", async () => {
    const [before] = await here.pods({ app: "grows" });
    await interrupt("grows");
    const olds = { target: target("grows"), storage, timeoutSeconds: 60 };
    await volumes.update?.("", olds, { ...olds, storage: { ...storage, size: "3Gi" } }, HANDLER_CONTEXT);
    await here.until(30, async () =>
      JSON.stringify(await claims("grows")) === '[["3Gi","StatefulSet"]]' ? undefined : "the claim has no owner",
    );
    expect(await here.read(statefulSet("grows"))).toMatchObject({
      metadata: {
        managedFields: expect.arrayContaining([expect.objectContaining({ manager: "valkey-test" })]) as unknown,
      },
      spec: { volumeClaimTemplates: [{ spec: { resources: { requests: { storage: "3Gi" } } } }] },
    });
    const [after] = await here.pods({ app: "grows" });
    expect(after?.metadata).toMatchObject({
      uid: before?.metadata?.uid,
      ownerReferences: [{ kind: "StatefulSet" }],
    });
    expect((after?.metadata?.labels ?? {})["controller-revision-hash"]).toBe(
      (before?.metadata?.labels ?? {})["controller-revision-hash"],
    );
  });

  it("that have not grown in time fail the update with the reason, and keep their StatefulSet", async () => {
    const condition = { type: "FileSystemResizePending", status: "True" };
    await here.core.patchNamespacedPersistentVolumeClaimStatus({
      ...{ namespace: here.namespace, name: "data-slow-0" },
      body: [{ op: "add", path: "/status/conditions", value: [condition] }],
    });
    const had = { ...storage, className: slowClass };
    const olds = { target: target("slow"), storage: had, timeoutSeconds: 2 };
    const news = { ...olds, storage: { ...had, size: "2Gi" } };
    expect(await volumes.check?.(olds, news, HANDLER_CONTEXT)).toEqual([]);
    await expect(volumes.update?.("", olds, news, HANDLER_CONTEXT)).rejects.toThrow(
      /volume claims data-slow-0 grow when their pods restart \(FileSystemResizePending\)/,
    );
    expect(await claims("slow")).toEqual([["1Gi", "StatefulSet"]]);
  });

  it("are deleted with their pods by a destroy after an update that was killed halfway", async () => {
    await interrupt("goes");
    await volumes.delete?.("", { target: target("goes"), storage, timeoutSeconds: 60 }, HANDLER_CONTEXT);
    await here.until(30, async () => {
      const left = [...(await here.pods({ app: "goes" })), ...(await claims("goes"))];
      return left.length === 0 ? undefined : `${left.length} are left`;
    });
    const { items } = await here.core.listNamespacedConfigMap({ namespace: here.namespace });
    expect(items.map(({ metadata }) => metadata?.name)).toEqual(["kube-root-ca.crt"]);
  });

  it("that cannot grow are refused with the way to do it; so are smaller ones, another class, and none", async () => {
    const had = { ...storage, className: fixedClass };
    const olds = { target: target("fixed"), storage: had, timeoutSeconds: 60 };
    const refused = async (change: object): Promise<string[]> =>
      (
        (await volumes.check?.(olds, { target: olds.target, storage: { ...had, ...change } }, HANDLER_CONTEXT)) ?? []
      ).map(problemText);
    expect(await refused({ size: "2Gi" })).toEqual([
      expect.stringContaining(
        `storage.size: volumes of 1Gi cannot grow to 2Gi: storage class ${fixedClass} does not set`,
      ),
    ]);
    expect(await refused({ size: "1000Mi" })).toEqual([
      expect.stringContaining("storage.size: volumes of 1Gi cannot shrink to 1000Mi: volumes can only grow"),
    ]);
    expect(await refused({ className: "other" })).toEqual([
      expect.stringContaining(`storage.className: volumes of class ${fixedClass} cannot become volumes of class other`),
    ]);
    expect(await refused({ ephemeral: true })).toEqual([
      expect.stringContaining("storage.ephemeral: volumes cannot become storage that is deleted with the pod"),
    ]);
    expect(await refused({ size: "10GB" })).toEqual([
      'storage.size: "10GB" is not a size; expected a size such as 20Gi',
    ]);
    expect(await refused({ size: "1024Mi" })).toEqual([]);
  });
});
