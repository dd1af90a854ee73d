import type { V1Pod } from "@kubernetes/client-node";
import { describe, expect, it } from "vitest";
import type { Plain } from "../../../platforms/kubernetes/api/plain";
import { type PodCreator, awaitPodCredentials } from "../../../operations/handlers/pod-credentials";

const PLACE = { namespace: "shop", serviceAccount: "orders-archive" };
const OPTIONS = { signal: new AbortController().signal, report: () => undefined };

type Asked = Parameters<PodCreator["core"]["createNamespacedPod"]>[0];

/** Admits one pod after the other, each with the given variables, the last ones for ever. */
function apiServer(variables: readonly (readonly string[])[]): PodCreator & { readonly asked: Asked[] } {
  const asked: Asked[] = [];
  return {
    asked,
    core: {
      createNamespacedPod: (request): Promise<Plain<V1Pod>> => {
        asked.push(request);
        const names = variables[Math.min(asked.length, variables.length) - 1] ?? [];
        const containers = [{ name: "trial", env: names.map((name) => ({ name, value: "x" })) }];
        return Promise.resolve({ spec: { containers } });
      },
    },
    call: (_doing, answer) => answer,
  };
}

describe("awaitPodCredentials", () => {
  const GIVEN = ["AWS_CONTAINER_CREDENTIALS_FULL_URI"];

  it("waits until three pods in a row get credentials, because each API server learns of them by itself", async () => {
    const server = apiServer([[], ["AWS_REGION"], GIVEN, [], GIVEN, ["AWS_WEB_IDENTITY_TOKEN_FILE"], GIVEN]);
    expect(await awaitPodCredentials(server, PLACE, { ...OPTIONS, timeoutMs: 5_000 }, 1)).toBe(true);
    expect(server.asked).toHaveLength(7);
  });

  it("creates no pod: it asks for a dry run, with the service account and without a token", async () => {
    const server = apiServer([GIVEN]);
    await awaitPodCredentials(server, PLACE, { ...OPTIONS, timeoutMs: 5_000 }, 1);
    expect(server.asked.map(({ dryRun }) => dryRun)).toEqual(["All", "All", "All"]);
    expect(server.asked[0]).toMatchObject({
      namespace: "shop",
      body: { spec: { serviceAccountName: "orders-archive", automountServiceAccountToken: false } },
    });
  });

  it("says after the time limit that there are none, and meanwhile what it waits for", async () => {
    const lines: string[] = [];
    const report = (line: string): number => lines.push(line);
    expect(await awaitPodCredentials(apiServer([[]]), PLACE, { ...OPTIONS, report, timeoutMs: 20 }, 1)).toBe(false);
    expect(lines[0]).toBe("EKS gives pods of the service account orders-archive no credentials yet");
  });
});
