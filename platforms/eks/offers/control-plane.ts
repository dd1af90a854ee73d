import { formatCount } from "../../../lib/units";

export const CONTROL_PLANE_TIERS = ["standard", "tier-xl", "tier-2xl", "tier-4xl", "tier-8xl"] as const;
export type ControlPlaneTier = (typeof CONTROL_PLANE_TIERS)[number];
type ProvisionedTier = Exclude<ControlPlaneTier, "standard">;

interface Capacity {
  /** Number of requests that the API server handles at the same time. */
  readonly seats: number;
  /** Number of pods that the scheduler binds per second. */
  readonly podsPerSecond: number;
}

/** From AWS' document "Amazon EKS Provisioned Control Plane" (Kubernetes 1.30 and later). */
const CAPACITY: Readonly<Record<ProvisionedTier, Capacity>> = {
  "tier-xl": { seats: 1700, podsPerSecond: 167 },
  "tier-2xl": { seats: 3400, podsPerSecond: 283 },
  "tier-4xl": { seats: 6800, podsPerSecond: 400 },
  "tier-8xl": { seats: 13_600, podsPerSecond: 400 },
};
const PROVISIONED = CONTROL_PLANE_TIERS.filter((tier): tier is ProvisionedTier => tier !== "standard");

/** Above either limit, "EKS Scalability best practices" advises to plan the scaling. */
const STANDARD_LIMITS = { machines: 300, pods: 5000 };

/**
 * Simultaneous requests. Kubernetes was validated with 5,000 machines and 2,000 (`--max-requests-inflight` 1,500 and
 * `--max-mutating-requests-inflight` 500). Doubled, because those machines were idle, and here all join within minutes.
 */
const SEATS_PER_MACHINE = (2 * 2000) / 5000;

/** Seconds within which all pods must have been bound, while Karpenter starts machines. */
const BINDING_SECONDS = 120;

const DAEMON_PODS = 4;

export interface ControlPlanePlan {
  readonly tier: ControlPlaneTier;
  /** Lowest tier that suffices for the machines and pods. A configured `tier` may be higher or lower. */
  readonly suggested: ControlPlaneTier;
  readonly machines: number;
  /** Number of pods, including the pods that run on every machine. */
  readonly pods: number;
  readonly needed: Capacity;
}

/** @param machines including system machines @param configured tier to use instead of the suggested tier */
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

/** The highest tier if none suffices, because AWS provides a larger control plane only on request. */
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
  const other = tier === suggested ? "" : `; suggested tier: ${suggested}`;
  return `${tier}${has}, for ${load}, which may need ${need}${other}`;
}

function capacityOf(tier: ProvisionedTier): string {
  const { seats, podsPerSecond } = CAPACITY[tier];
  return `${formatCount(seats)} requests at once, ${formatCount(podsPerSecond)} pods a second`;
}
