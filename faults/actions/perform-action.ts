import { parseInfo } from "../../valkey/topology/replies";
import { type FaultAction, describeAction } from "../plan/fault-plan";
import { awaitCondition } from "../../lib/polling";
import { type FaultContext, withNode } from "./fault-context";
import { awaitLoaded, rejoin } from "./rejoin";
import type { DeploymentNode } from "../../valkey/node";
import { handOver } from "./hand-over";

/** @throws Failure if the action cannot be performed or does not finish in time */
export async function performAction(action: FaultAction, context: FaultContext): Promise<void> {
  const { injector, signal, logEvent } = context;
  signal.throwIfAborted();
  logEvent(describeAction(action));
  switch (action.do) {
    case "kill":
      return injector.kill(action.nodes);
    case "start":
      return startNodes(action.nodes, action.newAddresses, context);
    case "freeze":
      return injector.freeze(action.nodes);
    case "thaw":
      return injector.thaw(action.nodes);
    case "cut":
      return injector.cut(action.nodes);
    case "heal-cut":
      return injector.healCut();
    case "fill-disk":
      return injector.fillDisk(action.nodes);
    case "free-disk":
      return injector.freeDisk(action.nodes);
    case "rewrite-aof":
      await Promise.all(action.nodes.map((name) => rewriteAppendOnlyFile(name, context)));
      return;
    case "take-over":
      await Promise.all(action.nodes.map((name) => takeOverWithoutElection(name, context)));
      return;
    case "rejoin":
      return rejoin(context);
    case "rolling-restart":
      return rollingRestart(action.home, context);
    case "resize":
      await injector.resize(action.to, { signal });
      context.observer.watchNewNodes();
      return;
    default:
      return action satisfies never;
  }
}

/** In replication mode, they follow the current primary, or the deployment's first node if there is none. */
async function startNodes(
  nodes: readonly string[],
  newAddresses: boolean,
  { injector, observer }: FaultContext,
): Promise<void> {
  if (injector.deployment.mode === "cluster") return injector.start(nodes, { newAddresses });
  const all = injector.nodes();
  const primary = all.find(({ name }) => observer.state(name).role === "primary")?.name;
  const first = nodes.find((name) => all[0]?.name === name);
  return injector.start(nodes, { newAddresses, follows: primary ?? first });
}

async function takeOverWithoutElection(replica: string, context: FaultContext): Promise<void> {
  await withNode(replica, context, (connection) => connection.cluster("FAILOVER", "TAKEOVER"));
}

async function rewriteAppendOnlyFile(name: string, context: FaultContext): Promise<void> {
  await withNode(name, context, async (connection) => {
    await awaitLoaded(name, connection, context);
    await connection.bgrewriteaof();
    const isRewritten = async (): Promise<boolean> => {
      const info = parseInfo(await connection.info("persistence"));
      const isIdle = info.get("aof_rewrite_in_progress") === "0" && info.get("aof_rewrite_scheduled") === "0";
      return isIdle && info.get("aof_last_bgrewrite_status") === "ok";
    };
    await awaitCondition("the append-only file is rewritten", isRewritten, context);
  });
}

/** Replicas first. Each restart waits until the deployment is as redundant as before. @param home for an upgrade */
async function rollingRestart(home: string | undefined, context: FaultContext): Promise<void> {
  const { injector, observer } = context;
  const isReplica = ({ name }: DeploymentNode): boolean => observer.state(name).role === "replica";
  const nodes = injector.nodes();
  const order = [...nodes.filter(isReplica), ...nodes.filter((node) => !isReplica(node))];
  for (const { name } of order) await restartNode(name, home, context);
}

async function restartNode(name: string, home: string | undefined, context: FaultContext): Promise<void> {
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
