/**
 * While two passwords are valid, its users file replaces that of the deployment's Secret, which has only the new
 * password: with it, a server that restarts accepts both.
 */
import { once } from "node:events";
import { Failure } from "../../../lib/errors";
import type { V1Secret } from "@kubernetes/client-node";
import type { KubernetesClient } from "../api/client";
import { overlapSecret, USERS_FILE } from "./overlap-names";
import type { Plain } from "../api/plain";
import { openPortForward } from "../api/port-forward";

const RELOAD_TIMEOUT_MS = 10_000;

export async function publishOverlap(
  kubernetes: KubernetesClient,
  namespace: string,
  deployment: string,
  users: string,
): Promise<void> {
  const name = overlapSecret(deployment);
  const body: Plain<V1Secret> = {
    metadata: { name, labels: { "app.kubernetes.io/instance": deployment, "app.kubernetes.io/managed-by": "pulumi" } },
    stringData: { [USERS_FILE]: users },
  };
  const doing = `writing the Secret ${name} of namespace ${namespace}`;
  const former = await kubernetes.find(doing, kubernetes.core.readNamespacedSecret({ name, namespace }));
  await kubernetes.call(
    doing,
    former === undefined
      ? kubernetes.core.createNamespacedSecret({ namespace, body })
      : kubernetes.core.replaceNamespacedSecret({ name, namespace, body }),
  );
}

/** While it exists, servers that restart may accept an old password too. */
export async function overlapExists(
  kubernetes: KubernetesClient,
  namespace: string,
  deployment: string,
): Promise<boolean> {
  const name = overlapSecret(deployment);
  const doing = `reading the Secret ${name} of namespace ${namespace}`;
  return (await kubernetes.find(doing, kubernetes.core.readNamespacedSecret({ name, namespace }))) !== undefined;
}

export async function removeOverlap(
  kubernetes: KubernetesClient,
  namespace: string,
  deployment: string,
): Promise<void> {
  const name = overlapSecret(deployment);
  await kubernetes.find(`deleting the Secret ${name}`, kubernetes.core.deleteNamespacedSecret({ name, namespace }));
}

export async function reloadExporter(
  kubernetes: KubernetesClient,
  target: { readonly namespace: string; readonly pod: string; readonly port: number },
): Promise<void> {
  const stream = await openPortForward(kubernetes, target);
  try {
    stream.write("POST /-/reload HTTP/1.0\r\nContent-Length: 0\r\n\r\n");
    const [answer] = (await once(stream, "data", { signal: AbortSignal.timeout(RELOAD_TIMEOUT_MS) })) as [Buffer];
    const [status = ""] = answer.toString().split("\r\n");
    if (!status.includes(" 200 ")) throw new Failure(`the exporter answers ${status}`);
  } finally {
    stream.destroy();
  }
}
