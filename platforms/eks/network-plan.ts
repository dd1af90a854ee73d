import { type AddressBlock, formatCidr, parseCidr, nthSubnet } from "../../lib/cidr";

interface ZoneNetwork {
  /** Subnet for machines, pods, and the interfaces of the control plane and of AWS endpoints. */
  readonly privateCidr: string;
  /** Subnet for NAT gateways and load balancers. */
  readonly publicCidr: string;
  /**
   * Parts of the private subnet that are reserved for address prefixes. No single addresses are taken from these parts,
   * because they would fragment the parts.
   */
  readonly prefixCidrs: readonly string[];
}

export interface NetworkPlan {
  readonly cidr: string;
  /** Subnets of each zone, in the order of the zones. */
  readonly zones: readonly ZoneNetwork[];
  /** Number of addresses in each private subnet. */
  readonly addressesPerZone: number;
}

/** Number of addresses in a prefix that the VPC CNI assigns to a machine's pods: a /28. */
export const PREFIX_SIZE = 16;

/** WARM_IP_TARGET: one address, because a spare prefix for each machine would double the demand. */
export const WARM_ADDRESSES = 1;

const RESERVED_BY_AWS = 5;

/** In each subnet: 16 for the control plane, as EKS recommends, and two endpoints of ECR and one of STS. */
const OTHER_INTERFACES = 16 + 3;

/** Prefix lengths of the largest network and the smallest subnet that AWS allows. */
const LARGEST_VPC = 16;
const SMALLEST_SUBNET = 28;

/**
 * Private subnets are as large as possible; public ones have at most 256 addresses, from the block after them.
 * @param zoneCount at least 1
 * @returns undefined when AWS does not allow the block, or it is too small
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

export function prefixesNeeded(podAddresses: number): number {
  return Math.ceil((podAddresses + WARM_ADDRESSES) / PREFIX_SIZE);
}

/** Demand of one zone: the number of machines, each with one address, and the number of prefixes. */
export interface ZoneDemand {
  readonly machines: number;
  readonly prefixes: number;
}

export function zoneCapacity({ addressesPerZone }: NetworkPlan): ZoneDemand {
  const single = addressesPerZone / 16;
  return {
    machines: Math.max(0, Math.floor(single) - (RESERVED_BY_AWS - 1) - OTHER_INTERFACES),
    // The last prefix is not counted, because it contains the address that AWS reserves.
    prefixes: Math.max(0, Math.floor((addressesPerZone - single) / PREFIX_SIZE) - 1),
  };
}

/** Undefined if a /16, the largest network, is too small. */
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
 * All but the first sixteenth of a subnet, in 1/16, 1/8, 1/4 and 1/2, because AWS can reserve only CIDR blocks.
 * Prefixes get 15 times as many addresses as machines, close to the ratio that they need.
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
