/** Orderly failovers (hand-overs), in which a linked replica becomes the primary as soon as it has every write. */
import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "../../lib/errors";
import type { Connection } from "../../valkey/connection";
import { withConnections } from "../../valkey/connections";
import { type Endpoint, nodeNameAt } from "../../valkey/node";
import { sentinelsAsDeployment } from "../../valkey/sentinel/form-sentinels";
import { infoFields, parseInfo } from "../../valkey/topology/replies";
import { awaitCondition } from "../../lib/polling";
import { type FaultContext, withNode } from "./fault-context";
import { resumeSentinels } from "./rejoin";

/** Longer than the five seconds after which servers give up without an error (CLUSTER_MF_TIMEOUT). */
const MANUAL_FAILOVER_MS = 6_000;
/** FAILOVER waits as long as `repl-timeout` if a host name still resolves to a pod that no longer exists. */
const PROMOTION_MS = 8_000;
const RETRY_MS = 200;
/** Time that clients get to follow redirects to the new primary before the old primary may end, milliseconds. */
const DRAIN_MS = 500;

/** Waits until all follow the new primary; returns at once without a linked replica. @default first linked replica */
export async function handOver(primary: string, context: FaultContext, replica?: string): Promise<void> {
  const { injector, observer, logEvent } = context;
  const successor = replica ?? linkedReplica(primary, context);
  if (successor === undefined) {
    logEvent(`${primary} has no replica to hand over to`);
    return;
  }
  logEvent(`${primary} hands over to ${successor}`);
  if (injector.deployment.mode === "cluster") await failOverCluster(primary, successor, context);
  else await failOverReplication(primary, successor, context);
  const isDone = (): boolean =>
    isPrimary(successor, context) && observer.state(primary).role === "replica" && observer.isRedundant;
  await awaitCondition(`${successor} has taken over from ${primary}`, isDone, context);
  await sleep(DRAIN_MS);
}

function linkedReplica(primary: string, { injector, observer }: FaultContext): string | undefined {
  const isLinked = ({ follows, linkUp }: ReturnType<typeof observer.state>): boolean => follows === primary && linkUp;
  return injector.nodes().find(({ name }) => isLinked(observer.state(name)))?.name;
}

function isPrimary(name: string, { observer }: FaultContext): boolean {
  return observer.state(name).role === "primary";
}

/** A replica whose link is down refuses the request, and one that lags gives up without an error. */
async function failOverCluster(primary: string, replica: string, context: FaultContext): Promise<void> {
  let retryAtMs = 0;
  const hasTakenOver = async (): Promise<boolean> => {
    if (isPrimary(replica, context)) return true;
    if (performance.now() < retryAtMs) return false;
    const isAccepted = await requestFailover(replica, context);
    retryAtMs = performance.now() + (isAccepted ? MANUAL_FAILOVER_MS : RETRY_MS);
    return false;
  };
  await awaitCondition(`${replica} has taken over from ${primary}`, hasTakenOver, context);
}

/** @returns whether the replica accepted @throws Failure when the replica refuses for a permanent reason */
async function requestFailover(replica: string, context: FaultContext): Promise<boolean> {
  let isAccepted = false;
  await withNode(replica, context, async (connection) => {
    try {
      await connection.cluster("FAILOVER");
      isAccepted = true;
    } catch (error) {
      const message = messageOf(error);
      // "to a replica" means that the node is already the primary, but the observer has not seen it yet.
      if (!message.includes("Master is down") && !message.includes("to a replica")) throw error;
    }
  });
  return isAccepted;
}

/** Sentinels do not monitor meanwhile: they would demote a replica that they did not promote themselves. */
async function failOverReplication(primary: string, replica: string, context: FaultContext): Promise<void> {
  const { deployment } = context.injector;
  if (deployment.sentinels !== undefined) {
    const sentinels = sentinelsAsDeployment(deployment, deployment.sentinels);
    await withConnections(sentinels, (connections) =>
      Promise.all(
        [...connections.values()].map((connection) => connection.call("SENTINEL", "REMOVE", deployment.name)),
      ),
    );
  }
  try {
    await promote(primary, replica, context);
  } finally {
    await resumeSentinels(context);
  }
}

async function promote(primary: string, replica: string, context: FaultContext): Promise<void> {
  let successor = context.injector.nodes().find(({ name }) => name === replica)?.endpoint;
  let retryAtMs = 0;
  const hasTakenOver = async (): Promise<boolean> => {
    if (isPrimary(replica, context) && context.observer.state(primary).role === "replica") return true;
    if (performance.now() < retryAtMs) return false;
    await withNode(primary, context, async (connection) => {
      successor = announcedEndpoint(replica, await connection.info("replication"), context) ?? successor;
      const isAccepted = successor !== undefined && (await requestPromotion(connection, successor));
      retryAtMs = performance.now() + (isAccepted ? PROMOTION_MS : RETRY_MS);
    });
    return false;
  };
  await awaitCondition(`${replica} has taken over from ${primary}`, hasTakenOver, context);
  const { host = "", port = 0 } = successor ?? {};
  const others = context.injector.nodes().filter(({ name }) => name !== primary && name !== replica);
  const follow = ({ name }: { readonly name: string }): Promise<void> =>
    withNode(name, context, (connection) => connection.call("REPLICAOF", host, port));
  await Promise.all(others.map(follow));
}

/** An earlier attempt without a result is aborted first. @returns whether the primary accepted */
async function requestPromotion(connection: Connection, { host, port }: Endpoint): Promise<boolean> {
  await connection.call("FAILOVER", "ABORT").catch(() => undefined);
  try {
    await connection.call("FAILOVER", "TO", host, port);
    return true;
  } catch (error) {
    // A replica reports that its link is up shortly before its primary counts it as online.
    if (messageOf(error).includes("not online")) return false;
    throw error;
  }
}

/** For a pod with the host name that it announces. Undefined if the primary does not know the replica. */
function announcedEndpoint(replica: string, info: string, { injector }: FaultContext): Endpoint | undefined {
  return [...parseInfo(info)]
    .filter(([key]) => /^slave\d+$/.test(key))
    .map(([, value]) => infoFields(value))
    .map((fields) => ({ host: fields.get("ip") ?? "", port: Number(fields.get("port")) }))
    .find(({ host, port }) => nodeNameAt(injector.nodes(), host, port) === replica);
}
