import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { breakStack } from "../../../cli/commands/break";
import { nameOf, thrownProblems } from "../../support/problems";
import { parseConfig } from "../../../stacks/config/parse";
import { describeScenarioRuns, planScenarioRuns, plannedScenario } from "../../../stacks/plan/scenario-runs";
import { ROOT } from "../../../lib/system/package";
import { RECOVERY_SECONDS } from "../../../stacks/plan/duration";
import { planStack } from "../../../stacks/plan/stack-plan";
import { hostPlans } from "../../../stacks/plan/benchmark-plans";
import type { HostConfig } from "../../../stacks/config/schema/platform";
import { DEFAULT_SCENARIOS } from "../../../stacks/config/schema/failures";
import { readStackFile, stackNames } from "../../../stacks/config/sections/stack-file";
import { STACKS_DIRECTORY } from "../../../stacks/config/sections/paths";

const MACHINE = { cores: 4, memoryBytes: 16 * 2 ** 30 };
const stack = (failures: unknown): Record<string, unknown> => ({
  platform: { type: "host", zones: ["zone-a", "zone-b"] },
  deployments: {
    r: { mode: "replication", replicas: 1 },
    c: { mode: "cluster", primaries: 3, settings: { appendonly: true } },
  },
  failures,
});
const problems = (failures: unknown, changes: Record<string, unknown> = {}): readonly string[] =>
  thrownProblems(() => parseConfig("stack x", { ...stack(failures), ...changes }, MACHINE)).map(nameOf);
const paired = (failures: unknown): ReturnType<typeof planScenarioRuns> => {
  const config = parseConfig("stack x", stack(failures), MACHINE);
  return planScenarioRuns(
    Object.entries(config.failures).map(([name, failure]) => plannedScenario(name, failure)),
    hostPlans(config.platform as HostConfig, config).map((plan) => ({ ...plan, machines: "one" as const })),
    ({ fault }) => (fault.kind === "cut-zone" ? "needs root" : undefined),
  );
};

describe("the section failures", () => {
  it("names zones as machines carry them", () => {
    const eks = { platform: { type: "eks" }, deployments: { c: { mode: "cluster", primaries: 3 } } };
    expect(problems({ x: { fault: "cut-zone", zone: "us-west-2b" } }, eks)).toEqual([]);
  });

  it("is paired with every deployment that can suffer it, and says why another cannot", () => {
    const lines = describeScenarioRuns(
      paired({
        all: { fault: "kill-primaries", share: 0.67, repeats: 3 },
        cut: { fault: "cut-zone", deployments: ["c"] },
        full: { fault: "full-disk" },
      }),
    );
    expect(lines.filter((line) => !line.startsWith("  "))).toEqual([
      "all on r: SIGKILL of 67 % of the primaries at once, 3 times: skipped: replication has one primary: use kill-primary",
      "all on c: SIGKILL of 67 % of the primaries at once, 3 times",
      "cut on c: a zone cut off from the other zones for 10 s: skipped: needs root",
      "full on r: the disk of a primary full for 5 s: skipped: nothing is written to disk: full-disk needs appendonly: true",
      "full on c: the disk of a primary full for 5 s",
    ]);
  });

  it("takes the times of the scenarios and an allowance for each recovery, and none where it is skipped", () => {
    const scenariosIn = (failures: unknown, changes: Record<string, unknown> = {}): object | undefined =>
      planStack("x", parseConfig("stack x", { ...stack(failures), ...changes }, MACHINE)).duration.parts.find(
        ({ what }) => what.includes("scenario"),
      );
    const kill = { fault: "kill-primary", before: 5, after: 3 };
    expect(scenariosIn({ kill })).toEqual({ what: "2 fault scenarios", seconds: 2 * (5 + RECOVERY_SECONDS.host + 3) });
    const freeze = { fault: "freeze-primary", seconds: 7, repeats: 4, deployments: ["c"] };
    expect(scenariosIn({ freeze })).toMatchObject({ seconds: 4 * (2 + 7 + RECOVERY_SECONDS.host + 2) });
    const restart = { ...kill, restart: 9, recoveryTimeout: 10, deployments: ["r"] };
    expect(scenariosIn({ restart })).toEqual({ what: "1 fault scenario", seconds: 5 + 9 + 10 + 3 });
    expect(scenariosIn({ full: { fault: "full-disk", deployments: ["r"] } })).toBeUndefined();
    expect(scenariosIn({ kill }, { benchmark: {} })).toBeUndefined();
  });

  it("has the allowance for a recovery in the documentation", () => {
    const { host, kubernetes } = RECOVERY_SECONDS;
    const text = readFileSync(join(ROOT, "docs", "faults.md"), "utf8");
    expect(text).toContain(`${host} s for each recovery (${kubernetes} s in pods)`);
  });

  it("names what a scenario sets for itself", () => {
    const [pairing] = paired({
      x: { fault: "kill-all", settings: { appendonly: true, "min-replicas-to-write": 1 }, waitFor: 1 },
    });
    expect([...(pairing?.planned.scenario.settings ?? [])]).toEqual([
      ["appendonly", "yes"],
      ["min-replicas-to-write", "1"],
    ]);
    expect(pairing?.planned.scenario.load.acknowledgement).toEqual({ replicas: 1, timeoutMs: 1000 });
    expect(pairing?.lines.join()).not.toContain("nothing is stored on disk");
  });

  it("is refused with what is there when a scenario or a figure on the command line is wrong", async () => {
    const refusal = async (options: Readonly<Record<string, unknown>>): Promise<unknown> =>
      breakStack("failures", { plan: true, ...options }, new AbortController().signal).catch((error: unknown) => error);
    expect(String(await refusal({ scenario: ["kill-primray"] }))).toMatch(
      /no scenario kill-primray; did you mean kill-primary\?/,
    );
    const printed = vi.spyOn(process.stdout, "write").mockReturnValue(true);
    expect(await refusal({ scenario: ["kill-majority"] })).toBe(0);
    expect(printed.mock.calls.join("")).toMatch(
      /kill-majority on cluster: SIGKILL of 67 %[^]*SIGKILL cluster-0, cluster-1[^]*no majority is left/,
    );
    printed.mockRestore();
    expect(String(await refusal({ rate: "fast" }))).toMatch(
      /failures\.kill-primary\.rate is "fast": expected a whole number from 1 to 100000/,
    );
  });

  it("has defaults that every stack file of the host can be broken with", () => {
    expect(problems(DEFAULT_SCENARIOS)).toEqual([]);
    expect(stackNames(STACKS_DIRECTORY)).toContain("failures");
    expect(
      Object.keys(parseConfig("failures", readStackFile(STACKS_DIRECTORY, "failures"), MACHINE).failures).length,
    ).toBeGreaterThan(8);
  });
});
