import { describe, expect, it } from "vitest";
import { datedVerdictLines, oldVerdictLines } from "../../../stacks/program/program";
import { recordAt, results } from "../../support/benchmarks/records";

const { topologies } = results([recordAt("cluster", 1, 200_000), recordAt("replication", 1, 100_000)]);
const at = (minute: number): string => `2026-07-20T10:0${minute}:00.000Z`;
const verdicts = topologies.map((topology, index) => ({ topology, verifiedAt: at(index) }));

describe("verdicts of an update", () => {
  it("have the time at which each deployment was verified", () => {
    const lines = datedVerdictLines(verdicts);
    expect(lines[0]).toMatch(/^VERIFY .*: PASS — all \d+ assertions hold; verified at \S+\.$/);
    expect(lines.map((line) => line.split("; verified at ")[1])).toEqual([`${at(0)}.`, `${at(1)}.`]);
  });

  it("name the deployments that only an earlier update verified", () => {
    const [first, second] = topologies.map(({ deployment }) => deployment);
    expect(oldVerdictLines(verdicts, at(0))).toEqual([]);
    expect(oldVerdictLines(verdicts, at(1))[0]).toContain(`Not verified by this update: ${first ?? ""}.`);
    expect(oldVerdictLines(verdicts, at(2))[0]).toContain(`${first ?? ""}, ${second ?? ""}`);
  });
});
