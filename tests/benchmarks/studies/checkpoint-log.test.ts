import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { BadInput } from "../../../lib/errors";
import type { StudyLogHeader, StudyCheckpointLog } from "../../../benchmarks/studies/checkpoint-log";
import { STUDY_CHECKPOINT_FILE, studyCheckpointLogs } from "../../../benchmarks/studies/checkpoint-log";
import { fingerprint } from "../../../benchmarks/studies/study";
import { referenceLoadEntry, treatmentEntry, study } from "../../support/benchmarks/study";
import { useDirectory } from "../../support/directory";

const HEADER: StudyLogHeader = {
  kind: "study",
  name: "test",
  fingerprint: "abc",
  seed: 7,
  timestamp: "20261121-090000",
  machine: "here",
};
const STUDY = study({ "io-threads": [1, 2] });

const directory = useDirectory();

const file = (): string => join(directory.path, STUDY_CHECKPOINT_FILE);

function written(): StudyCheckpointLog {
  const log = studyCheckpointLogs.create(directory.path, HEADER);
  log.add(referenceLoadEntry(1, 1));
  for (const treatment of STUDY.treatments) log.add(treatmentEntry(treatment, 1, 1000));
  return log;
}

describe("a checkpoint log", () => {
  it("returns its entries, one per line", () => {
    const log = written();
    const lines = readFileSync(file(), "utf8").trimEnd().split("\n");
    expect(lines).toHaveLength(4);
    log.close();
    const resumed = studyCheckpointLogs.resume(directory.path);
    expect(resumed.header).toEqual(HEADER);
    expect(resumed.entries).toEqual(log.entries);
    resumed.add(referenceLoadEntry(2, 1));
    resumed.close();
    expect(studyCheckpointLogs.parse(readFileSync(file(), "utf8"), "log").entries).toHaveLength(4);
  });

  it("drops an unfinished last line of any length", () => {
    written().close();
    const whole = readFileSync(file());
    const line = Buffer.from(`${JSON.stringify(referenceLoadEntry(2, 1, 12_345))}\n`);
    for (const length of [1, 2, 17, line.length - 1]) {
      writeFileSync(file(), Buffer.concat([whole, line.subarray(0, length)]));
      const resumed = studyCheckpointLogs.resume(directory.path);
      expect(resumed.entries).toHaveLength(3);
      resumed.add(referenceLoadEntry(2, 2));
      resumed.close();
      expect(studyCheckpointLogs.parse(readFileSync(file(), "utf8"), "log").entries.at(-1)).toEqual(
        referenceLoadEntry(2, 2),
      );
    }
  });

  it("is not resumed with a broken line", () => {
    written().close();
    appendFileSync(file(), '{"kind":"treatment"}\n');
    expect(() => studyCheckpointLogs.resume(directory.path)).toThrow(/line 5 /);
    // The lock is released.
    writeFileSync(file(), `${JSON.stringify(HEADER)}\n`);
    studyCheckpointLogs.resume(directory.path).close();
  });

  it("is locked by one process at a time", () => {
    const log = written();
    expect(() => studyCheckpointLogs.resume(directory.path)).toThrow(/another process is writing/);
    log.close();
    writeFileSync(join(directory.path, ".run.lock.1"), JSON.stringify({ pid: 999_999_999, started: "long ago" }));
    studyCheckpointLogs.resume(directory.path).close();
  });

  it("must exist to be resumed, and must not exist to be created", () => {
    expect(() => studyCheckpointLogs.resume(directory.path)).toThrow(BadInput);
    written().close();
    expect(() => studyCheckpointLogs.create(directory.path, HEADER)).toThrow(/holds a study already/);
  });

  it("is found by its header: the latest that matches", () => {
    const begin = (place: string, changes: Partial<StudyLogHeader>): void => {
      studyCheckpointLogs.create(join(directory.path, place), { ...HEADER, ...changes }).close();
    };
    begin("b", { timestamp: "20261121-100000" });
    begin("a", { timestamp: "20261121-110000" });
    begin("c", { timestamp: "20261121-120000", name: "other" });
    mkdirSync(join(directory.path, "d"));
    writeFileSync(join(directory.path, "d", STUDY_CHECKPOINT_FILE), "{}\n");
    expect(studyCheckpointLogs.latest(directory.path, ({ name }) => name === "test")).toBe(join(directory.path, "a"));
    expect(studyCheckpointLogs.latest(directory.path, ({ name }) => name === "none")).toBeUndefined();
    expect(studyCheckpointLogs.latest(join(directory.path, "nowhere"), () => true)).toBeUndefined();
  });
});

describe("a study's fingerprint", () => {
  it("changes with what is measured, not with precision, budget or seed", () => {
    const changed = (changes: Parameters<typeof study>[1]): string => fingerprint({ ...STUDY, ...changes });
    expect(changed({ seed: 8, budget: 5, precision: 0.2, name: "other" })).toBe(fingerprint(STUDY));
    expect(changed({ treatments: study({ "io-threads": [1, 3] }).treatments })).not.toBe(fingerprint(STUDY));
    expect(changed({ tableGrowth: { keys: 1, dataSize: 1 } })).not.toBe(fingerprint(STUDY));
    expect(fingerprint(JSON.parse(JSON.stringify(STUDY)) as typeof STUDY)).toBe(fingerprint(STUDY));
  });
});
