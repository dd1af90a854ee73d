/**
 * Heartbeats of played machines. The tool sends its own one after the other, which on a busy computer come too late for
 * hundreds of them; and it never says again that a machine is ready that was taken for lost.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { V1Node } from "@kubernetes/client-node";
import { CoordinationV1Api, CoreV1Api, KubeConfig, setHeaderOptions, PatchStrategy } from "@kubernetes/client-node";
import { Semaphore } from "../../../lib/semaphore";
import { KUBECONFIG } from "./throw-away";

const NAMESPACE = "kube-node-lease";
/** Machines of the local Kubernetes itself, whose kubelets are real. */
const REAL = /^node-\d+$/;
/** A machine counts as lost after 20 s. */
const INTERVAL_MS = 5000;
/** Leases that are younger are left alone: the tool has just renewed them. */
const FRESH_MS = 4000;
const PARALLEL = 8;

/** Renews the leases of all played machines until the signal, and has those be ready that were taken for lost. */
export async function keepAlive(signal: AbortSignal): Promise<void> {
  const config = new KubeConfig();
  config.loadFromFile(KUBECONFIG ?? "");
  const leases = config.makeApiClient(CoordinationV1Api);
  const core = config.makeApiClient(CoreV1Api);
  const merge = setHeaderOptions("Content-Type", PatchStrategy.MergePatch);
  const strategic = setHeaderOptions("Content-Type", PatchStrategy.StrategicMergePatch);
  const semaphore = new Semaphore(PARALLEL);

  const renewAll = async (): Promise<void> => {
    const { items } = await leases.listNamespacedLease({ namespace: NAMESPACE });
    // The library declares a date and gives its text.
    const old = items.filter(({ spec }) => !(Date.now() - Date.parse(String(spec?.renewTime)) <= FRESH_MS));
    const names = old.flatMap(({ metadata }) => metadata?.name ?? []).filter((name) => !REAL.test(name));
    await Promise.all(
      names.map((name) =>
        semaphore.run(async () => {
          const body = { spec: { renewTime: new Date().toISOString().replace("Z", "000Z") } };
          // It may be gone by now.
          await leases.patchNamespacedLease({ name, namespace: NAMESPACE, body }, merge).catch(() => undefined);
        }),
      ),
    );
  };
  const reviveLost = async (): Promise<void> => {
    const { items } = await core.listNode();
    const names = items.filter(isLost).flatMap(({ metadata }) => metadata?.name ?? []);
    for (const name of names.filter((each) => !REAL.test(each))) {
      const lastHeartbeatTime = new Date().toISOString();
      const ready = { type: "Ready", status: "True", reason: "KubeletReady", lastHeartbeatTime };
      const body = { status: { conditions: [{ ...ready, lastTransitionTime: lastHeartbeatTime }] } };
      await core.patchNodeStatus({ name, body }, strategic).catch(() => undefined);
    }
  };

  while (!signal.aborted) {
    await renewAll();
    await reviveLost();
    await sleep(INTERVAL_MS, undefined, { signal }).catch(() => undefined);
  }
}

function isLost({ status }: V1Node): boolean {
  return (status?.conditions ?? []).some(({ type, status: value }) => type === "Ready" && value === "Unknown");
}
