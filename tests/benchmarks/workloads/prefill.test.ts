import { describe, expect, it } from "vitest";
import type { Connection } from "../../../valkey/connection";
import { type KeySlice, keyNames } from "../../../benchmarks/workloads/key-slices";
import type { Prefill } from "../../../benchmarks/workloads/named-tests";
import { type PrimaryNode, countKeys, prefill } from "../../../benchmarks/workloads/prefill";

/** A primary that stores numbered keys, except those that it leaves out, and reports the true number of stored keys. */
function primary(leavesOut: (key: string) => boolean, slots?: PrimaryNode["slots"]): PrimaryNode {
  const keys = new Set<string>();
  const call = (_script: string, _keys: 0, json: string): Promise<number> => {
    const { action, family, first, last, infixes } = JSON.parse(json) as KeySlice;
    let done = 0;
    for (const infix of infixes) {
      for (let number = first; number <= last; number++) {
        const key = `${family}${infix} ${number}`;
        if (action === "fill" && !leavesOut(key)) keys.add(key);
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
/** Three keys for each of three hash tags. */
const inCluster = { ...size, keySpace: 3 * 16384 };
const SLOTS = [{ from: 0, to: 2 }];
const never = (): boolean => false;

describe("a prefill", () => {
  it("succeeds when every key is stored", async () => {
    const target = primary(never);
    await prefill([target], STRINGS, size);
    expect(await countKeys(target, keyNames({ what: STRINGS, size }, false))).toBe(5000);
    await prefill([primary(never, SLOTS)], STRINGS, inCluster);
  });

  it("fails when a key was never written, although the server stores as many as it reported", async () => {
    await expect(prefill([primary((key) => key.endsWith(" 4999"))], STRINGS, size)).rejects.toThrow(
      /p holds 4999 of the 5000 key keys/,
    );
    await expect(
      prefill([primary((key) => key.includes("{06S}") && key.endsWith(" 2"), SLOTS)], STRINGS, inCluster),
    ).rejects.toThrow(/p holds 8 of the 9 key keys/);
  });

  it("compares keys without hash tags with the key space, over all primaries", async () => {
    const odd = (key: string): boolean => /[13579]$/.test(key);
    const halves = (missing: string): PrimaryNode[] => [
      primary((key) => odd(key) || key === missing, SLOTS),
      primary((key) => !odd(key), SLOTS),
    ];
    await prefill(halves(""), PLAIN, size);
    await expect(prefill(halves("memtier- 10"), PLAIN, size)).rejects.toThrow(
      /the primaries hold only 4999 of the 5000 memtier- keys/,
    );
  });
});
