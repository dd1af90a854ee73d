/** Heartbeats of played machines, for so many that the tool's own, one after the other, come too late. */
import { setTimeout as sleep } from "node:timers/promises";
import { CoordinationV1Api, KubeConfig, setHeaderOptions, PatchStrategy } from "@kubernetes/client-node";
import { Semaphore } from "../../../lib/semaphore";
import { KUBECONFIG } from "./throw-away";

const NAMESPACE = "kube-node-lease";
/** Machines of the local Kubernetes itself, whose kubelets are real. */
const REAL = /^node-\d+$/;
/** A machine counts as lost after 20 s. */
const INTERVAL_MS = 5000;
const PARALLEL = 8;

/** Renews the leases of all played machines until the signal. */
export async function keepAlive(signal: AbortSignal): Promise<void> {
  const config = new KubeConfig();
  config.loadFromFile(KUBECONFIG ?? "");
  const api = config.makeApiClient(CoordinationV1Api);
  const merge = setHeaderOptions("Content-Type", PatchStrategy.MergePatch);
  const semaphore = new Semaphore(PARALLEL);
  while (!signal.aborted) {
    const { items } = await api.listNamespacedLease({ namespace: NAMESPACE });
    const names = items.flatMap(({ metadata }) => metadata?.name ?? []).filter((name) => !REAL.test(name));
    const renewed = names.map((name) =>
      semaphore.run(async () => {
        const body = { spec: { renewTime: new Date().toISOString().replace("Z", "000Z") } };
        // It may be gone by now.
        await api.patchNamespacedLease({ name, namespace: NAMESPACE, body }, merge).catch(() => undefined);
      }),
    );
    await Promise.all(renewed);
    await sleep(INTERVAL_MS, undefined, { signal }).catch(() => undefined);
  }
}
