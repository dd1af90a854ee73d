/** Giving a cluster that serves another shape, while it serves: from what is there to what is wanted, as often as it takes. */
import type { Connection } from "../connection";
import type { DeploymentNode } from "../node";
import type { Deployment } from "../deployment";
import { Failure } from "../../lib/errors";
import { infoNumber, parseInfo } from "../topology/info";
import type { Shape } from "../topology/placement";
import { planResize } from "./resize-plan";
import type { FormationOptions, FormationResult } from "../formation/deadline";
import { awaitMigrations } from "./atomic-migration";
import { Deadline } from "../formation/deadline";
import type { MemberState } from "../formation/formation-steps";
import { conflictingSlots } from "../formation/formation-steps";
import type { Member } from "../formation/members";
import { readMemberStates } from "../formation/members";
import { finishOpenMigrations } from "./open-migrations";
import type { MemoryUse } from "./resize-facts";
import { halfJoinedNodes, resizeBlockers, openMigrations, resizeNodes } from "./resize-facts";
import { ResizeExecutor } from "./resize-executor";
import { restoreLeftoverSettings } from "../formation/temporary-settings";

/** How often the plan may be made anew: a failover, or a migration that a server gave up, changes what is to be done. */
const ROUNDS = 5;
/** How long nodes that disagree, or that miss one, are waited for before that counts as standing in the way, milliseconds. */
const PATIENCE_MS = 20_000;
/** How long nodes may take to hear of each other from others, milliseconds: gossip takes a second or two. */
const HEARSAY_MS = 5000;

/**
 * Resizes a cluster that serves all slots. Finishes first what others left unfinished: open moves, nodes that are known to some.
 * @param connections to the deployment's nodes and the leaving ones
 * @throws Failure saying why nothing may be changed, or what was still missing when the time was up
 */
export async function resizeCluster(
  deployment: Deployment,
  connections: ReadonlyMap<DeploymentNode, Connection>,
  shape: Shape,
  options: FormationOptions,
): Promise<FormationResult> {
  const awaiting = new Deadline(deployment.name, connections.size, options, "resized");
  let changed = false;
  let setbacks: readonly string[] = [];
  await restoreLeftoverSettings(deployment, [...connections.values()]);
  for (let round = 1; round <= ROUNDS; round++) {
    options.signal?.throwIfAborted();
    changed = (await settle(deployment, connections, awaiting, options)) || changed;
    const { members, states } = await readMemberStates(connections);
    const decision = planResize(resizeNodes(states, leavingNames(options), await readMemory(members)), shape);
    if (decision.kind === "fits") return { changed, milliseconds: awaiting.elapsedMs };
    if (decision.kind === "refused") throw refusal(deployment, decision.reasons);
    changed = true;
    setbacks = await new ResizeExecutor(deployment, members, states, awaiting, options).execute(decision.plan);
  }
  throw new Failure(
    `${deployment.name} is not resized after ${ROUNDS} attempts: ${setbacks.length > 0 ? setbacks.join("; ") : "it keeps changing"}`,
  );
}

/**
 * Waits until those who take part agree, and finishes what is unfinished.
 * @returns whether anything had to be done
 */
async function settle(
  deployment: Deployment,
  connections: ReadonlyMap<DeploymentNode, Connection>,
  awaiting: Deadline,
  options: FormationOptions,
): Promise<boolean> {
  const leaving = leavingNames(options);
  const patient = new Deadline(
    deployment.name,
    connections.size,
    { ...options, timeoutMs: Math.min(options.timeoutMs ?? PATIENCE_MS, PATIENCE_MS) },
    "ready to be resized",
  );
  const read = async (): Promise<{ states: MemberState[]; steps: ResizeExecutor }> => {
    let now = await readMemberStates(connections);
    refuse(deployment, resizeBlockers(now.states, leaving));
    patient.restart();
    // Who took slots over serves them a moment before the one that gave them hears of it.
    await patient.poll(async () => {
      const [both] = conflictingSlots(now.states);
      if (both !== undefined) now = await readMemberStates(connections);
      return both;
    });
    return { states: now.states, steps: new ResizeExecutor(deployment, now.members, now.states, awaiting, options) };
  };
  let { states, steps } = await read();
  const since = performance.now();
  await patient.poll(async () => {
    const late = halfJoinedNodes(states, leaving).filter((name) => !leaving.has(name));
    if (late.length === 0 || performance.now() - since > HEARSAY_MS) return undefined;
    ({ states, steps } = await read());
    return `not all know ${late.join(", ")}`;
  });
  const apart = halfJoinedNodes(states, leaving);
  if (apart.length > 0) {
    // Those that are to stay come back under new ids, which nobody was told to forget.
    options.report?.(`resetting ${apart.join(", ")}, which not all others know`);
    await steps.forget(apart);
    ({ states, steps } = await read());
  }
  await steps.waitForAgreement(patient);
  await awaitMigrations(steps.participants, awaiting);
  ({ states, steps } = await read());
  const open = openMigrations(states);
  refuse(deployment, open.reasons);
  const isOpen = open.begun.length + open.stale.length > 0;
  if (isOpen) {
    await finishOpenMigrations(open, steps.migrationContext);
    await steps.waitForAgreement();
  }
  // Only now: a move that is open leaves keys with whom it gave no slots yet.
  await steps.waitForDeletedKeys(isOpen ? awaiting : patient);
  return isOpen || apart.length > 0;
}

function leavingNames({ leaving = [] }: FormationOptions): Set<string> {
  return new Set(leaving.map(({ name }) => name));
}

function refuse(deployment: Deployment, reasons: readonly string[]): void {
  if (reasons.length > 0) throw refusal(deployment, reasons);
}

function refusal({ name }: Deployment, reasons: readonly string[]): Failure {
  return new Failure(`${name} cannot be resized: ${reasons.join("; ")}`);
}

async function readMemory(members: readonly Member[]): Promise<Map<string, MemoryUse>> {
  return new Map(
    await Promise.all(
      members.map(async ({ node, connection }) => {
        const info = parseInfo(await connection.info("memory"));
        const bytes = (name: string): number => infoNumber(info, name) ?? 0;
        const other =
          bytes("used_memory_startup") +
          bytes("mem_clients_normal") +
          bytes("mem_clients_slaves") +
          bytes("mem_replication_backlog") +
          bytes("mem_aof_buffer") +
          bytes("mem_cluster_links");
        const empty = (await connection.dbsize()) === 0;
        return [
          node.name,
          {
            keys: empty ? 0 : Math.max(0, bytes("used_memory") - other),
            used: bytes("used_memory"),
            limit: bytes("maxmemory"),
          },
        ] as const;
      }),
    ),
  );
}
