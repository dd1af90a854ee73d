/** `npm start -- study` on real servers: killed in the middle, resumed, nothing lost, nothing left running. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { STUDY_CHECKPOINT_FILE as CHECKPOINTS, studyCheckpointLogs } from "../../../benchmarks/studies/checkpoint-log";
import { memoryRunsDirectory } from "../../../lib/system/paths";
import { runningProcesses, RunDirectory, stopRun } from "../../../platforms/host/run-directory";
import { resultsIn } from "../../support/command";
import { usePlace } from "../../support/valkey/hooks";
import { eventually } from "../../support/valkey/real";

const place = usePlace();
let memory: string;
beforeEach(() => {
  memory = memoryRunsDirectory({ VALKEY_MEASURED_CACHE: place.directory }) ?? place.runs;
});
afterEach(async () => {
  for (const { path } of RunDirectory.list(memory)) await stopRun(path);
  if (memory !== place.runs) rmSync(memory, { recursive: true, force: true });
});

const living = (): number[] =>
  RunDirectory.list(memory).flatMap(({ path }) => runningProcesses(path).map(({ pid }) => pid));
const args = (...more: string[]): string[] => [
  ..."study io-threads --tests get --duration 1 --warmup 0 --output".split(" "),
  place.output(),
  ...more,
];
const linesOf = (): string[] =>
  existsSync(join(place.output(), CHECKPOINTS))
    ? readFileSync(join(place.output(), CHECKPOINTS), "utf8").split("\n").slice(0, -1)
    : [];

describe("npm start -- study", () => {
  it("keeps every finished step when it is killed and resumed, in the order of its seed", async () => {
    const killed = await place.start(args("--budget", "1", "--seed", "42"));
    await eventually(
      "the log has two measurements, and a third is running",
      () => linesOf().length >= 3 && living().length > 0,
      60_000,
    );
    killed.child.kill("SIGKILL");
    await killed.ended;
    const before = linesOf();
    expect(living().length).toBeGreaterThan(0);

    const other = await place.call(args("--budget", "1", "--resume", "--seed", "43"));
    expect(other.status, other.output).toBe(2);
    expect(other.output).toContain("the study began with the seed 42, not 43");
    expect(linesOf()).toEqual(before);
    const { status, output } = await place.run(args("--budget", "1", "--resume"));
    expect(status, output).toBe(0);
    expect(output).toContain("Study io-threads: 1 round of 4 treatments");
    expect(linesOf().slice(0, before.length)).toEqual(before);
    const { header, entries } = studyCheckpointLogs.parse(
      readFileSync(join(place.output(), CHECKPOINTS), "utf8"),
      CHECKPOINTS,
    );
    expect(header.seed).toBe(42);
    expect(entries.filter(({ kind }) => kind === "treatment")).toHaveLength(4);
    expect(entries.filter(({ kind }) => kind === "reference-load")).toHaveLength(2);
    expect(entries.filter(({ kind }) => kind === "interleaved")).toHaveLength(3);
    const results = resultsIn(place.output());
    expect(results.study?.interleaved.map(({ base, other }) => `${other} / ${base}`).sort()).toEqual(
      [2, 3, 4].map((threads) => `io-threads-${threads} / io-threads-1`),
    );
    expect(results.records.map(({ deployment }) => deployment).sort()).toEqual(
      [1, 2, 3, 4].map((threads) => `io-threads-${threads}`),
    );
    expect(results.topologies.map(({ settings }) => settings["io-threads"])).toEqual(["1", "2", "3", "4"]);
    for (const { servers } of results.records) expect(servers?.hitRatio).toBe(1);
    // raw.txt has the output of every measurement, also of those before the kill.
    expect(
      readFileSync(join(place.output(), "raw.txt"), "utf8").match(/^### round 1, .*GET on io-threads-\d/gm)?.length,
    ).toBeGreaterThanOrEqual(4);
    expect(living()).toEqual([]);
    if (memory !== place.runs) expect(existsSync(memory)).toBe(false);

    // With another version than at the start, nothing is measured and the files stay unchanged.
    const written = readFileSync(join(place.output(), "results.json"), "utf8");
    const log = join(place.output(), CHECKPOINTS);
    writeFileSync(log, readFileSync(log, "utf8").replaceAll(/"versions":\{"":"[\d.]+"\}/g, '"versions":{"":"7.2.4"}'));
    const changed = await place.call(args("--budget", "99", "--resume"));
    expect(changed.status, changed.output).toBe(2);
    expect(changed.output).toMatch(/the study began with Valkey 7\.2\.4, and now finds [\d.]+/);
    expect(changed.output).not.toContain("To continue");
    expect(readFileSync(join(place.output(), "results.json"), "utf8")).toBe(written);
  });

  it("refuses a directory without a log, an unknown study, and a stack without one", async () => {
    mkdirSync(place.output());
    const nothing = await place.call(args("--resume"));
    expect([nothing.status, nothing.output]).toEqual([2, expect.stringContaining("holds no checkpoints.jsonl")]);
    const unknown = await place.call(["study", "densty"]);
    expect([unknown.status, unknown.output]).toEqual([
      2,
      expect.stringContaining(
        "densty; did you mean density? Studies: billion, density, engines, io-threads, topologies",
      ),
    ]);
    const plain = await place.call(["study", "local"]);
    expect([plain.status, plain.output]).toEqual([2, expect.stringContaining("has no section valkey:study")]);
  });
});
