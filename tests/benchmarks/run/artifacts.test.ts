import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { BadInput, Failure } from "../../../lib/errors";
import { ARTIFACT_NAMES, Artifacts, timestampOf } from "../../../benchmarks/run/artifacts";
import { ResultsCollector } from "../../../benchmarks/run/collector";
import { resultsSchema } from "../../../benchmarks/results/schema";
import { judgeFacts } from "../../../valkey/verification/verify";
import { clusterFacts } from "../../support/valkey/facts";
import { capacityRecord, recordAt, results } from "../../support/benchmarks/records";
import { useDirectory } from "../../support/directory";

const directory = useDirectory();

const open = (output?: string): Artifacts => Artifacts.open(directory.path, "20261121-090000", output, () => "<html>");

describe("the directory of results", () => {
  it("has the time as its name, with a number for a run of the same second", () => {
    expect(timestampOf(new Date("2026-11-21T09:00:07.123Z"))).toBe("20261121-090007");
    expect(open().directory).toBe(join(directory.path, "results", "20261121-090000"));
    expect(open().directory).toBe(join(directory.path, "results", "20261121-090000-2"));
  });

  it("holds complete files only", () => {
    const artifacts = open();
    artifacts.writeAll(results([recordAt("cluster", 1, 5)]), "raw\n");
    artifacts.release();
    expect(readdirSync(artifacts.directory).sort()).toEqual([...ARTIFACT_NAMES].sort());
    expect(readFileSync(artifacts.path("raw.txt"), "utf8")).toBe("raw\n");
  });

  it("is removed when it stays empty", () => {
    const artifacts = open();
    artifacts.release();
    expect(readdirSync(join(directory.path, "results"))).toEqual([]);
  });

  it.each<[string, (path: string) => void, RegExp]>([
    [
      "holds other results",
      (path) => {
        mkdirSync(path);
        writeFileSync(join(path, "results.csv"), "theirs");
      },
      /holds results already \(results\.csv\)/,
    ],
    [
      "is a file",
      (path) => {
        writeFileSync(path, "");
      },
      /is not a directory; name a different directory with --output/,
    ],
  ])("is refused when it %s", (_what, make, message) => {
    const path = join(directory.path, "there");
    make(path);
    expect(() => open(path)).toThrow(message);
    expect(() => open(path)).toThrow(BadInput);
  });

  it("fails with one sentence when it disappears", () => {
    const artifacts = open();
    rmSync(artifacts.directory, { recursive: true });
    expect(() => {
      artifacts.writeProgress(results([]), "");
    }).toThrow(Failure);
  });
});

describe("the collector", () => {
  const facts = clusterFacts(3, 1);
  const verification = { facts, verdict: judgeFacts(facts) };
  const description = { timestamp: "20261121-090000", stack: "local", configuration: {} };

  it("writes each record at once, incomplete until the end", () => {
    const artifacts = open();
    const collector = new ResultsCollector(artifacts, description);
    collector.addTopology(verification, 12);
    const read = (): unknown => JSON.parse(readFileSync(artifacts.path("results.json"), "utf8"));
    collector.listener.raw("round 1", "as printed");
    collector.listener.record(recordAt("cluster", 1, 5));
    expect(resultsSchema.parse(read())).toMatchObject({
      complete: false,
      reason: "the run has not ended",
      records: [{ round: 1 }],
    });
    expect(readFileSync(artifacts.path("raw.txt"), "utf8")).toBe("### round 1\nas printed\n");
    collector.finish(null);
    expect(resultsSchema.parse(read())).toMatchObject({ complete: true, reason: null });
  });

  it("warns about the rounds beside a reference load that moved", () => {
    const collector = new ResultsCollector(open(), description);
    for (const [index, rps] of [100, 100, 50, 100].entries())
      collector.listener.referenceLoad({ round: index + 1, rps, startedAt: "2026-11-21T09:00:00.000Z" });
    for (const round of [1, 2, 3]) collector.listener.record(recordAt("cluster", round, 5));
    for (const round of [1, 3, null]) collector.addCapacity(capacityRecord({ round }));
    expect(collector.finish(null).capacities.map(({ warnings }) => warnings.map(({ code }) => code))).toEqual([
      [],
      ["reference-load-moved"],
      [],
    ]);
    expect(collector.finish(null).records.map(({ warnings }) => warnings.map(({ code }) => code))).toEqual([
      [],
      ["reference-load-moved"],
      ["reference-load-moved"],
    ]);
  });

  it("counts keys by the roles after the run", () => {
    const collector = new ResultsCollector(open(), description);
    collector.addTopology(verification, null);
    const [shard] = verification.verdict.shards;
    const swapped = verification.verdict.shards.map((each) =>
      each === shard ? { ...each, primary: each.replicas[0], replicas: [each.primary ?? ""] } : each,
    );
    collector.addAfterwards({ facts, verdict: { ...verification.verdict, shards: swapped } });
    const nodes = collector.finish(null).topologies[0]?.nodes ?? [];
    expect(nodes.find(({ name }) => name === shard?.replicas[0])).toMatchObject({ role: "primary", keysAfter: 10 });
    expect(nodes.find(({ name }) => name === shard?.primary)).toMatchObject({ role: "replica" });
  });
});
