/** Restarts every node of a deployment, one after the other. */
import type { DeploymentNode } from "../../valkey/node";
import { awaitCondition } from "../../lib/polling";
import type { FaultContext } from "./fault-context";
import { handOver } from "./hand-over";

/**
 * Restarts replicas first and then primaries. Before the restart of a primary, the primary hands its role over to a
 * replica. Each restart begins only when the deployment is as redundant as before the first restart.
 * @param home directory of the new programs, for an upgrade; undefined if the programs stay the same
 */
export async function rollingRestart(home: string | undefined, context: FaultContext): Promise<void> {
  const { injector, observer } = context;
  const isReplica = ({ name }: DeploymentNode): boolean => observer.state(name).role === "replica";
  const nodes = injector.nodes();
  const order = [...nodes.filter(isReplica), ...nodes.filter((node) => !isReplica(node))];
  for (const { name } of order) await restart(name, home, context);
}

async function restart(name: string, home: string | undefined, context: FaultContext): Promise<void> {
  const { injector, observer, logEvent } = context;
  const isSilent = (): boolean => observer.state(name).role === "silent";
  if (observer.state(name).role === "primary" && injector.supportsHandOver) await handOver(name, context);
  const follows = injector.deployment.mode === "replication" ? observer.state(name).follows : undefined;
  logEvent(`restart ${name}`);
  await injector.terminate(name);
  await awaitCondition(`${name} has ended`, isSilent, context);
  await injector.start([name], { newAddresses: false, home, follows });
  await awaitCondition(`${name} is back`, () => !isSilent() && observer.isRedundant, context);
}
