/** The result of a restore as the termination message of a pod. */
import { expect, it } from "vitest";
import { type RestoreResult, formatResult, parseResult } from "../../../../backup/restoring/filling/fill-result";

const resultOf = (shards: number): RestoreResult => ({
  restoredAt: "2026-11-24T08:10:00.000Z",
  shards: Array.from({ length: shards }, (_, index) => ({
    name: `shard-${index}`,
    at: new Date(Date.UTC(2026, 10, 24, 8) + ((index * 7) % shards)).toISOString(),
  })),
  ...{ keys: 1_000_000, expired: 3 },
});

it("lists each shard", () => {
  expect(parseResult(formatResult(resultOf(3)))).toEqual(resultOf(3));
});

it("fits into the message that Kubernetes keeps, with the first and the last time of many shards", () => {
  expect(Buffer.byteLength(formatResult(resultOf(50)))).toBeLessThan(4096);
  const text = formatResult(resultOf(1000));
  expect(Buffer.byteLength(text)).toBeLessThan(4096);
  expect(parseResult(text).shards.map(({ at }) => at)).toEqual([
    "2026-11-24T08:00:00.000Z",
    "2026-11-24T08:00:00.999Z",
  ]);
});

it("is refused if it is not a result", () => {
  expect(() => parseResult("killed")).toThrow();
});
