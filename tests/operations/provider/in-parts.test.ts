/** A resource of several parts. */
import { describe, expect, it } from "vitest";
import { inParts } from "../../../operations/protocol/in-parts";
import { FailedButSeen, type ResourceHandler } from "../../../operations/protocol/resource-handler";
import { problem } from "../../../lib/errors";
import { HANDLER_CONTEXT } from "../../support/pulumi/handler-context";

interface Inputs {
  readonly wanted: number;
}
interface Outputs {
  readonly had: number;
}

const calls: string[] = [];
const partOf = (
  name: string,
  changes: Partial<ResourceHandler<Inputs, Outputs>> = {},
): ResourceHandler<Inputs, Outputs> => ({
  create: ({ wanted }) => Promise.resolve({ id: name, outputs: { had: wanted } }),
  update: (_id, olds, { wanted }, _context, attempts = []) => {
    calls.push(`${name}: ${olds.wanted} and ${olds.had}, ${attempts.length} attempts`);
    return Promise.resolve({ had: wanted });
  },
  delete: () => Promise.resolve(void calls.push(`${name} deleted`)),
  drifted: ({ had }) => had < 0,
  describeChange: (olds, { wanted }) => [`${name}: ${olds.wanted} becomes ${wanted ?? "?"}`],
  check: (_olds, { wanted = 0 }) => Promise.resolve(wanted > 9 ? [problem("too-much", name, "is too much")] : []),
  ...changes,
});
const failing = partOf("second", { update: () => Promise.reject(new Error("no space")), recordsAttempts: true });
const STATE = { wanted: 1, first: { had: 1 }, second: { had: 2 } };

describe("a resource of several parts", () => {
  const handler = inParts<Inputs, { first: Outputs; second: Outputs }>({
    first: partOf("first"),
    second: partOf("second", { read: (_id, { wanted }) => Promise.resolve({ had: -wanted }) }),
  });

  it("runs them in their order, each with its own outputs, and deletes them in reverse", async () => {
    calls.length = 0;
    expect(await handler.create({ wanted: 3 }, HANDLER_CONTEXT)).toEqual({
      id: "second",
      outputs: { first: { had: 3 }, second: { had: 3 } },
    });
    const outputs = await handler.update?.("id", STATE, { wanted: 4 }, HANDLER_CONTEXT, [{ wanted: 5 }]);
    expect(outputs).toEqual({ first: { had: 4 }, second: { had: 4 } });
    await handler.delete?.("id", STATE, HANDLER_CONTEXT);
    expect(calls).toEqual([
      ...["first: 1 and 1, 1 attempts", "second: 1 and 2, 1 attempts"],
      ...["second deleted", "first deleted"],
    ]);
  });

  it("has drifted when one of them has, and says and refuses what each of them does", async () => {
    expect(handler.drifted?.(STATE)).toBe(false);
    const read = await handler.read?.("id", STATE, HANDLER_CONTEXT);
    expect(read).toEqual({ first: { had: 1 }, second: { had: -1 } });
    expect(handler.drifted?.({ ...STATE, ...read })).toBe(true);
    expect(handler.describeChange?.(STATE, { wanted: 2 })).toEqual(["first: 1 becomes 2", "second: 1 becomes 2"]);
    expect((await handler.check?.(STATE, { wanted: 10 }, HANDLER_CONTEXT))?.map(({ path }) => path)).toEqual([
      "first",
      "second",
    ]);
  });

  it("keeps what the parts before a failure returned, and the attempt", async () => {
    const half = inParts<Inputs, { first: Outputs; second: Outputs }>({ first: partOf("first"), second: failing });
    expect([handler.recordsAttempts, half.recordsAttempts]).toEqual([false, true]);
    const error = await half.update?.("id", STATE, { wanted: 4 }, HANDLER_CONTEXT).catch((each: unknown) => each);
    expect(error).toBeInstanceOf(FailedButSeen);
    expect(error).toMatchObject({ message: "no space", outputs: { first: { had: 4 } } });
  });
});
