/** `npm start -- break` as a user runs it: its output, and what remains when it is stopped or killed halfway. */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { identifyProcess } from "../../../lib/system/process-identity";
import { unmetPartitionPrecondition, unmetDiskPrecondition } from "../../../platforms/host/side-effects";
import { RunDirectory, stopAbandonedRuns } from "../../../platforms/host/run-directory";
import { resultsSchema, type Results } from "../../../benchmarks/results/schema";
import { Place } from "../../support/command";
import { eventually } from "../../support/valkey/real";

const obstacle = unmetPartitionPrecondition() ?? unmetDiskPrecondition();

const places: Place[] = [];
afterEach(() => Promise.all(places.splice(0).map((place) => place.close())));
const newPlace = (): Place => {
  const place = new Place();
  places.push(place);
  return place;
};

const results = (place: Place): Results =>
  resultsSchema.parse(JSON.parse(readFileSync(join(place.output(), "results.json"), "utf8")));
const allRules = (): string[] => execFileSync("iptables", ["-w", "5", "-S", "INPUT"], { encoding: "utf8" }).split("\n");
const rulesOf = (place: Place): string[] =>
  RunDirectory.list(place.runs).flatMap(({ path }) =>
    allRules().filter((line) => line.includes(`valkey-measured ${basename(path)}`)),
  );
const mounts = (place: Place): string[] =>
  readFileSync("/proc/self/mounts", "utf8")
    .split("\n")
    .filter((line) => line.includes(place.directory));

describe("npm start -- break", () => {
  it("injects a fault, accounts for writes, writes every output, and leaves nothing behind", async () => {
    const place = newPlace();
    const { status, output } = await place.run([
      ..."break --scenario kill-zone --rate 300 --output".split(" "),
      place.output(),
    ]);
    expect(status, output).toBe(0);
    expect(output).toMatch(/kill-zone +cluster +\d+\.\d\d s/);
    const { scenarios, topologies, complete } = results(place);
    expect(complete).toBe(true);
    expect(topologies).toHaveLength(1);
    expect(scenarios.map(({ scenario, deployment }) => `${scenario} ${deployment}`)).toEqual(["kill-zone cluster"]);
    expect(scenarios[0]?.victims).toHaveLength(2);
    const page = readFileSync(join(place.output(), "report.html"), "utf8");
    expect(page).toContain("Faults");
    expect(page).toContain('id="failure-kill-zone-cluster-1"');
    expect(readFileSync(join(place.output(), "summary.txt"), "utf8")).toContain("=== Faults ===");
    expect(place.living()).toEqual([]);
    expect(readdirSync(place.runs)).toEqual([]);
  });

  // In parallel: both wait more than they work.
  it.skipIf(obstacle !== undefined)(
    `stopped halfway heals every fault and stops every server; killed halfway leaves cuts, disks and paused processes that the next command removes${obstacle === undefined ? "" : ` (skipped: ${obstacle})`}`,
    async () => {
      await Promise.all([stoppedHalfway(newPlace()), killedHalfway(newPlace())]);
    },
  );
});

async function stoppedHalfway(place: Place): Promise<void> {
  const command = await place.start(["break", "--scenario", "cut-zone", "--rate", "300", "--output", place.output()]);
  await eventually("a zone is cut off", () => rulesOf(place).length > 0, 60_000);
  const [run = ""] = readdirSync(place.runs);
  command.child.kill("SIGINT");
  const { status, output } = await command.ended;
  expect(status, output).toBe(130);
  expect(allRules().join("\n")).not.toContain(run);
  expect(place.living()).toEqual([]);
  expect(readdirSync(place.runs)).toEqual([]);
  expect(results(place)).toMatchObject({ complete: false, reason: "stopped by SIGINT", scenarios: [] });
}

async function killedHalfway(place: Place): Promise<void> {
  // With full-disk among the scenarios, every server of the cluster has a disk of its own.
  const command = await place.start([
    ..."break --scenario cut-zone,full-disk --rate 300 --output".split(" "),
    place.output(),
  ]);
  await eventually("a zone is cut off", () => rulesOf(place).length > 0, 60_000);
  const [frozen = 0] = place.living();
  process.kill(frozen, "SIGSTOP");
  command.child.kill("SIGKILL");
  expect((await command.ended).status).toBe(137);
  expect(rulesOf(place).length).toBeGreaterThan(0);
  expect(mounts(place).length).toBeGreaterThan(0);
  const [run = ""] = readdirSync(place.runs);
  expect(await stopAbandonedRuns(place.runs)).toBeGreaterThan(0);
  expect(allRules().join("\n")).not.toContain(run);
  expect(mounts(place)).toEqual([]);
  expect(place.living()).toEqual([]);
  expect(identifyProcess(frozen)).toBeUndefined();
  expect(readdirSync(place.runs)).toEqual([]);
}
