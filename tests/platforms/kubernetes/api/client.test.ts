import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";
import { afterAll, describe, expect, it } from "vitest";
import { BadInput, Failure } from "../../../../lib/errors";
import { KubernetesClient } from "../../../../platforms/kubernetes/api/client";
import { findFreePorts } from "../../../../platforms/host/ports";
import { expectReviewed } from "../../../support/reviewed";

const directory = mkdtempSync(join(tmpdir(), "kubeconfig-"));
afterAll(() => {
  rmSync(directory, { recursive: true });
});

function kubeconfig(changes: Record<string, unknown> = {}, server = "https://127.0.0.1:1"): string {
  return stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "staging",
    clusters: [{ name: "c", cluster: { server, "insecure-skip-tls-verify": true } }],
    users: [{ name: "u", user: { token: "t" } }],
    contexts: ["staging", "production"].map((name) => ({ name, context: { cluster: "c", user: "u" } })),
    ...changes,
  });
}

it("refuses a kubeconfig that cannot be used", { timeout: 60_000 }, async () => {
  const accesses: Readonly<Record<string, Parameters<typeof KubernetesClient.open>[0]>> = {
    "a file that is not there": { kubeconfig: join(directory, "none") },
    "text that is none": { kubeconfig: "{ not: yaml: at: all" },
    "a context it does not have, with what was probably meant": { kubeconfig: kubeconfig(), context: "prodution" },
    "no current context": { kubeconfig: kubeconfig({ "current-context": "" }) },
    "a context without a cluster": { kubeconfig: kubeconfig({ clusters: [] }) },
    "no contexts": { kubeconfig: kubeconfig({ contexts: [] }) },
  };
  const found = Object.entries(accesses).map(async ([what, access]) => {
    const error = await KubernetesClient.open(access).catch((thrown: unknown) => thrown);
    expect(error, what).toBeInstanceOf(BadInput);
    return [what, (error as BadInput).message.replace(directory, "DIRECTORY")] as const;
  });
  await expectReviewed("platforms/kubeconfigs", "Kubeconfigs that cannot be used.", await Promise.all(found));
});

describe("an API server that is not there", { timeout: 60_000 }, () => {
  it("is a failure in one sentence, whether the kubeconfig is a file or its text", async () => {
    const [port = 0] = await findFreePorts(1);
    const text = kubeconfig({}, `https://127.0.0.1:${port}`);
    const file = join(directory, "config");
    writeFileSync(file, text);
    for (const given of [text, file]) {
      const opened = KubernetesClient.open({ kubeconfig: given, context: "production" });
      await expect(opened).rejects.toThrow(
        `asking for its version: the API server of context production (https://127.0.0.1:${port}) cannot be reached: connect ECONNREFUSED 127.0.0.1:${port}; check that the cluster runs and that the context is right`,
      );
      await expect(opened).rejects.toBeInstanceOf(Failure);
    }
  });
});
