/** Tier of EKS's control plane for a number of machines and pods. Pure. */
import { formatCount } from "../../../lib/units";

export const CONTROL_PLANE_TIERS = ["standard", "tier-xl", "tier-2xl", "tier-4xl", "tier-8xl"] as const;
export type ControlPlaneTier = (typeof CONTROL_PLANE_TIERS)[number];
/** Tiers that AWS provisions, and charges for. */
export type ProvisionedTier = Exclude<ControlPlaneTier, "standard">;

interface Capacity {
  /** Requests that the API server works on at once. */
  readonly seats: number;
  /** Pods that the scheduler binds in a second. */
  readonly podsPerSecond: number;
}

/** "Amazon EKS Provisioned Control Plane", for Kubernetes 1.30 and later. Of the standard mode AWS names no capacity. */
const CAPACITY: Readonly<Record<ProvisionedTier, Capacity>> = {
  "tier-xl": { seats: 1700, podsPerSecond: 167 },
  "tier-2xl": { seats: 3400, podsPerSecond: 283 },
  "tier-4xl": { seats: 6800, podsPerSecond: 400 },
  "tier-8xl": { seats: 13_600, podsPerSecond: 400 },
};
const PROVISIONED = CONTROL_PLANE_TIERS.filter((tier): tier is ProvisionedTier => tier !== "standard");

/** "EKS Scalability best practices": beyond either, plan how the cluster is scaled. */
const STANDARD_LIMITS = { machines: 300, pods: 5000 };

/**
 * Kubernetes was validated with 5,000 machines and 2,000 requests at once (`--max-requests-inflight` 1,500 and
 * `--max-mutating-requests-inflight` 500). There machines were at rest; here all of them join within minutes, so that
 * each counts twice.
 */
const SEATS_PER_MACHINE = (2 * 2000) / 5000;

/** All pods are bound within this time, while Karpenter starts machines. */
const BINDING_SECONDS = 120;

/** Pods that run on every machine. */
const DAEMON_PODS = 4;

export interface ControlPlanePlan {
  readonly tier: ControlPlaneTier;
  /** The least that suffices; larger or smaller than `tier` where that is configured. */
  readonly suggested: ControlPlaneTier;
  readonly machines: number;
  /** With those that run on every machine. */
  readonly pods: number;
  readonly needed: Capacity;
}

/**
 * @param machines of the cluster, with system machines
 * @param pods of the stack
 * @param configured tier in place of the suggested one
 */
export function planControlPlane(
  machines: number,
  pods: number,
  configured: ControlPlaneTier | undefined,
): ControlPlanePlan {
  const allPods = pods + machines * DAEMON_PODS;
  const needed = {
    seats: Math.ceil(machines * SEATS_PER_MACHINE),
    podsPerSecond: Math.ceil(allPods / BINDING_SECONDS),
  };
  const isStandard = machines <= STANDARD_LIMITS.machines && allPods <= STANDARD_LIMITS.pods;
  const suggested = isStandard ? "standard" : smallestTier(needed);
  return { tier: configured ?? suggested, suggested, machines, pods: allPods, needed };
}

/** The largest where none suffices: AWS has more on request only. */
function smallestTier({ seats, podsPerSecond }: Capacity): ProvisionedTier {
  const fits = (tier: ProvisionedTier): boolean =>
    CAPACITY[tier].seats >= seats && CAPACITY[tier].podsPerSecond >= podsPerSecond;
  return PROVISIONED.find(fits) ?? "tier-8xl";
}

export function describeControlPlane({ tier, suggested, machines, pods, needed }: ControlPlanePlan): string {
  const load = `${formatCount(machines)} machines and ${formatCount(pods)} pods`;
  if (tier === "standard" && suggested === "standard") return `standard, for ${load}`;
  const need = `${formatCount(needed.seats)} requests at once and ${formatCount(needed.podsPerSecond)} pods a second`;
  const has = tier === "standard" ? "" : ` (${capacityOf(tier)})`;
  const other = tier === suggested ? "" : `; ${suggested} is suggested`;
  return `${tier}${has}, for ${load} that may need ${need}${other}`;
}

function capacityOf(tier: ProvisionedTier): string {
  const { seats, podsPerSecond } = CAPACITY[tier];
  return `${formatCount(seats)} requests at once, ${formatCount(podsPerSecond)} pods a second`;
}
