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
  readonly timeoutMs: number;
  readonly logEvent: (what: string) => void;
}

/** @throws Failure that names the node, if it cannot be used; the signal's reason */
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
