/** `npm start -- break` as a user has it: what it writes, and what is left when it is stopped or killed half way. */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { identify } from "../../benchmarks/host/process-identity";
import { obstacleToCuts, obstacleToDisks } from "../../benchmarks/host/scars";
import { stopAbandonedRuns } from "../../benchmarks/host/run-directory";
import { resultsSchema } from "../../benchmarks/results/schema";
import type { Results } from "../../benchmarks/results/schema";
import { Place } from "../support/command";
import { eventually } from "../support/real";

const obstacle = obstacleToCuts() ?? obstacleToDisks();

let place: Place;
beforeEach(() => { place = new Place(); });
afterEach(() => place.close());

const results = (): Results => resultsSchema.parse(JSON.parse(readFileSync(join(place.output(), "results.json"), "utf8")));
const rules = (): string[] => {
  const [run = "no run"] = existsSync(place.runs) ? readdirSync(place.runs) : [];
  return execFileSync("iptables", ["-w", "5", "-S", "INPUT"], { encoding: "utf8" }).split("\n").filter((line) => line.includes(`valkey-measured ${run}`));
};
const mounts = (): string[] => readFileSync("/proc/self/mounts", "utf8").split("\n").filter((line) => line.includes(place.directory));

describe("npm start -- break", () => {
  it("breaks, accounts, writes everything, and leaves nothing", async () => {
    const { status, output } = await place.run(["break", "--scenario", "kill-primary", "--rate", "300", "--output", place.output()]);
    expect(status, output).toBe(0);
    expect(output).toMatch(/kill-primary +cluster +\d+\.\d\d s/);
    const { failures, topologies, complete } = results();
    expect(complete).toBe(true);
    expect(topologies).toHaveLength(2);
    expect(failures.map(({ scenario, deployment }) => `${scenario} ${deployment}`)).toEqual(["kill-primary replication", "kill-primary cluster"]);
    const page = readFileSync(join(place.output(), "report.html"), "utf8");
    expect(page).toContain("Broken on purpose");
    expect(page).toContain('id="failure-kill-primary-cluster-1"');
    expect(readFileSync(join(place.output(), "summary.txt"), "utf8")).toContain("=== Broken on purpose ===");
    expect(place.living()).toEqual([]);
    expect(readdirSync(place.runs)).toEqual([]);
  });

  it("says what it would do, and what is wrong, without starting anything", async () => {
    const plan = await place.run(["break", "--plan", "--scenario", "kill-majority"]);
    expect(plan.status, plan.output).toBe(0);
    expect(plan.output).toMatch(/kill-majority on cluster: SIGKILL of 67 %[^]*SIGKILL cluster-0, cluster-1[^]*no majority is left/);
    const unknown = await place.run(["break", "--scenario", "kill-primray"]);
    expect(unknown.status).toBe(2);
    expect(unknown.output).toMatch(/none named kill-primray; did you mean kill-primary\?/);
    const wrong = await place.run(["break", "--rate", "fast"]);
    expect(wrong.status).toBe(2);
    expect(wrong.output).toMatch(/failures\.kill-primary\.rate is "fast": expected a number/);
    expect(existsSync(place.runs)).toBe(false);
  });

  it.skipIf(obstacle !== undefined)(`heals and stops everything when it is told to stop while a zone is cut off${obstacle === undefined ? "" : ` (skipped: ${obstacle})`}`, async () => {
    const command = await place.start(["break", "--scenario", "cut-zone", "--rate", "300", "--output", place.output()]);
    await eventually("a zone is cut off", () => rules().length > 0, 60_000);
    const [run = ""] = readdirSync(place.runs);
    command.child.kill("SIGINT");
    const { status, output } = await command.ended;
    expect(status, output).toBe(130);
    expect(execFileSync("iptables", ["-w", "5", "-S", "INPUT"], { encoding: "utf8" })).not.toContain(run);
    expect(place.living()).toEqual([]);
    expect(readdirSync(place.runs)).toEqual([]);
    expect(results()).toMatchObject({ complete: false, reason: "stopped by SIGINT", failures: [] });
  });

  it.skipIf(obstacle !== undefined)(`killed half way leaves what the next command takes away: cut networks, full disks, frozen processes${obstacle === undefined ? "" : ` (skipped: ${obstacle})`}`, async () => {
    // With full-disk among the scenarios, every server of the cluster has a disk of its own.
    const command = await place.start(["break", "--scenario", "cut-zone,full-disk", "--rate", "300", "--output", place.output()]);
    await eventually("a zone is cut off", () => rules().length > 0, 60_000);
    const [frozen = 0] = place.living();
    process.kill(frozen, "SIGSTOP");
    command.child.kill("SIGKILL");
    expect((await command.ended).status).toBe(137);
    expect(rules().length).toBeGreaterThan(0);
    expect(mounts().length).toBeGreaterThan(0);
    const [run = ""] = readdirSync(place.runs);
    expect(await stopAbandonedRuns(place.runs)).toBeGreaterThan(0);
    expect(execFileSync("iptables", ["-w", "5", "-S", "INPUT"], { encoding: "utf8" })).not.toContain(run);
    expect(mounts()).toEqual([]);
    expect(place.living()).toEqual([]);
    expect(identify(frozen)).toBeUndefined();
    expect(readdirSync(place.runs)).toEqual([]);
  });
});
