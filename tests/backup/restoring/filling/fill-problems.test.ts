/** Reasons why a deployment cannot be filled. */
import { expect, it } from "vitest";
import { filledProblem, memoryProblems, versionProblems } from "../../../../backup/restoring/filling/fill-problems";
import { SLOT_COUNT } from "../../../../valkey/topology/slots";

const EMPTY = { keys: 0, libraries: 0 };

it("refuses a deployment with keys or functions", () => {
  expect(filledProblem("shop", [EMPTY, EMPTY])).toBeUndefined();
  expect(filledProblem("shop", [EMPTY, { keys: 1200, libraries: 0 }])).toBe(
    "shop has data already: 1,200 keys on one server; restoreFrom fills only a new deployment, " +
      "and does not change data that exist",
  );
});

it("estimates the memory of each shard by its slots, and compares it with what is free", () => {
  const node = (name: string): { name: string } => ({ name });
  const member = (name: string) => ({ node: node(name) as never, isPrimary: true, isLinked: true });
  const layout = {
    shards: [
      { slots: "0-8191", members: [member("a"), member("b")] },
      { slots: "8192-16383", members: [member("c")] },
    ],
    unsettled: undefined,
  };
  const bytes = new Float64Array(SLOT_COUNT);
  bytes[0] = 75;
  bytes[8192] = 15;
  // A tenth of the file's keys are not wanted.
  const data = { staged: [{ datasetBytes: 2 ** 30 }], wanted: { sourceBytes: [100], wantedBytes: [bytes] } };
  const free = { usedBytes: 0, maxBytes: 0.76 * 2 ** 30 };
  expect(memoryProblems(layout, new Map([["a", free]]), data)).toEqual([]);
  const tight = { usedBytes: 0.02 * 2 ** 30, maxBytes: 0.76 * 2 ** 30 };
  expect(memoryProblems(layout, new Map([...["a", "b", "c"].map((name) => [name, tight] as const)]), data)).toEqual([
    expect.stringMatching(
      /^the data do not fit: shard-0 gets about 768 MiB, and a has a maxmemory of .*, of which it uses/,
    ),
    expect.stringMatching(/^the data do not fit: shard-0 gets about 768 MiB, and b has/),
  ]);
});

it("refuses data of a newer version", () => {
  const set = (serverVersion: string) => ({ base: { serverVersion } as never });
  const restore = { shards: [{ name: "shard-0", set: set("9.1.2") }] };
  expect(versionProblems("shop", [{ version: "9.1.0" }], restore)).toEqual([]);
  expect(versionProblems("shop", [{ version: "8.1.1" }, { version: "8.1.1" }], restore)).toEqual([
    "the data of shard-0 are of version 9.1.2, and shop has the older version 8.1.1; deploy version 9.1.2 or newer",
  ]);
});
