/** A larger size of volumes that failed and is taken back, at an API server of the tests' own. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { KubernetesReference } from "../../../../platforms/deployment-reference";
import { copyName, MANAGER, OBJECT, OPERATION } from "../../../../platforms/kubernetes/volumes/statefulset-copy";
import { type VolumesInputs, handler } from "../../../../operations/handlers/deployment/volumes";
import { FakeApiServer } from "../../../support/kubernetes/fake-api-server";
import { HANDLER_CONTEXT } from "../../../support/pulumi/handler-context";

const NAMESPACE = "/api/v1/namespaces/valkey";
const SETS = "/apis/apps/v1/namespaces/valkey/statefulsets";

let api: FakeApiServer;
beforeEach(async () => {
  api = await FakeApiServer.start();
});
afterEach(() => {
  api.stop();
});

function inputs(size: string): VolumesInputs {
  const target: KubernetesReference = {
    ...{ platform: "kubernetes", name: "orders", mode: "cluster", shape: { primaries: 3, replicasPerPrimary: 0 } },
    ...{ zones: [], directives: {}, kubeconfig: api.kubeconfig, namespace: "valkey", statefulSet: "orders" },
    ...{ container: "valkey", port: 6379, service: "" },
  };
  return { target, storage: { size, template: "data", ephemeral: false, onDestroy: "keep" }, timeoutSeconds: 5 };
}

function claim(index: number, size: string): void {
  const name = `data-orders-${index}`;
  api.objects.set(`${NAMESPACE}/persistentvolumeclaims/${name}`, {
    metadata: { name },
    spec: { resources: { requests: { storage: size } } },
    status: { phase: "Bound", capacity: { storage: size } },
  });
}

describe("a larger size of volumes that is taken back after it failed", () => {
  it("is accepted while no volume has been asked to grow, and refused afterwards", async () => {
    claim(0, "1Gi");
    claim(1, "1Gi");
    // The engine has the inputs that were tried last.
    expect(await handler.check?.(inputs("2Gi"), inputs("1Gi"), HANDLER_CONTEXT)).toEqual([]);
    claim(1, "2Gi");
    expect(await handler.check?.(inputs("2Gi"), inputs("1Gi"), HANDLER_CONTEXT)).toMatchObject([
      {
        code: "volumes-shrink",
        path: "storage.size",
        message: expect.stringContaining("volumes can only grow") as string,
      },
    ]);
  });

  it("makes the StatefulSet again that was taken away for it", async () => {
    claim(0, "1Gi");
    const template = { metadata: { name: "data" }, spec: { resources: { requests: { storage: "1Gi" } } } };
    const set = { apiVersion: "apps/v1", kind: "StatefulSet", metadata: { name: "orders" } };
    api.objects.set(`${NAMESPACE}/configmaps/${copyName("orders")}`, {
      metadata: { name: copyName("orders") },
      data: {
        [OBJECT]: JSON.stringify({ ...set, spec: { replicas: 1, volumeClaimTemplates: [template] } }),
        [MANAGER]: "pulumi",
        [OPERATION]: "Update",
      },
    });
    await handler.update?.("orders", inputs("1Gi"), inputs("1Gi"), HANDLER_CONTEXT, [inputs("2Gi")]);
    expect(api.objects.get(`${SETS}/orders`)).toMatchObject({
      spec: { volumeClaimTemplates: [{ spec: { resources: { requests: { storage: "1Gi" } } } }] },
    });
    expect(api.objects.has(`${NAMESPACE}/configmaps/${copyName("orders")}`)).toBe(false);
  });
});
