/** Handlers of a deployment whose Kubernetes cluster does not answer: previews, refreshes and `destroy`. */
import { problem } from "../../../lib/errors";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { KubernetesReference } from "../../../platforms/deployment-reference";
import { handler as access } from "../../../operations/handlers/deployment/access";
import { handler as clusterCheck } from "../../../operations/handlers/cluster-check";
import { handler as imageCheck } from "../../../operations/handlers/deployment/image-check";
import { handler as retirement } from "../../../operations/handlers/deployment/password-retirement";
import { handler as settings } from "../../../operations/handlers/deployment/settings";
import { handler as tlsCheck } from "../../../operations/handlers/deployment/tls-check";
import { handler as volumeDeletionWait } from "../../../operations/handlers/volume-deletion-wait";
import type { StorageRequest } from "../../../operations/changes/volume-refusals";
import { handler as volumes } from "../../../operations/handlers/deployment/volumes";
import { kubeconfigOf } from "../../support/kubernetes/fake-api-server";
import { HANDLER_CONTEXT } from "../../support/pulumi/handler-context";

const kubeconfig = kubeconfigOf("http://127.0.0.1:1");
const target: KubernetesReference = {
  ...{ platform: "kubernetes", name: "orders", mode: "cluster", shape: { primaries: 3, replicasPerPrimary: 1 } },
  ...{ zones: ["a"], directives: {}, kubeconfig, namespace: "valkey", statefulSet: "orders", container: "valkey" },
  ...{ port: 6379, service: "" },
};
const storage: StorageRequest = { size: "1Gi", template: "data", ephemeral: false, onDestroy: "delete" };
const timeoutSeconds = 1;

afterEach(() => {
  vi.unstubAllEnvs();
});

describe("a preview", () => {
  it("refuses to leave the namespace that the stack created, which Pulumi would delete with all data", async () => {
    const inputs = (createsNamespace: boolean): Parameters<NonNullable<typeof clusterCheck.check>>[1] => ({
      kubeconfig,
      needs: { namespace: "valkey", createsNamespace, zones: ["a"], storageClasses: [], servers: [], controllers: [] },
      stack: "project/stack",
      keepsNamespace: false,
    });
    const check = (before: boolean, after: boolean): unknown =>
      clusterCheck.check?.(
        inputs(before) as Parameters<NonNullable<typeof clusterCheck.check>>[0],
        inputs(after),
        HANDLER_CONTEXT,
      );
    const reason =
      "valkey:platform.createNamespace: this stack created the namespace valkey. Without createNamespace: true, the update would delete this namespace with all data in it; set createNamespace: true";
    expect(await check(true, false)).toEqual([problem("unfit-cluster", "", reason)]);
    expect(await check(true, true)).toEqual([]);
    expect(await check(false, false)).toEqual([]);
  });
});

describe("destroy", () => {
  const deletions = (lines: string[]): Promise<void>[] => {
    const context = { ...HANDLER_CONTEXT, report: (line: string) => lines.push(line) };
    const overlap = { overlapSeconds: 90, changedAt: "" };
    const needs = { namespace: "valkey" } as Parameters<NonNullable<typeof clusterCheck.delete>>[1]["needs"];
    return [
      retirement.delete?.("", { target, password: "p", users: {}, ...overlap, timeoutSeconds }, context),
      volumes.delete?.("", { target, storage, timeoutSeconds }, context),
      volumeDeletionWait.delete?.("", { kubeconfig, namespace: "valkey", timeoutSeconds }, context),
      clusterCheck.delete?.("", { kubeconfig, needs, stack: "project/stack", keepsNamespace: true }, context),
    ].map(async (deletion) => {
      await deletion;
    });
  };

  it("goes on where the cluster is said to be gone, and says what it could not delete", async () => {
    vi.stubEnv("PULUMI_K8S_DELETE_UNREACHABLE", "true");
    const lines: string[] = [];
    await Promise.all(deletions(lines));
    expect(lines).toHaveLength(4);
    for (const line of lines) expect(line).toMatch(/: not deleted, because the Kubernetes cluster cannot be reached/);
  });

  it("fails otherwise, and says how to say so", async () => {
    vi.stubEnv("PULUMI_K8S_DELETE_UNREACHABLE", "");
    const outcomes = await Promise.allSettled(deletions([]));
    for (const outcome of outcomes)
      expect(outcome).toMatchObject({
        reason: { message: expect.stringContaining("set PULUMI_K8S_DELETE_UNREACHABLE=true") as string },
      });
  });
});

describe("a refresh", () => {
  it("keeps the drift that an earlier one found, where it cannot look", async () => {
    const drift = ["orders-1: hz is 20, not 10"];
    const inputs = { target, password: "p", timeoutSeconds };
    const found = await settings.read?.("", { ...inputs, pending: false, drift }, HANDLER_CONTEXT);
    expect(found).toEqual({ pending: false, drift });
    const users = { users: {}, overlapSeconds: 90 } as const;
    const state = { ...inputs, ...users, changedAt: "", drift };
    expect(await access.read?.("", state, HANDLER_CONTEXT)).toEqual({ changedAt: "", drift });
  });
});

describe("a preview", () => {
  const lines: string[] = [];
  const context = { ...HANDLER_CONTEXT, report: (line: string) => lines.push(line) };
  const tls = { secretName: "certificate", hosts: ["orders"] };
  const checked = { target, allowDowntime: false, keepsData: true, timeoutSeconds };

  it("refuses nothing, and says what it could not check", async () => {
    const image = { target, password: "p", pod: {}, timeoutSeconds };
    const found = await Promise.all([
      tlsCheck.check?.(undefined, { ...checked, tls }, context),
      tlsCheck.check?.(checked, { ...checked, tls }, context),
      volumes.check?.({ target, storage, timeoutSeconds }, { target, storage: { ...storage, size: "2Gi" } }, context),
      imageCheck.check?.({ ...image, image: "valkey:9.1.0" }, { ...image, image: "valkey:8.1.0" }, context),
    ]);
    expect(found).toEqual([[], [], [], []]);
    expect(lines).toHaveLength(4);
    for (const line of lines) expect(line).toMatch(/^orders: not checked before the update/);
  });

  it("is made up for by the update", async () => {
    const olds = { ...checked, secret: null };
    await expect(tlsCheck.update?.("", olds, { ...checked, tls }, context)).rejects.toThrow("cannot be reached");
    const larger = { target, storage: { ...storage, size: "2Gi" }, timeoutSeconds };
    await expect(volumes.update?.("", { target, storage, timeoutSeconds }, larger, context)).rejects.toThrow(
      "cannot be reached",
    );
  });
});
