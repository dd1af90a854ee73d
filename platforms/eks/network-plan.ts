/** The addresses of a network's subnets, and how many machines they hold with prefix delegation. Pure. */
import type { AddressBlock } from "../../lib/cidr";
import { formatCidr, parseCidr, nthSubnet } from "../../lib/cidr";

/** One zone's part of the network. */
export interface ZoneNetwork {
  /** For machines, pods, and the interfaces of the control plane and of AWS endpoints. */
  readonly privateCidr: string;
  /** For NAT gateways and load balancers. */
  readonly publicCidr: string;
  /** Parts of the private subnet that are reserved for prefixes, so that single addresses never break them up. */
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

/** Spare addresses of each machine (WARM_IP_TARGET). A spare prefix each would double the demand. */
export const WARM_ADDRESSES = 1;

/** AWS reserves the first four addresses and the last of each subnet. */
const RESERVED_BY_AWS = 5;

/**
 * EKS recommends 16 addresses per subnet for the control plane's interfaces and upgrades. The endpoints of ECR (two)
 * and STS take one each.
 */
const OTHER_INTERFACES = 16 + 3;

/** AWS's bounds of a network and of a subnet. */
const LARGEST_VPC = 16;
const SMALLEST_SUBNET = 28;

/**
 * One private subnet per zone, as large as possible; then public subnets of at most 256 addresses from the next block.
 * @param cidr such as `10.0.0.0/16`
 * @param zoneCount at least 1
 * @returns undefined when the block is larger than AWS allows, or too small for subnets in so many zones
 */
export function planNetwork(cidr: string, zoneCount: number): NetworkPlan | undefined {
  const block = parseCidr(cidr);
  if (block?.version !== 4 || block.prefixLength < LARGEST_VPC) return undefined;
  const privateMask = block.prefixLength + bitsFor(zoneCount + 1);
  const publicMask = Math.max(24, privateMask + bitsFor(zoneCount));
  if (publicMask > SMALLEST_SUBNET) return undefined;
  const publicBlock = nthSubnet(block, privateMask, zoneCount);
  const zones = Array.from({ length: zoneCount }, (_, index): ZoneNetwork => {
    const privateBlock = nthSubnet(block, privateMask, index);
    return {
      privateCidr: formatCidr(privateBlock),
      publicCidr: formatCidr(nthSubnet(publicBlock, publicMask, index)),
      prefixCidrs: prefixParts(privateBlock).map(formatCidr),
    };
  });
  return { cidr: formatCidr(block), zones, addressesPerZone: 2 ** (32 - privateMask) };
}

/** Prefixes that a machine takes for so many pods with addresses of their own. */
export function prefixesNeeded(podAddresses: number): number {
  return Math.ceil((podAddresses + WARM_ADDRESSES) / PREFIX_SIZE);
}

/** Addresses and prefixes that the machines of one zone need. */
export interface ZoneDemand {
  readonly machines: number;
  readonly prefixes: number;
}

/** Capacity of one zone's private subnet: addresses for the interfaces of machines, and prefixes for their pods. */
export function zoneCapacity({ addressesPerZone }: NetworkPlan): ZoneDemand {
  const single = addressesPerZone / 16;
  return {
    machines: Math.max(0, Math.floor(single) - (RESERVED_BY_AWS - 1) - OTHER_INTERFACES),
    // The last prefix contains the address that AWS reserves.
    prefixes: Math.max(0, Math.floor((addressesPerZone - single) / PREFIX_SIZE) - 1),
  };
}

/** The smallest network, /16 or smaller, whose subnets hold the demand in every zone; undefined where none does. */
export function smallestMaskFor(demand: ZoneDemand, zoneCount: number): number | undefined {
  for (let mask = 26; mask >= LARGEST_VPC; mask--) {
    const plan = planNetwork(`10.0.0.0/${mask}`, zoneCount);
    const capacity = plan === undefined ? undefined : zoneCapacity(plan);
    if (capacity !== undefined && capacity.machines >= demand.machines && capacity.prefixes >= demand.prefixes)
      return mask;
  }
  return undefined;
}

/**
 * All but the first sixteenth, as the four blocks that a reservation can name: 1/16, 1/8, 1/4 and 1/2. The ratio of
 * 15 to 1 is nearly that of prefixes to machines.
 */
function prefixParts(block: AddressBlock): AddressBlock[] {
  return [4, 3, 2, 1]
    .map((bits) => block.prefixLength + bits)
    .filter((mask) => mask <= SMALLEST_SUBNET)
    .map((mask) => nthSubnet(block, mask, 1));
}

function bitsFor(parts: number): number {
  return Math.ceil(Math.log2(parts));
}
