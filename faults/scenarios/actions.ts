/** Carrying out a plan's actions on a deployment, and the repair of its zones. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Connection } from "../../valkey/connection";
import { withConnections } from "../../valkey/connections";
import type { DeploymentNode } from "../../valkey/node";
import { Failure, messageOf } from "../../lib/errors";
import { form } from "../../valkey/formation/form";
import { sentinelsAsDeployment, formSentinels } from "../../valkey/sentinel/form-sentinels";
import { parseInfo } from "../../valkey/topology/info";
import type { Shape } from "../../valkey/topology/placement";
import type { FaultInjector } from "../injectors/fault-injector";
import type { FaultAction } from "../plan/fault-plan";
import { describeAction } from "../plan/fault-plan";
import type { DeploymentObserver } from "../observation/deployment-observer";
import type { Patience } from "./waiting";
import { until } from "./waiting";

/** A manual failover that has not happened by then was given up by the servers, which take five seconds for it; milliseconds. */
const MANUAL_FAILOVER_MS = 6_000;
/** Before one that was refused is asked for again, milliseconds. */
const REFUSED_MS = 200;
/** How long clients have to hear that a node serves nothing any more before it is ended, milliseconds. */
const DRAIN_MS = 500;

export interface FaultContext extends Patience {
  readonly injector: FaultInjector;
  readonly observer: DeploymentObserver;
  readonly shape: Shape;
  /** Told what is done, at the moment it is. */
  readonly logEvent: (what: string) => void;
}

/** @throws Failure when it cannot be done, or does not come to its end */
export async function performAction(action: FaultAction, stage: FaultContext): Promise<void> {
  const { injector, signal, logEvent } = stage;
  signal.throwIfAborted();
  logEvent(describeAction(action));
  switch (action.do) {
    case "kill":
      return injector.kill(action.nodes);
    case "start":
      return startNodes(action.nodes, action.newAddresses, stage);
    case "freeze":
      return injector.freeze(action.nodes);
    case "thaw":
      return injector.thaw(action.nodes);
    case "cut":
      return injector.cut(action.nodes);
    case "join":
      return injector.healCut();
    case "fill-disk":
      return injector.fillDisk(action.nodes);
    case "free-disk":
      return injector.freeDisk(action.nodes);
    case "rewrite-file":
      await Promise.all(action.nodes.map((name) => rewriteFile(name, stage)));
      return;
    case "take-over":
      await Promise.all(
        action.nodes.map((name) => withNode(name, stage, (connection) => connection.cluster("FAILOVER", "TAKEOVER"))),
      );
      return;
    case "introduce":
      return introduceAll(stage);
    case "restart-in-turn":
      return restartInTurn(action.home, stage);
    case "resize":
      await injector.resize(action.to, { signal });
      stage.observer.watchNewNodes();
  }
}

/** In replication mode nodes follow whoever is primary; where nobody is, the one that was started first leads. */
async function startNodes(
  nodes: readonly string[],
  newAddresses: boolean,
  { injector, observer }: FaultContext,
): Promise<void> {
  if (injector.deployment.mode === "cluster") {
    await injector.start(nodes, { newAddresses });
    return;
  }
  const leader =
    injector.nodes().find(({ name }) => observer.state(name).role === "primary")?.name ??
    nodes.find((name) => injector.nodes()[0]?.name === name);
  await injector.start(nodes, { newAddresses, follows: leader });
}

/**
 * Tells nodes whose addresses have changed where the others are now, in rounds of powers of two: everybody is near
 * everybody. Until all is served, no replica may take over from a primary that merely has not been found yet.
 */
