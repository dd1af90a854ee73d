import { describe, expect, it } from "vitest";
import { FILE_DESCRIPTORS } from "../../../platforms/eks/pools/tuning";
import { podTarget, runnerPlan } from "../../../stacks/plan/pod-settings";
import { configOf } from "../../support/stack-config";

describe("what a pool promises", () => {
  it("is in the reference of every deployment on EKS and in the plan of its load generators, and nowhere else", () => {
    for (const [stack, promises] of [
      ["density", true],
      ["billion", true],
      ["kind", false],
    ] as const) {
      const { platform, deployments } = configOf(stack);
      if (platform.type === "host") throw new Error(`${stack} has no pods`);
      for (const [name, deployment] of Object.entries(deployments)) {
        const { tuning } = podTarget(name, deployment, platform);
        expect(tuning?.openFiles, `${stack} ${name}`).toBe(promises ? FILE_DESCRIPTORS : undefined);
        if (promises) expect(tuning?.ownCpus, `${stack} ${name}`).toBeGreaterThan(0);
      }
      expect(runnerPlan(platform, 1, false).tuning?.openFiles).toBe(promises ? FILE_DESCRIPTORS : undefined);
    }
  });
});
