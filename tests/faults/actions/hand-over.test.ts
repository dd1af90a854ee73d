/**
 * A hand-over in a cluster whose replica refuses at first: the request is repeated until the replica has taken over.
 */
import { describe, expect, it } from "vitest";
import type { FaultContext } from "../../../faults/actions/fault-context";
import { handOver } from "../../../faults/actions/hand-over";

/** Two nodes, and the replies of the replica to CLUSTER FAILOVER; with the last one it takes over. */
function fakeContext(replies: readonly (Error | "OK")[]): {
  readonly context: FaultContext;
  readonly requests: () => number;
} {
  let requested = 0;
  const isOver = (): boolean => requested >= replies.length;
  const connection = {
    cluster: (): Promise<string> => {
      const reply = replies[requested++] ?? "OK";
      return reply === "OK" ? Promise.resolve(reply) : Promise.reject(reply);
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
    context: {
      injector,
      observer,
      logEvent: () => undefined,
      signal: new AbortController().signal,
      timeoutMs: 5000,
    } as unknown as FaultContext,
    requests: () => requested,
  };
}

describe("a hand-over in a cluster", () => {
  it("is requested once where the replica takes over at once", async () => {
    const { context, requests } = fakeContext(["OK"]);
    await handOver("a", context);
    expect(requests()).toBe(1);
  });

  it("is requested again where the replica's link was down", async () => {
    const { context, requests } = fakeContext([
      new Error("ERR Master is down or failed, please use CLUSTER FAILOVER FORCE"),
      new Error("ERR Master is down or failed, please use CLUSTER FAILOVER FORCE"),
      "OK",
    ]);
    await handOver("a", context);
    expect(requests()).toBe(3);
  });

  it("is requested again where the replica gives up without an error", async () => {
    const { context, requests } = fakeContext(["OK", "OK"]);
    await handOver("a", { ...context, timeoutMs: 15_000 });
    expect(requests()).toBe(2);
  }, 20_000);

  it("fails with the replica's error where it refuses for another reason", async () => {
    await expect(
      handOver("a", fakeContext([new Error("ERR This instance has cluster support disabled"), "OK"]).context),
    ).rejects.toThrow("b: ERR This instance has cluster support disabled");
  });
});
