/**
 * Checks whether a pod on a lost machine can be replaced: the other servers must have all data, and the old server must
 * no longer work with them.
 */
import { once } from "node:events";
import { connect } from "node:net";
import type { KubernetesReference } from "../../platforms/deployment-reference";
import { openRunningPart } from "../../platforms/deployment-reference";
import { designatedPod } from "../../platforms/kubernetes/access/primary-lead";
import type { KubernetesClient } from "../../platforms/kubernetes/api/client";
import type { PodPlace } from "../../platforms/kubernetes/cluster/pod-places";
import { whyPartLacksData } from "../../valkey/verification/running-part";
import { verify } from "../../valkey/verification/verify";

/** Time limit for a connection to a lost pod, milliseconds. */
const CONNECT_MS = 3_000;

/**
 * Reason why data may be lost with the lost pods, or why one of them may still work; undefined if all lost servers can
 * be replaced.
 *
 * The machine of a lost pod may still run the old server, for example behind a broken network. These checks make sure
 * that nothing more is lost when the pod is replaced:
 *
 * - Nothing accepts a connection at the address of the old server. If only the kubelet has failed, the server still
 *   replies, and must stay.
 * - In a cluster, all running nodes consider the old node failed, and it owns no slots. A node counts as failed only if
 *   a majority of the primaries could not reach it, and a replica can only take over with the votes of a majority. So
 *   this side has the majority. An old primary on the other side stops accepting writes after the node timeout. The new
 *   server starts empty and therefore with a new node ID, so no two nodes have the same ID. When the network is back,
 *   the others no longer know the old ID, or know that its slots have a new owner with a higher epoch.
 * - In replication mode, the running part has the only primary that this process reaches, and this primary lists no
 *   replicas except those of the running part. With Sentinels, the majority of them must be ready on this side, so that
 *   the other side cannot promote a replica. An old primary on the other side keeps accepting writes there, unless
 *   `min-replicas-to-write` is set. These writes are lost as soon as the Sentinels turn it into a replica, whether or
 *   not its pod is replaced. Without Sentinels, no server takes over from the designated primary. If it started empty,
 *   the other servers would replace their data with its empty data. So its pod is never replaced.
 *
 * @param lost pods of servers on lost machines
 */
export async function whyNotReplace(
  kubernetes: KubernetesClient,
  target: KubernetesReference,
  password: string,
  lost: readonly PodPlace[],
): Promise<string | undefined> {
  const { namespace, mode, sentinel, lead, port, shape } = target;
  const names = new Set(lost.map(({ name }) => name));
  if (mode === "replication" && sentinel === undefined) {
    const designated = lead && (await designatedPod(kubernetes, { namespace, lead }));
    if (designated === undefined) return "it is unknown which pod is the designated primary";
    if (names.has(designated))
      return `${designated} is the designated primary, and without Sentinels no replica takes over from it`;
  }
  const alive = await firstThatAnswers(lost, port);
  if (alive !== undefined) return alive;
  const part = await openRunningPart(kubernetes, target, password, names);
  // The expected number of replicas is left out, so that verification judges only the servers that run.
  const { facts } = await verify({ ...part, shape: { primaries: shape.primaries } }, ["settings", "zones", "writes"]);
  return whyPartLacksData(facts);
}

/** Sentence about the first of the pods that still accepts connections; undefined if none does. */
export async function firstThatAnswers(lost: readonly PodPlace[], port: number): Promise<string | undefined> {
  const accepts = await Promise.all(lost.map(({ address }) => acceptsConnections(address, port)));
  const alive = lost.find((_, index) => accepts[index] === true);
  return alive && `${alive.name} still accepts connections, although its machine is not Ready`;
}

async function acceptsConnections(host: string | undefined, port: number): Promise<boolean> {
  if (host === undefined) return false;
  const socket = connect({ host, port });
  try {
    await once(socket, "connect", { signal: AbortSignal.timeout(CONNECT_MS) });
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