async function introduceAll(stage: FaultContext): Promise<void> {
  const { deployment } = stage.injector;
  if (deployment.mode === "replication") {
    await until("there is one primary, and its replicas follow it", () => stage.observer.isRedundant, stage);
    await watchAgain(stage);
    return;
  }
  await withConnections({ ...deployment, nodes: stage.injector.nodes() }, async (connections) => {
    const members = [...connections];
    await Promise.all(members.map(([node, connection]) => untilLoaded(node.name, connection, stage)));
    const failover = (allowed: boolean): Promise<unknown> =>
      Promise.all(
        members.map(([, connection]) =>
          connection.config("SET", "cluster-replica-no-failover", allowed ? "no" : "yes"),
        ),
      );
    await failover(false);
    const meetings = members.flatMap(([, connection], index) =>
      strides(members.length).flatMap((stride) => {
        const node = members[(index + stride) % members.length]?.[0];
        return node === undefined ? [] : [{ connection, node }];
      }),
    );
    await Promise.all(meetings.map(({ connection, node }) => meet(connection, node)));
    await until("all nodes have found each other", () => stage.observer.isServing, stage);
    await failover(true);
  });
}

async function rewriteFile(name: string, stage: FaultContext): Promise<void> {
  await withNode(name, stage, async (connection) => {
    await untilLoaded(name, connection, stage);
    await connection.bgrewriteaof();
    await until(
      "its append-only file is written anew",
      async () => {
        const info = parseInfo(await connection.info("persistence"));
        return (
          info.get("aof_rewrite_in_progress") === "0" &&
          info.get("aof_rewrite_scheduled") === "0" &&
          info.get("aof_last_bgrewrite_status") === "ok"
        );
      },
      stage,
    );
  });
}

/** A node that reads its data takes no commands. */
function untilLoaded(name: string, connection: Connection, stage: FaultContext): Promise<void> {
  return until(
    `${name} has read its data`,
    async () => parseInfo(await connection.info("persistence")).get("loading") === "0",
    stage,
  );
}

function strides(nodes: number): number[] {
  const all: number[] = [];
  for (let stride = 1; stride < nodes; stride *= 2) all.push(stride);
  return all;
}

async function meet(connection: Connection, { endpoint: { host, port }, busPort }: DeploymentNode): Promise<void> {
  await connection.call("CLUSTER", "MEET", host, port, busPort ?? port + 10_000);
}

/** Replicas first; then primaries, each after a replica has taken over from it. The next only when all is as redundant as before. */
async function restartInTurn(home: string | undefined, stage: FaultContext): Promise<void> {
  const { injector, observer, logEvent } = stage;
  const isReplica = ({ name }: DeploymentNode): boolean => observer.state(name).role === "replica";
  const order = [...injector.nodes()]
    .sort((a, b) => Number(isReplica(b)) - Number(isReplica(a)))
    .map(({ name }) => name);
  for (const name of order) {
    if (observer.state(name).role === "primary" && injector.supportsHandOver) await handOver(name, stage);
    const follows = injector.deployment.mode === "replication" ? observer.state(name).follows : undefined;
    logEvent(`restart ${name}`);
    await injector.terminate(name);
    await until(`${name} has ended`, () => observer.state(name).role === "silent", stage);
    await injector.start([name], { newAddresses: false, home, follows });
    await until(`${name} is back`, () => observer.state(name).role !== "silent" && observer.isRedundant, stage);
  }
}

/** Has a linked replica take over in an orderly way: the primary holds writes until it has them all. */
export async function handOver(primary: string, stage: FaultContext, wanted?: string): Promise<void> {
  const { injector, observer, logEvent } = stage;
  const heir =
    wanted ??
    injector.nodes().find(({ name }) => observer.state(name).follows === primary && observer.state(name).linkUp)?.name;
  if (heir === undefined) {
    logEvent(`${primary} has no replica to hand over to`);
    return;
  }
  logEvent(`${primary} hands over to ${heir}`);
  if (injector.deployment.mode === "cluster") await takeOver(primary, heir, stage);
  else await failOver(primary, heir, stage);
  await until(
    `${heir} has taken over from ${primary}`,
    () => observer.state(heir).role === "primary" && observer.state(primary).role === "replica" && observer.isRedundant,
    stage,
  );
  await sleep(DRAIN_MS);
}

