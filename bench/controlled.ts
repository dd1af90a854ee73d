/** Clusters of pods with their controller, which benchmarks disturb while a pod writes to them. */
import { setTimeout as sleep } from "node:timers/promises";
import type { V1Pod } from "@kubernetes/client-node";
import calculateSlot from "cluster-key-slot";
import type { ControllerArgs } from "../components/kubernetes/arguments";
import { objectNames } from "../components/kubernetes/names";
import { PASSWORD_FILE } from "../components/kubernetes/server-config";
import { Failure, messageOf } from "../lib/errors";
import { holdsInTime } from "../lib/polling";
import { inspectDeployment } from "../operations/inspection/drift";
import type { Endpoint, Mode } from "../valkey/node";
import { nodeCount } from "../valkey/topology/placement";
import type { SlotRange } from "../valkey/topology/slots";
import { ControlledPods } from "../tests/support/kubernetes/controlled-pods";
import type { DeployedPodsOptions, PodsKind } from "../tests/support/kubernetes/deployed-pods";
import { DeployedPods, podLabels } from "../tests/support/kubernetes/deployed-pods";
import type { ObservedWrites } from "../tests/support/kubernetes/observer-main";
import { ObserverPod } from "../tests/support/kubernetes/observer-pod";
import { never } from "../tests/support/valkey/real";
import type { BenchmarkContext } from "./workbench";
import { type KernelFaults, sumOf } from "./fault-driver";
import { type BenchRow, atMost, singleRow } from "./row";

/** Writes per second to a deployment. */
export const WRITES_PER_SECOND = 500;
/** Limit of a repair. What takes longer is not repaired. */
const LIMIT_SECONDS = 600;
const POLL_MS = 1000;

/** Opens a deployment with a controller whose look passes, and closes both at the end. */
export async function withController<T>(
  { name, kind, args, ...options }: DeployedPodsOptions & { name: string; kind: PodsKind; args: ControllerArgs },
  use: (controlled: ControlledPods) => Promise<T>,
): Promise<T> {
  const controlled = await ControlledPods.open(await DeployedPods.open(name, kind, options), args);
  try {
    await controlled.untilLook(120, ({ pass }) => pass);
    return await use(controlled);
  } finally {
    await controlled.close();
  }
}

/** Settings of a cluster that keeps its data. */
export const DURABLE = {
  ...{ save: "", appendonly: true, "cluster-node-timeout": 5000, "repl-diskless-sync-delay": 0 },
} as const;

/** Endpoints for clients in pods: all pods of a cluster, or the Service of the primary. */
export function endpointsOf(namespace: string, name: string, mode: Mode, nodes: number): Endpoint[] {
  const { client, headless } = objectNames(name);
  const hosts =
    mode === "cluster" ? Array.from({ length: nodes }, (_, index) => `${name}-${index}.${headless}`) : [client];
  return hosts.map((host) => ({ host: `${host}.${namespace}.svc.cluster.local`, port: 6379 }));
}

/** Place of a deployment's password. */
export const passwordOf = (name: string): { secret: string; key: string } => ({
  secret: objectNames(name).secret,
  key: PASSWORD_FILE,
});

/** A pod that writes to the deployment. @param replicas replicas that must have a write before it is acknowledged */
export function observe({ here, target }: DeployedPods, replicas = 0): Promise<ObserverPod<"observer-main.ts">> {
  const { name, namespace, mode, shape } = target;
  const endpoints = endpointsOf(namespace, name, mode, nodeCount(shape));
  const order = { mode, endpoints, rate: WRITES_PER_SECOND, replicas };
  return ObserverPod.start(here, `${name}-observer`, "observer-main.ts", order, passwordOf(name));
}

/** Rows of the writes that were lost and that failed. @param id beginning of their ids */
export function rowsOfWrites(id: string, what: string, writes: readonly ObservedWrites[]): BenchRow[] {
  return (["lost", "failed"] as const).map((metric) =>
    singleRow(
      { id: `${id}-${metric}`, what: `${what}: ${metric}`, unit: "writes" },
      sumOf(writes, (each) => each[metric]),
      atMost(0),
    ),
  );
}

export const describeWrites = ({ acknowledged, failed, lost, errors }: ObservedWrites): string =>
  `${lost} lost and ${failed} failed of ${acknowledged + failed} writes ${JSON.stringify(errors)}`;

const inspect = ({ target, password }: DeployedPods): ReturnType<typeof inspectDeployment> =>
  inspectDeployment(target, password, { signal: never });

