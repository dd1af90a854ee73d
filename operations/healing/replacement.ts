/** Decides which pod on a lost machine the controller replaces, and when. */
import type { MachineState } from "../../platforms/kubernetes/cluster/machines";
import type { PlacedClaim, PodPlace } from "../../platforms/kubernetes/cluster/pod-places";
import { compact } from "../../lib/compact";
import { listNames } from "../../valkey/verification/violations";
import { type HealingMemory, MAX_REPAIRS_PER_HOUR } from "./healing";

export interface PlaceFacts {
  readonly machines: readonly MachineState[];
  readonly servers: readonly PodPlace[];
  readonly sentinels: readonly PodPlace[];
  readonly wanted: { readonly servers: number; readonly sentinels: number };
  /** Whether a server keeps running after a storage driver has detached its volume. */
  readonly outlivesDisk: boolean;
}

/**
 * `since`: when this process first saw the machine's present state, by its own monotonic clock, milliseconds: the
 * clocks of the API server and of machines may differ.
 */
export type MachineMemory = ReadonlyMap<string, { readonly change: string; readonly since: number }>;

export type ReplacementDecision =
  | { readonly kind: "none" }
  /** A machine is not Ready, but no pod is replaced now. */
  | { readonly kind: "wait"; readonly why: string }
  | {
      readonly kind: "replace";
      readonly role: "server" | "Sentinel";
      readonly pod: PodPlace;
      /** Claims to delete, because their volumes are on the lost machine. */
      readonly claims: readonly PlacedClaim[];
      readonly lost: { readonly servers: readonly PodPlace[]; readonly sentinels: readonly PodPlace[] };
      readonly facts: string;
    };

const GONE = "gone";

/** If the state of a machine has changed, its time `since` starts again. */
export function rememberMachines(memory: MachineMemory, facts: PlaceFacts, now: number): MachineMemory {
  const states = machineStates(facts);
  return new Map(
    [...states].flatMap(([name, { isReady, change }]) => {
      if (isReady) return [];
      const former = memory.get(name);
      return [[name, former?.change === change ? former : { change, since: now }] as const];
    }),
  );
}

/** @param memory updated with `facts` by `rememberMachines` @param now milliseconds of the monotonic clock */
export function decideReplacement(
  memory: MachineMemory,
  facts: PlaceFacts,
  {
    now,
    afterSeconds,
    repairs,
  }: { readonly now: number; readonly afterSeconds: number } & Pick<HealingMemory, "repairs">,
): ReplacementDecision {
  const wait = (why: string): ReplacementDecision => ({ kind: "wait", why });
  const isStruck = ({ isReady, machine }: PodPlace): boolean =>
    !isReady && machine !== undefined && memory.has(machine);
  const struck = { servers: facts.servers.filter(isStruck), sentinels: facts.sentinels.filter(isStruck) };
  const all = [...struck.sentinels, ...struck.servers];
  if (all.length === 0) return { kind: "none" };
  const names = [...new Set(all.map(({ machine = "" }) => machine))];
  const isLost = (name: string): boolean => now - (memory.get(name)?.since ?? now) >= afterSeconds * 1000;
  const early = names.filter((name) => !isLost(name));
  // Pods may come back on a machine that has not been away for long. Until it is clear, no pod is replaced.
  if (early.length > 0)
    return wait(
      `machines must be gone or not Ready for ${afterSeconds} s before their pods are replaced: ${listNames(early)} (affected pods: ${listNames(all.map(nameOf))})`,
    );
  const why = whyNotAnyPod(facts, struck) ?? whyTooMany(repairs);
  if (why !== undefined) return wait(why);
  const [pod] = all.filter((each) => holdingClaims(facts, each).length === 0);
  if (pod === undefined) {
    const claims = listNames(all.flatMap((each) => holdingClaims(facts, each)));
    const advice = "If the old machine is off, delete its Node object";
    return wait(
      `a new pod on a different machine could use the volume of ${claims} while the old server still runs. ${advice}`,
    );
  }
  const claims = pod.claims.filter(({ tie }) => tie.kind === "machine" && tie.machine === pod.machine);
  const role = struck.sentinels.includes(pod) ? "Sentinel" : "server";
  return {
    kind: "replace",
    role,
    pod,
    claims,
    lost: struck,
    facts: describeFacts(facts, memory, { pod, claims, now }),
  };
}

