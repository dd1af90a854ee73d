/** Which addresses a network's subnets have, and how many machines they hold with prefix delegation. Pure. */

/** One zone's part of the network. */
export interface ZoneNetwork {
  /** For machines and pods, and for what they reach the control plane and AWS by. */
  readonly privateCidr: string;
  /** For NAT gateways and load balancers. */
  readonly publicCidr: string;
  /** Parts of the private subnet that only prefixes are taken from, so that single addresses never break them up. */
  readonly prefixCidrs: readonly string[];
}

export interface NetworkPlan {
  readonly cidr: string;
  /** In the order of the zones. */
  readonly zones: readonly ZoneNetwork[];
  /** Addresses of each private subnet. */
  readonly addressesPerZone: number;
}

/** A prefix that the VPC CNI gives a machine's pods: a /28. */
export const PREFIX_SIZE = 16;

/** Addresses that a machine keeps at hand beyond those in use (WARM_IP_TARGET); a spare prefix each would double what is needed. */
export const WARM_ADDRESSES = 1;

/** AWS keeps the first four and the last of each subnet. */
const KEPT_BY_AWS = 5;

/** EKS recommends 16 addresses per subnet for the control plane's interfaces and upgrades; the endpoints of ECR (two) and STS take one each. */
const OTHER_INTERFACES = 16 + 3;

/** AWS's bounds of a network and of a subnet. */
const LARGEST_VPC = 16;
const SMALLEST_SUBNET = 28;

interface Block {
  readonly base: number;
  readonly mask: number;
}

/**
 * Private subnets first and as large as can be, one per zone, each a power of two; public ones of at most 256 addresses
 * from the block after them.
 * @param cidr such as `10.0.0.0/16`
 * @param zoneCount at least 1
 * @returns undefined when the block has no room for subnets of AWS's smallest size in so many zones, or is larger than AWS allows
 */
export function planNetwork(cidr: string, zoneCount: number): NetworkPlan | undefined {
  const block = parseCidr(cidr);
  if (block === undefined || block.mask < LARGEST_VPC) return undefined;
  const privateMask = block.mask + bitsFor(zoneCount + 1);
  const publicMask = Math.max(24, privateMask + bitsFor(zoneCount));
  if (publicMask > SMALLEST_SUBNET) return undefined;
  const publics: Block = { base: block.base + zoneCount * sizeOf(privateMask), mask: privateMask };
  const zones = Array.from({ length: zoneCount }, (_, index): ZoneNetwork => {
    const own: Block = { base: block.base + index * sizeOf(privateMask), mask: privateMask };
    return {
      privateCidr: formatCidr(own),
      publicCidr: formatCidr({ base: publics.base + index * sizeOf(publicMask), mask: publicMask }),
      prefixCidrs: prefixParts(own).map(formatCidr),
    };
  });
  return { cidr: formatCidr(block), zones, addressesPerZone: sizeOf(privateMask) };
}

/** Prefixes that a machine takes for so many pods with addresses of their own. */
export function prefixesNeeded(podAddresses: number): number {
  return Math.ceil((podAddresses + WARM_ADDRESSES) / PREFIX_SIZE);
}

/** What machines in one zone take. */
export interface ZoneDemand {
  readonly machines: number;
  readonly prefixes: number;
}

/** What one zone's private subnet can give: addresses for the machines' own interfaces, and prefixes for their pods. */
export function zoneCapacity({ addressesPerZone }: NetworkPlan): ZoneDemand {
  const single = addressesPerZone / 16;
  return {
    machines: Math.max(0, Math.floor(single) - (KEPT_BY_AWS - 1) - OTHER_INTERFACES),
    // The last prefix has the address that AWS keeps at the end.
    prefixes: Math.max(0, Math.floor((addressesPerZone - single) / PREFIX_SIZE) - 1),
  };
}

/** The smallest mask, from /16 on, whose subnets hold the demand in every zone; undefined where none does. */
export function smallestMaskFor(demand: ZoneDemand, zoneCount: number): number | undefined {
  for (let mask = 26; mask >= LARGEST_VPC; mask--) {
    const plan = planNetwork(`10.0.0.0/${mask}`, zoneCount);
    const capacity = plan === undefined ? undefined : zoneCapacity(plan);
    if (capacity !== undefined && capacity.machines >= demand.machines && capacity.prefixes >= demand.prefixes)
      return mask;
  }
  return undefined;
}

/** All but the first sixteenth, as the four blocks that a reservation can name: 1/16, 1/8, 1/4 and 1/2. Its ratio of 15 to 1 is nearly that of prefixes to machines. */
function prefixParts({ base, mask }: Block): Block[] {
  return [4, 3, 2, 1]
    .filter((bits) => mask + bits <= SMALLEST_SUBNET)
    .map((bits) => ({ base: base + sizeOf(mask + bits), mask: mask + bits }));
}

function bitsFor(parts: number): number {
  return Math.ceil(Math.log2(parts));
}

function sizeOf(mask: number): number {
  return 2 ** (32 - mask);
}

function parseCidr(cidr: string): Block | undefined {
  const match = /^(\d+)\.(\d+)\.(\d+)\.(\d+)\/(\d+)$/.exec(cidr);
  if (match === null) return undefined;
  const [a = 0, b = 0, c = 0, d = 0, mask = 0] = match.slice(1).map(Number);
  if ([a, b, c, d].some((part) => part > 255) || mask > 32) return undefined;
  const address = ((a * 256 + b) * 256 + c) * 256 + d;
  return { base: address - (address % sizeOf(mask)), mask };
}

function formatCidr({ base, mask }: Block): string {
  return `${[24, 16, 8, 0].map((bits) => Math.floor(base / 2 ** bits) % 256).join(".")}/${mask}`;
}
