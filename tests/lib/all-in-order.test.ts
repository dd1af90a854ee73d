import { setTimeout as after } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { allInOrder } from "../../lib/all-in-order";

const failAfter = async (milliseconds: number, message: string): Promise<never> => {
  await after(milliseconds);
  throw new Error(message);
};

describe("promises awaited in order", () => {
  it("give their values in their order", async () => {
    expect(await allInOrder([after(5, "first"), after(0, "second")])).toEqual(["first", "second"]);
  });

  it("fail as the first of them does, also when a later one fails sooner", async () => {
    await expect(allInOrder([after(0), failAfter(10, "first"), failAfter(0, "second")])).rejects.toThrow("first");
  });
});