/**
 * Asks a replica of a cluster to take over until it has. One whose link to its primary is down refuses, and one that does not catch up
 * gives up after five seconds without a word.
 */
async function takeOver(primary: string, heir: string, stage: FaultContext): Promise<void> {
  let againMs = 0;
  await until(
    `${heir} has taken over from ${primary}`,
    async () => {
      if (stage.observer.state(heir).role === "primary") return true;
      if (performance.now() < againMs) return false;
      await withNode(heir, stage, async (connection) => {
        try {
          await connection.cluster("FAILOVER");
          againMs = performance.now() + MANUAL_FAILOVER_MS;
        } catch (error) {
          const message = messageOf(error);
          // The observer is a moment behind: it is a primary by now.
          if (!message.includes("Master is down") && !message.includes("to a replica")) throw error;
          againMs = performance.now() + REFUSED_MS;
        }
      });
      return false;
    },
    stage,
  );
}

/**
 * In replication mode the other replicas go on following the old primary, until they are told otherwise. Sentinels must not watch
 * meanwhile: a replica that becomes the primary without their doing is one that they turn back.
 */
async function failOver(primary: string, heir: string, stage: FaultContext): Promise<void> {
  const { deployment } = stage.injector;
  if (deployment.sentinels !== undefined)
    await withConnections(sentinelsAsDeployment(deployment, deployment.sentinels), (connections) =>
      Promise.all(
        [...connections.values()].map((connection) => connection.call("SENTINEL", "REMOVE", deployment.name)),
      ),
    );
  try {
    await promote(primary, heir, stage);
  } finally {
    await watchAgain(stage);
  }
}

async function watchAgain({ injector, signal }: FaultContext): Promise<void> {
  const deployment = { ...injector.deployment, nodes: injector.nodes() };
  if (deployment.sentinels !== undefined) await formSentinels(deployment, deployment.sentinels, { signal });
}

async function promote(primary: string, heir: string, stage: FaultContext): Promise<void> {
  const { host = "", port = 0 } = stage.injector.nodes().find(({ name }) => name === heir)?.endpoint ?? {};
  await withNode(primary, stage, (connection) =>
    // A replica sees its link up a moment before its primary counts it as online.
    until(
      `${heir} is online to it`,
      async () => {
        try {
          await connection.call("FAILOVER", "TO", host, port);
          return true;
        } catch (error) {
          if (!messageOf(error).includes("not online")) throw error;
          return false;
        }
      },
      stage,
    ),
  );
  await until(`${heir} has taken over from ${primary}`, () => stage.observer.state(heir).role === "primary", stage);
  const others = stage.injector.nodes().filter(({ name }) => name !== primary && name !== heir);
  await Promise.all(
    others.map(({ name }) => withNode(name, stage, (connection) => connection.call("REPLICAOF", host, port))),
  );
}

/** Has the primaries that there were before lead their shards again, where they are part of them still; by orderly hand-overs. */
export async function restoreRoles(primaries: readonly string[], stage: FaultContext): Promise<void> {
  const { observer } = stage;
  await until("all is well again", () => observer.isRedundant, stage);
  for (const name of primaries) {
    const { role, follows } = observer.state(name);
    if (role === "replica" && follows !== undefined) await handOver(follows, stage, name);
  }
}

/**
 * Makes zones safe again by orderly hand-overs and changes of primary, as formation would.
 * @returns whether anything had to be changed
 */
export async function repairZones({ injector, shape, signal, logEvent }: FaultContext): Promise<boolean> {
  if (injector.deployment.mode !== "cluster") return false;
  const { changed } = await form({ ...injector.deployment, nodes: injector.nodes() }, shape, {
    signal,
    report: (line, passing) => {
      if (passing !== true) logEvent(line);
    },
  });
  return changed;
}

async function withNode(
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