const nameOf = ({ name }: PodPlace): string => name;

/** A machine that no longer exists is included as long as a pod is assigned to it. */
function machineStates({
  machines,
  servers,
  sentinels,
}: PlaceFacts): Map<string, Pick<MachineState, "isReady" | "change">> {
  const states = new Map<string, Pick<MachineState, "isReady" | "change">>(machines.map((each) => [each.name, each]));
  for (const { machine } of [...servers, ...sentinels])
    if (machine !== undefined && !states.has(machine)) states.set(machine, { isReady: false, change: GONE });
  return states;
}

/** Undefined if a pod may be replaced now. */
function whyNotAnyPod(
  facts: PlaceFacts,
  struck: { readonly servers: readonly PodPlace[]; readonly sentinels: readonly PodPlace[] },
): string | undefined {
  const states = [...machineStates(facts).values()];
  const ready = states.filter(({ isReady }) => isReady).length;
  if (ready * 2 <= states.length)
    return `only ${ready} of ${states.length} machines are Ready; perhaps the other machines work, and only the API server cannot reach them`;
  const { servers, sentinels, wanted } = facts;
  if (servers.length !== wanted.servers)
    return `${servers.length} server pods exist, but the deployment has ${wanted.servers} servers`;
  // A pod that was replaced before is ready when it has copied its data.
  const others = servers.filter((each) => !each.isReady && !struck.servers.includes(each));
  if (others.length > 0) return `not ready, although the machine works: ${listNames(others.map(nameOf))}`;
  const watching = sentinels.filter(({ isReady }) => isReady).length;
  return wanted.sentinels > 0 && watching * 2 <= wanted.sentinels
    ? `only ${watching} of ${wanted.sentinels} Sentinels are ready`
    : undefined;
}

function whyTooMany(repairs: readonly number[]): string | undefined {
  return repairs.length >= MAX_REPAIRS_PER_HOUR
    ? `the limit of ${MAX_REPAIRS_PER_HOUR} repairs in one hour is reached`
    : undefined;
}

/**
 * A lost machine may still run the old server, and with the same volume the new one would have its node ID. It is safe
 * only if a storage driver detaches the volume first: the old server then stops as soon as it must write `nodes.conf`.
 * If the machine is gone, Kubernetes itself deletes the pod.
 */
function holdingClaims({ machines, outlivesDisk }: PlaceFacts, { machine, claims }: PodPlace): string[] {
  if (!machines.some(({ name }) => name === machine)) return [];
  const isHolding = ({ tie: { kind } }: PlacedClaim): boolean =>
    kind === "shared" || (kind === "exclusive" && outlivesDisk);
  return claims.filter(isHolding).map(({ name }) => name);
}

function describeFacts(
  facts: PlaceFacts,
  memory: MachineMemory,
  { pod, claims, now }: { readonly pod: PodPlace; readonly claims: readonly PlacedClaim[]; readonly now: number },
): string {
  const { machine = "" } = pod;
  const known = memory.get(machine);
  const seconds = Math.round((now - (known?.since ?? now)) / 1000);
  const states = [...machineStates(facts).values()];
  const kept = pod.claims.filter((claim) => !claims.includes(claim));
  return compact([
    `machine ${machine} has been ${known?.change === GONE ? "gone" : "not Ready"} for ${seconds} s`,
    `${states.filter(({ isReady }) => isReady).length} of ${states.length} machines are Ready`,
    claims.length === 0
      ? undefined
      : `the volume of ${listNames(claims.map(({ name }) => name))} is on this machine and is deleted`,
    kept.length === 0 ? undefined : `the volume of ${listNames(kept.map(({ name }) => name))} is kept`,
  ]).join(", ");
}
