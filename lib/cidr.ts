/**
 * IP address blocks in CIDR notation. Parses, divides and formats blocks, and counts the addresses that several blocks
 * cover together. Pure.
 */
import * as ipaddr from "ipaddr.js";

/** Consecutive addresses that share their leading bits. */
export interface AddressBlock {
  readonly version: 4 | 6;
  readonly first: bigint;
  /** Number of leading bits that all addresses of the block share. */
  readonly prefixLength: number;
}

/** The block in a CIDR text. Address bits after the prefix are cleared. Undefined if the text is not a block. */
export function parseCidr(cidr: string): AddressBlock | undefined {
  if (!ipaddr.isValidCIDR(cidr)) return undefined;
  const [address, prefixLength] = ipaddr.parseCIDR(cidr);
  const number = address.toByteArray().reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
  const block = { version: address.kind() === "ipv4" ? 4 : 6, first: number, prefixLength } as const;
  return { ...block, first: number - (number % sizeOf(block)) };
}

/** A block as text: `10.0.0.0/16`. */
export function formatCidr({ version, first, prefixLength }: AddressBlock): string {
  const bytes = Array.from({ length: bitsOf(version) / 8 }, (_, index) => Number((first >> BigInt(8 * index)) % 256n));
  return `${ipaddr.fromByteArray(bytes.reverse()).toString()}/${prefixLength}`;
}

/**
 * One part of a block. The block is divided into parts with the given prefix length.
 * @param index number of the part, counted from 0
 */
export function nthSubnet(block: AddressBlock, prefixLength: number, index: number): AddressBlock {
  const size = sizeOf({ version: block.version, prefixLength });
  return { version: block.version, first: block.first + BigInt(index) * size, prefixLength };
}

/** The public addresses: all of IPv4, and the global unicast addresses of IPv6 (RFC 4291). */
const PUBLIC: readonly AddressBlock[] = [
  { version: 4, first: 0n, prefixLength: 0 },
  { version: 6, first: 1n << 125n, prefixLength: 3 },
];

/**
 * Whether the blocks together cover half or more of the public addresses of IPv4, or half or more of the public
 * addresses of IPv6. For example, 0.0.0.0/1 and 128.0.0.0/1 together allow as many addresses as 0.0.0.0/0. A text that
 * is not a block covers no address.
 */
export function isOpenToTheWorld(cidrs: readonly string[]): boolean {
  const blocks = cidrs.flatMap((cidr) => parseCidr(cidr) ?? []);
  return PUBLIC.some((space) => 2n * coveredSize(blocks, space) >= sizeOf(space));
}

/** Number of the addresses in `space` that at least one block covers. */
function coveredSize(blocks: readonly AddressBlock[], space: AddressBlock): bigint {
  const end = space.first + sizeOf(space);
  const sorted = blocks
    .filter(({ version }) => version === space.version)
    .sort((a, b) => (a.first < b.first ? -1 : a.first > b.first ? 1 : 0));
  let covered = 0n;
  // The first address that no earlier block covers.
  let next = space.first;
  for (const block of sorted) {
    const from = block.first > next ? block.first : next;
    const blockEnd = block.first + sizeOf(block);
    const to = blockEnd < end ? blockEnd : end;
    if (to <= from) continue;
    covered += to - from;
    next = to;
  }
  return covered;
}

function sizeOf({ version, prefixLength }: Pick<AddressBlock, "version" | "prefixLength">): bigint {
  return 1n << BigInt(bitsOf(version) - prefixLength);
}

function bitsOf(version: 4 | 6): number {
  return version === 4 ? 32 : 128;
}
