/** A Kubernetes that whoever started the tests starts at the same time, so that the tests that need none do not wait. */
import { existsSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** Names the file that appears when the start has ended: lines `NAME=VALUE`, without VALKEY_TEST_KUBECONFIG if it failed. */
const STARTING = "VALKEY_TEST_KUBERNETES_STARTING";
const POLL_MS = 500;

export const mayHaveKubernetes = (): boolean =>
  process.env["VALKEY_TEST_KUBECONFIG"] !== undefined || process.env[STARTING] !== undefined;

/** Takes over the variables of a Kubernetes that has started. @returns whether there is one */
export async function kubernetesIsUp(isInterrupted: () => boolean): Promise<boolean> {
  const file = process.env[STARTING];
  if (file !== undefined) {
    while (!existsSync(file) && !isInterrupted()) await sleep(POLL_MS);
    const text = isInterrupted() ? "" : readFileSync(file, "utf8");
    for (const [, name = "", value] of text.matchAll(/^(\w+)=(.*)$/gm)) process.env[name] = value;
  }
  return process.env["VALKEY_TEST_KUBECONFIG"] !== undefined;
}
