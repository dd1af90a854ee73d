/** Context that the actions of a fault scenario share, and a function that connects to one node. */
import { Failure, messageOf } from "../../lib/errors";
import type { Connection } from "../../valkey/connection";
import type { Shape } from "../../valkey/topology/placement";
import type { FaultInjector } from "../injectors/fault-injector";
import type { DeploymentObserver } from "../observation/deployment-observer";
import type { Polling } from "../../lib/polling";

export interface FaultContext extends Polling {
  readonly injector: FaultInjector;
  readonly observer: DeploymentObserver;
  readonly shape: Shape;
  readonly signal: AbortSignal;
  /** Time limit for each step of an action, milliseconds. */
  readonly timeoutMs: number;
  /** Called at the beginning of every action and of every step. */
  readonly logEvent: (what: string) => void;
}

/**
 * Calls a function with a connection to a node, and then closes the connection.
 * @throws Failure that names the node if the node does not exist, cannot be reached or refuses a command; the signal's
 *   reason if the signal is aborted
 */
export async function withNode(
  name: string,
  { injector, signal }: FaultContext,
  use: (connection: Connection) => Promise<unknown>,
): Promise<void> {
  const node = injector.nodes().find((each) => each.name === name);
  if (node === undefined) throw new Failure(`${injector.deployment.name} has no node ${name}`);
  const connection = await injector.deployment.connect(node);
  try {
    await use(connection);
  } catch (error) {
    signal.throwIfAborted();
    throw new Failure(`${name}: ${messageOf(error)}`, { cause: error });
  } finally {
    connection.disconnect();
  }
}