/** Whether every assertion holds and nothing is remarked, as this process finds it. */
export async function isHealthy(pods: DeployedPods): Promise<boolean> {
  const { verification, drift } = await inspect(pods);
  return verification?.verdict.pass === true && drift.length === 0;
}

export async function untilHealthy(pods: DeployedPods): Promise<void> {
  const healthy = (): Promise<boolean> => isHealthy(pods);
  if (!(await holdsInTime(healthy, { timeoutMs: LIMIT_SECONDS * 1000, intervalMs: POLL_MS })))
    throw new Failure(`${pods.target.name} is not repaired: ${(await inspect(pods)).drift.join("; ")}`);
}

export interface Shard {
  readonly primary: string;
  readonly replica: string;
}

export async function shardsOf(pods: DeployedPods): Promise<Shard[]> {
  const { shards } = (await pods.verified()).verdict;
  return shards.map(({ primary = "", replicas: [replica = ""] }) => ({ primary, replica }));
}

/** Place of the shard that owns a slot, or the slot of a key. */
export function shardOf(shards: readonly { readonly slots: readonly SlotRange[] }[], of: number | string): number {
  const slot = typeof of === "number" ? of : calculateSlot(of);
  return shards.findIndex(({ slots }) => slots.some(({ from, to }) => from <= slot && slot <= to));
}

/** Leaves a shard without a replica, and another with two. */
export async function moveReplica({ pods }: ControlledPods, round: number): Promise<void> {
  const shards = await shardsOf(pods);
  const [from, to] = [shards[round % shards.length], shards[(round + 1) % shards.length]];
  await pods.withNodes(async (at, all) => {
    // Otherwise the nodes move a replica by themselves.
    for (const each of all) await each.config("SET", "cluster-allow-replica-migration", "no");
    const id = String(await at(to?.primary).call("CLUSTER", "MYID"));
    await at(from?.replica).call("CLUSTER", "REPLICATE", id);
  });
}

/** Ends a pod, and waits until a different pod has its place or it is gone. */
export async function untilReplaced(
  { here, target }: DeployedPods,
  name: string,
  seconds: number,
  end: () => Promise<unknown>,
): Promise<void> {
  const { namespace, core } = here;
  const before = (await core.readNamespacedPod({ namespace, name })).metadata?.uid;
  await end();
  await here.until(seconds, async () => {
    const gone = (await here.pods(podLabels(target.name))).every(({ metadata }) => metadata?.uid !== before);
    return gone ? undefined : `${name} is still there`;
  });
}

/** Parts of a deployment that a disturbance strikes. */
export interface Scene {
  readonly controlled: ControlledPods;
  readonly faults: KernelFaults;
  readonly shards: readonly Shard[];
  readonly servers: readonly V1Pod[];
  readonly controllers: readonly V1Pod[];
  readonly round: number;
  readonly seconds: number;
}

export async function sceneOf(
  controlled: ControlledPods,
  faults: KernelFaults,
  round: number,
  seconds: number,
): Promise<Scene> {
  const { pods } = controlled;
  const [shards, servers] = [await shardsOf(pods), await pods.here.pods(podLabels(pods.target.name))];
  return { controlled, faults, shards, servers, controllers: await controlled.controllerPods(), round, seconds };
}

/** Rounds that may be repeated because this process could not ask the deployment. */
const MOST_INTERRUPTIONS = 10;
const INTERRUPTION_MS = 20_000;

/**
 * Disturbs in rounds. On a busy machine, the API server may not answer for a while. Such a round is repeated.
 * @param disturb makes one round. @returns a text about the round
 * @param prepare runs before each round; its errors end the rounds
 * @returns the number of rounds
 */
export async function inRounds(
  rounds: number,
  faults: KernelFaults,
  { signal, report }: BenchmarkContext,
  disturb: (round: number) => Promise<string>,
  prepare: (round: number) => Promise<void> = () => Promise.resolve(),
): Promise<number> {
  let [done, interruptions] = [0, 0];
  while (done < rounds && !signal.aborted) {
    await prepare(done);
    try {
      const text = await disturb(done);
      report(`${++done}: ${text}`);
    } catch (error) {
      signal.throwIfAborted();
      if (++interruptions > MOST_INTERRUPTIONS) throw error;
      report(`interrupted: ${messageOf(error)}`);
      await sleep(INTERRUPTION_MS, undefined, { signal });
    } finally {
      await faults.heal();
    }
  }
  return done;
}
