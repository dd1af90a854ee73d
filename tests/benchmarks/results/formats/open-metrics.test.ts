import { describe, expect, it } from "vitest";
import { formatOpenMetrics } from "../../../../benchmarks/results/formats/open-metrics";
import { capacityRecord, recordAt, results, studyRecord } from "../../../support/benchmarks/records";
import { expectReviewed } from "../../../support/reviewed";

/** The lines of the format, by its ABNF: https://prometheus.io/docs/specs/om/open_metrics_spec/ */
const NAME = "[a-zA-Z_:][a-zA-Z0-9_:]*";
const LABEL = String.raw`[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"`;
const SAMPLE = new RegExp(
  String.raw`^(${NAME})\{(${LABEL}(?:,${LABEL})*)\} (-?\d+(?:\.\d+)?(?:e[+-]?\d+)?) (\d+(?:\.\d+)?)$`,
);
const META = new RegExp(`^# (TYPE|UNIT|HELP) (${NAME}) [^\\n]+$`);

describe("results as OpenMetrics", () => {
  const records = [1, 2, 3].flatMap((round) => [
    recordAt("replication", round, 100_000 + round),
    { ...recordAt("cluster", round, 200_000 + round), warnings: [{ code: "neighbour" as const, text: "others" }] },
  ]);
  const text = formatOpenMetrics(results(records, { capacities: [capacityRecord({ isOpenEnded: true })] }));

  it("have the figures of results.json, and no knee where there is none", async () => {
    expect(text).not.toContain("valkey_measured_knee_requests_per_second{");
    await expectReviewed("benchmarks/open-metrics", "Results as results.om.", { "results.om": lines });
  });

  const lines = text.split("\n");

  it("are lines of the format, families together, each sample once, dated, with an end", () => {
    expect(lines.slice(-2)).toEqual(["# EOF", ""]);
    const seen = new Set<string>();
    const families: string[] = [];
    for (const line of lines.slice(0, -2)) {
      if (line.startsWith("#")) {
        const meta = META.exec(line);
        expect(meta, line).not.toBeNull();
        if (meta?.[1] === "TYPE") families.push(meta[2] ?? "");
        if (meta?.[1] === "UNIT") expect(meta[2]).toMatch(new RegExp(`_${line.split(" ").at(-1) ?? ""}$`));
        continue;
      }
      const [, name = "", labels = "", , timestamp] = SAMPLE.exec(line) ?? [];
      expect(name, line).toBe(families.at(-1));
      expect(timestamp).toBe(String(Date.parse("2026-11-21T09:00:00Z") / 1000));
      expect(seen.has(name + labels), line).toBe(false);
      seen.add(name + labels);
    }
    expect(new Set(families).size).toBe(families.length);
  });

  it("have the reference load's range, and whether it moved", () => {
    const referenceLoads = (...rates: number[]): string =>
      formatOpenMetrics(
        results([], {
          referenceLoads: rates.map((rps, index) => ({ round: index + 1, rps, startedAt: "2026-11-21T09:00:00.000Z" })),
        }),
      );
    expect(referenceLoads(100, 105, 95)).toMatch(
      /of="least"\} 95 [^]*of="median"\} 100 [^]*of="most"\} 105 [^]*reference_load_moved\{stack="local"\} 0 /,
    );
    expect(referenceLoads(100, 100, 80)).toMatch(/reference_load_moved\{stack="local"\} 1 /);
  });

  it("say the same of the same things in the same series, whatever came of them", () => {
    const seriesOf = (changes: { verdict: "greater" | "less"; isOpenEnded: boolean; warnings: boolean }): string[] => {
      const records = [recordAt("cluster", 1, 1000), recordAt("cluster", 2, 1000)].map((each) => ({
        ...each,
        warnings: changes.warnings ? [{ code: "neighbour" as const, text: "others" }] : [],
      }));
      const lines = formatOpenMetrics(
        results(records, {
          study: studyRecord(changes.verdict),
          capacities: [
            capacityRecord({
              isOpenEnded: changes.isOpenEnded,
              warnings: changes.warnings ? [{ code: "generator-late", text: "late" }] : [],
            }),
          ],
        }),
      ).split("\n");
      return lines.flatMap((line) => (line.startsWith("#") ? [] : [line.replace(/\} .*/, "}")]));
    };
    expect(seriesOf({ verdict: "greater", isOpenEnded: true, warnings: true })).toEqual(
      seriesOf({ verdict: "less", isOpenEnded: false, warnings: false }),
    );
    expect(
      seriesOf({ verdict: "less", isOpenEnded: true, warnings: true }).filter((line) =>
        line.includes("measured_ratio"),
      ),
    ).toHaveLength(7);
  });

  it("escape what names may hold", () => {
    expect(formatOpenMetrics(results([], { stack: 'a"b\\c\nd' }))).toContain('stack="a\\"b\\\\c\\nd"');
  });
});
