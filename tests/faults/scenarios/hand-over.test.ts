/** An orderly hand-over in a cluster whose servers refuse at first: asked for again until it has happened. */
import { describe, expect, it } from "vitest";
import type { FaultContext } from "../../../faults/scenarios/fault-context";
import { handOver } from "../../../faults/scenarios/hand-over";

/** Two nodes, and what the replica answers in turn; with the last answer it takes over. */
function stage(answers: readonly (Error | "OK")[]): { readonly stage: FaultContext; readonly asked: () => number } {
  let asked = 0;
  const isOver = (): boolean => asked >= answers.length;
  const connection = {
    cluster: (): Promise<string> => {
      const answer = answers[asked++] ?? "OK";
      return answer === "OK" ? Promise.resolve(answer) : Promise.reject(answer);
    },
    disconnect: () => undefined,
  };
  const observer = {
    state: (name: string) => ({
      role: (name === "a") === isOver() ? "replica" : "primary",
      follows: name === "b" ? "a" : undefined,
      linkUp: true,
    }),
    get isRedundant() {
      return isOver();
    },
  };
  const injector = {
    nodes: () => [{ name: "a" }, { name: "b" }],
    deployment: { name: "x", mode: "cluster", connect: () => Promise.resolve(connection) },
  };
  return {
    stage: {
      injector,
      observer,
      logEvent: () => undefined,
      signal: new AbortController().signal,
      timeoutMs: 5000,
    } as unknown as FaultContext,
    asked: () => asked,
  };
}

describe("a hand-over in a cluster", () => {
  it("is asked for once where it is done at once", async () => {
    const { stage: on, asked } = stage(["OK"]);
    await handOver("a", on);
    expect(asked()).toBe(1);
  });

  it("is asked for again where the replica's link was down", async () => {
    const { stage: on, asked } = stage([
      new Error("ERR Master is down or failed, please use CLUSTER FAILOVER FORCE"),
      new Error("ERR Master is down or failed, please use CLUSTER FAILOVER FORCE"),
      "OK",
    ]);
    await handOver("a", on);
    expect(asked()).toBe(3);
  });

  it("is asked for again where the replica gave up without a word", async () => {
    const { stage: on, asked } = stage(["OK", "OK"]);
    await handOver("a", { ...on, timeoutMs: 15_000 });
    expect(asked()).toBe(2);
  }, 20_000);

  it("fails with the replica's own words where it refuses for another reason", async () => {
    await expect(
      handOver("a", stage([new Error("ERR This instance has cluster support disabled"), "OK"]).stage),
    ).rejects.toThrow("b: ERR This instance has cluster support disabled");
  });
});
