import * as ipaddr from "ipaddr.js";

export interface AddressBlock {
  readonly version: 4 | 6;
  readonly first: bigint;
  readonly prefixLength: number;
}

/** Address bits after the prefix are cleared. Undefined if the text is not a block. */
export function parseCidr(cidr: string): AddressBlock | undefined {
  if (!ipaddr.isValidCIDR(cidr)) return undefined;
  const [address, prefixLength] = ipaddr.parseCIDR(cidr);
  const number = address.toByteArray().reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
  const block = { version: address.kind() === "ipv4" ? 4 : 6, first: number, prefixLength } as const;
  return { ...block, first: number - (number % sizeOf(block)) };
}

export function formatCidr({ version, first, prefixLength }: AddressBlock): string {
  const bytes = Array.from({ length: bitsOf(version) / 8 }, (_, index) => Number((first >> BigInt(8 * index)) % 256n));
  return `${ipaddr.fromByteArray(bytes.reverse()).toString()}/${prefixLength}`;
}

export function nthSubnet(block: AddressBlock, prefixLength: number, index: number): AddressBlock {
  const size = sizeOf({ version: block.version, prefixLength });
  return { version: block.version, first: block.first + BigInt(index) * size, prefixLength };
}

/** The public addresses: all of IPv4, and the global unicast addresses of IPv6 (RFC 4291). */
const PUBLIC: readonly AddressBlock[] = [
  { version: 4, first: 0n, prefixLength: 0 },
  { version: 6, first: 1n << 125n, prefixLength: 3 },
];

/** Half of the addresses of IPv4 or IPv6: 0.0.0.0/1 and 128.0.0.0/1 together allow as many as 0.0.0.0/0. */
export function isOpenToTheWorld(cidrs: readonly string[]): boolean {
  const blocks = cidrs.flatMap((cidr) => parseCidr(cidr) ?? []);
  return PUBLIC.some((space) => 2n * coveredSize(blocks, space) >= sizeOf(space));
}

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
