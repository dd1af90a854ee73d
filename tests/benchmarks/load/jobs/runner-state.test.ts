import type { V1Pod } from "@kubernetes/client-node";
import { describe, expect, it } from "vitest";
import { LoadGeneratorFailure } from "../../../../benchmarks/load/load-driver";
import type { Plain } from "../../../../platforms/kubernetes/api/plain";
import { assertRunnersWork } from "../../../../benchmarks/load/jobs/job-run";
import { expectReviewed } from "../../../support/reviewed";

type Pod = Plain<V1Pod>;

function pod(index: number, status: Pod["status"] = { phase: "Running" }, deleted = false): Pod {
  return {
    metadata: {
      name: `bench-${index}`,
      annotations: { "batch.kubernetes.io/job-completion-index": String(index) },
      ...(deleted && { deletionTimestamp: new Date() }),
    },
    spec: { containers: [], nodeName: `spot-${index}` },
    status,
  };
}
const ended = (exitCode: number, message?: string): Pod["status"] => ({
  phase: "Failed",
  containerStatuses: [
    {
      name: "runner",
      image: "",
      imageID: "",
      ready: false,
      restartCount: 0,
      state: { terminated: { exitCode, ...(message !== undefined && { message }) } },
    },
  ],
});
const evicted = (status: Pod["status"] = ended(137)): Pod["status"] => ({
  ...status,
  conditions: [
    { type: "DisruptionTarget", status: "True", reason: "EvictionByEvictionAPI", message: "Eviction API: evicting" },
  ],
});

function problem(pods: readonly Pod[], runners?: number): LoadGeneratorFailure | undefined {
  try {
    assertRunnersWork(pods, runners);
    return undefined;
  } catch (error) {
    if (error instanceof LoadGeneratorFailure) return error;
    throw error;
  }
}

describe("runners", () => {
  it("work while all of them run, or have ended well", () => {
    expect(problem([pod(0), pod(1)], 2)).toBeUndefined();
    expect(problem([pod(0, { phase: "Succeeded" }), pod(1)], 2)).toBeUndefined();
  });

  it("may still be made before all have arrived", () => {
    expect(problem([])).toBeUndefined();
    expect(problem([pod(1)])).toBeUndefined();
  });

  it("are interrupted where one is taken or gone", async () => {
    const taken: Readonly<Record<string, Pod[]>> = {
      evicted: [pod(0), pod(1, evicted(), true)],
      "evicted, before it ends": [pod(0), pod(1, evicted({ phase: "Running" }))],
      "gone with its machine": [pod(0)],
      deleted: [pod(0), pod(1, ended(137), true)],
    };
    const found = Object.entries(taken).map(([how, pods]) => {
      const failure = problem(pods, 2);
      expect(failure?.interrupted, how).toBe(true);
      return [how, failure?.message] as const;
    });
    await expectReviewed("benchmarks/interruptions", "Runners that are interrupted.", found);
  });

  it("name the one that was taken first, not those that the end of the Job deletes", () => {
    const found = problem([pod(0, ended(137), true), pod(1, evicted(), true), pod(2, ended(137), true)], 3);
    expect(found?.message).toMatch(/^runner 1 on spot-1/);
    expect(found?.output.split("\n")).toHaveLength(3);
  });

  it("fail where a load generator fails, which no interruption hides", () => {
    const found = problem([pod(0, ended(1, "no route")), pod(1, ended(137), true), pod(2, ended(2))], 4);
    expect(found?.message).toBe(
      "runner 0 on spot-0 (bench-0) failed: exit status 1, no route, and 1 more runners failed",
    );
    expect(found?.interrupted).toBe(false);
  });
});
