/** The wait for credentials as the engine calls it, with the real client of an API server. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type PodCredentialsInputs, handler } from "../../../operations/handlers/pod-credentials";
import { FakeApiServer, kubeconfigOf } from "../../support/kubernetes/fake-api-server";
import { HANDLER_CONTEXT } from "../../support/pulumi/handler-context";

let server: FakeApiServer;
beforeAll(async () => {
  server = await FakeApiServer.start();
});
afterAll(() => {
  server.stop();
});

const inputs = (changes: Partial<PodCredentialsInputs> = {}): PodCredentialsInputs => ({
  ...{ kubeconfig: server.kubeconfig, namespace: "shop", serviceAccount: "orders-archive" },
  ...{ purpose: "backup to backups", timeoutSeconds: 0 },
  ...changes,
});
const trials = (): number => server.requests.filter((each) => each === "POST /api/v1/namespaces/shop/pods").length;

async function reportsOf(work: (context: typeof HANDLER_CONTEXT) => Promise<unknown>): Promise<string[]> {
  const lines: string[] = [];
  await work({ ...HANDLER_CONTEXT, report: (line) => lines.push(line) });
  return lines;
}

describe("a pod that gets no credentials", () => {
  it("does not stop the update, which says what to do", async () => {
    const lines = await reportsOf((context) => handler.create(inputs(), context));
    expect(lines).toEqual([
      "EKS gives pods of the service account orders-archive of namespace shop no AWS credentials; create an EKS Pod " +
        "Identity association for it, then delete the pod, so that a new pod gets them",
    ]);
    expect(trials()).toBe(1);
  });

  it("is tried again only for a new purpose", async () => {
    const before = trials();
    await handler.update?.("", inputs(), inputs({ timeoutSeconds: 1 }), HANDLER_CONTEXT);
    expect(trials()).toBe(before);
    await handler.update?.("", inputs(), inputs({ purpose: "backup to others" }), HANDLER_CONTEXT);
    expect(trials()).toBe(before + 1);
  });

  it("is unknown without an answer of the API server, which does not stop the update either", async () => {
    const kubeconfig = kubeconfigOf("http://127.0.0.1:1");
    const lines = await reportsOf((context) => handler.create(inputs({ kubeconfig }), context));
    expect(lines.join("\n")).toMatch(/^it is not known whether pods of .* get AWS credentials: .*cannot be reached/);
  });

  it("ends the wait when the update is cancelled", async () => {
    const signal = AbortSignal.abort(new Error("cancelled"));
    const waiting = handler.create(inputs({ timeoutSeconds: 60 }), { ...HANDLER_CONTEXT, signal });
    await expect(waiting).rejects.toThrow("cancelled");
  });
});
