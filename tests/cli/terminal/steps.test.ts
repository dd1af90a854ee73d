import { describe, expect, it } from "vitest";
import { runSteps, StepFailure } from "../../../cli/terminal/steps";
import { captured } from "../../support/captured";

const outputOf = async (
  ...results: (() => string)[]
): Promise<{ readonly passed: boolean; readonly output: string }> => {
  let passed = false;
  const steps = results.map((run, index) => ({ title: `Step ${index}`, run: () => Promise.resolve().then(run) }));
  const { output } = await captured({ NO_COLOR: "1" }, async () => {
    passed = await runSteps(steps);
    return 0;
  });
  return { passed, output };
};

describe("steps of a command", () => {
  it("are ticked with their results", async () => {
    const { passed, output } = await outputOf(() => "Verified cluster: PASS");
    expect(passed).toBe(true);
    expect(output).toMatch(/✔ Verified cluster: PASS|COMPLETED.*Verified cluster: PASS/);
  });

  it("are never ticked when their result is a failure, and end the command's steps", async () => {
    const fail = (): string => {
      throw new StepFailure("VERIFY cluster: FAIL");
    };
    const { passed, output } = await outputOf(fail, () => "Measured");
    expect(passed).toBe(false);
    const line = output.split("\n").find((each) => each.includes("VERIFY cluster: FAIL"));
    expect(line).toMatch(/✖|FAILED/);
    expect(output).not.toMatch(/(✔|COMPLETED).*FAIL|Measured/);
  });

  it("throw any other error", async () => {
    const broken = (): string => {
      throw new Error("defect");
    };
    await expect(outputOf(broken)).rejects.toThrow("defect");
  });
});
