import { describe, expect, it } from "vitest";
import type { Connection } from "../../../valkey/connection";
import type { Prefill } from "../../../benchmarks/workloads/named-tests";
import type { PrimaryNode } from "../../../benchmarks/workloads/prefill";
import { countKeys, prefill } from "../../../benchmarks/workloads/prefill";

type Slice = readonly [
  script: string,
  keys: 0,
  verb: string,
  kind: string,
  family: string,
  first: number,
  last: number,
  value: string,
  sizes: string,
  format: string,
  slots: string,
  ...infixes: string[],
];

/** A primary that takes numbered keys, all but those that it leaves out, and says truly how many it took. */
function primary(leavesOut: (key: string) => boolean, slots?: PrimaryNode["slots"]): PrimaryNode {
  const keys = new Set<string>();
  const call = (...[, , verb, , family, first, last, , , , , ...infixes]: Slice): Promise<number> => {
    let done = 0;
    for (const infix of infixes) {
      for (let number = first; number <= last; number++) {
        const key = `${family}${infix} ${number}`;
        if (verb === "fill" && !leavesOut(key)) keys.add(key);
        if (keys.has(key)) done++;
      }
    }
    return Promise.resolve(done);
  };
  return {
    name: "p",
    slots,
    replicas: 0,
    connection: { eval: call, wait: () => Promise.resolve(0) } as unknown as Connection,
  };
}

const STRINGS: Prefill = { kind: "strings", family: "key" };
const PLAIN: Prefill = { kind: "plain", family: "memtier-", type: "string" };
const size = { keySpace: 5000, dataSize: 8, stock: 0 };
/** 3 keys behind each of three tags. */
const inCluster = { ...size, keySpace: 3 * 16384 };
const SLOTS = [{ from: 0, to: 2 }];
const never = (): boolean => false;

describe("a prefill", () => {
  it("is content with every key", async () => {
    const target = primary(never);
    await prefill([target], STRINGS, size);
    expect(await countKeys([target], STRINGS, size)).toBe(5000);
    await prefill([primary(never, SLOTS)], STRINGS, inCluster);
  });

  it("fails where one was never written, though as many are there as were", async () => {
    await expect(prefill([primary((key) => key.endsWith(" 4999"))], STRINGS, size)).rejects.toThrow(
      /p holds 4999 of the 5000 key keys/,
    );
    await expect(
      prefill([primary((key) => key.includes("{06S}") && key.endsWith(" 2"), SLOTS)], STRINGS, inCluster),
    ).rejects.toThrow(/p holds 8 of the 9 key keys/);
  });

  it("holds keys without tags against the key space, over all primaries", async () => {
    const odd = (key: string): boolean => /[13579]$/.test(key);
    const halves = (missing: string): PrimaryNode[] => [
      primary((key) => odd(key) || key === missing, SLOTS),
      primary((key) => !odd(key), SLOTS),
    ];
    await prefill(halves(""), PLAIN, size);
    await expect(prefill(halves("memtier- 10"), PLAIN, size)).rejects.toThrow(
      /the primaries hold 4999 of the 5000 memtier- keys/,
    );
  });
});
