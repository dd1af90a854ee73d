/**
 * The steps that work on a deployment take over connections from each other, because opening one costs much more CPU
 * time than a command: on Kubernetes it is a port-forward through the API server, mostly with a TLS handshake within.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Connection } from "./connection";
import type { Deployment } from "./deployment";
import { type DeploymentNode, formatEndpoint } from "./node";

/** Time for which a connection stays open that nobody uses, milliseconds. */
const IDLE_MS = 2000;
/** Time limit for a sign of life of a connection that was idle, milliseconds. */
const PING_MS = 1000;

interface Idle {
  readonly connection: Connection;
  readonly close: () => void;
  readonly closing: NodeJS.Timeout;
}

/**
 * The deployment with connections that stay open for two seconds after they are disconnected. A step that connects to
 * the same node in that time gets such a connection, unless something in it still waits for a reply. A connection with
 * its own time limit is not reused.
 */
export function reuseConnections<D extends Pick<Deployment, "connect">>(deployment: D): D {
  const nodes = new Map<string, Idle[]>();
  const connect: Deployment["connect"] = async (node, timeoutMs) => {
    if (timeoutMs !== undefined) return deployment.connect(node, timeoutMs);
    const idle = idleOf(nodes, node);
    for (let next = idle.pop(); next !== undefined; next = idle.pop()) {
      clearTimeout(next.closing);
      if (await answers(next.connection)) return next.connection;
      next.close();
    }
    return keepOpen(await deployment.connect(node), idle);
  };
  return { ...deployment, connect };
}

function idleOf(nodes: Map<string, Idle[]>, { name, endpoint }: DeploymentNode): Idle[] {
  const key = `${name} ${formatEndpoint(endpoint)}`;
  const idle = nodes.get(key) ?? [];
  nodes.set(key, idle);
  return idle;
}

function keepOpen(connection: Connection, idle: Idle[]): Connection {
  const close = connection.disconnect.bind(connection);
  connection.disconnect = (reconnect): void => {
    const isIdle = idle.some((each) => each.connection === connection);
    if (isIdle && reconnect !== true) return;
    // ioredis itself disconnects with `true` after an error of the protocol.
    if (reconnect === true || !isAsNew(connection)) {
      close();
      return;
    }
    const closing = setTimeout(() => {
      idle.splice(
        idle.findIndex((each) => each.connection === connection),
        1,
      );
      close();
    }, IDLE_MS);
    idle.push({ connection, close, closing });
  };
  return connection;
}

const isAsNew = ({ status, commandQueue, condition }: Connection): boolean =>
  status === "ready" && commandQueue.length === 0 && (condition?.select ?? 0) === 0;

/** A server may have closed the connection, or have gone without a word. */
async function answers(connection: Connection): Promise<boolean> {
  if (!isAsNew(connection)) return false;
  const answered = connection.ping().then(
    () => true,
    () => false,
  );
  return Promise.race([answered, sleep(PING_MS, false, { ref: false })]);
}
