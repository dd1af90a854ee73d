/** Steps of one inspection share connections, because opening one needs much more CPU time than a command. */
import type { Connection } from "./connection";
import type { Deployment } from "./deployment";
import { type DeploymentNode, formatEndpoint } from "./node";

export class SharedConnections {
  readonly #idle = new Map<string, Connection[]>();
  readonly #closings: (() => void)[] = [];

  /**
   * The deployment with shared connections. A connection that a step disconnects stays open for the next step, so the
   * steps must not send commands that change the state of a connection, such as SELECT or SUBSCRIBE. A connection with
   * its own time limit is not shared.
   */
  share<D extends Deployment>(deployment: D): D {
    const connect: Deployment["connect"] = (node, timeoutMs) =>
      timeoutMs === undefined ? this.#take(deployment, node) : deployment.connect(node, timeoutMs);
    return { ...deployment, connect };
  }

  /** Closes all connections. */
  close(): void {
    for (const close of this.#closings) close();
  }

  async #take(deployment: Deployment, node: DeploymentNode): Promise<Connection> {
    const key = `${node.name} ${formatEndpoint(node.endpoint)}`;
    const idle = this.#idle.get(key) ?? [];
    this.#idle.set(key, idle);
    for (let open = idle.pop(); open !== undefined; open = idle.pop()) if (open.status === "ready") return open;
    const connection = await deployment.connect(node);
    const close = connection.disconnect.bind(connection);
    this.#closings.push(close);
    connection.disconnect = (reconnect): void => {
      // ioredis itself disconnects with `true` after an error of the protocol.
      if (reconnect === true) close();
      else if (!idle.includes(connection)) idle.push(connection);
    };
    return connection;
  }
}
