import { describe, expect, it } from "vitest";
import { renderReport } from "../../../benchmarks/report/page";
import { comparisonOf } from "../../../benchmarks/results/comparison";
import { formatCsv } from "../../../benchmarks/results/formats/csv";
import { type Results, resultsSchema } from "../../../benchmarks/results/schema";
import { formatSummary } from "../../../benchmarks/results/formats/summary";
import { recordAt, results } from "../../support/benchmarks/records";

/**
 * Three machines at $0.36 in all, 100,000/s: 360 million operations an hour, so a tenth of a cent for a million; 3 × 10
 * GiB are $262.80 a month.
 */
const priced = (): Results => {
  const plain = results([recordAt("cluster", 1, 100_000), recordAt("replication", 1, 100_000)]);
  const topologies = plain.topologies.map((each) => ({ ...each, settings: { maxmemory: String(10 * 2 ** 30) } }));
  return {
    ...plain,
    topologies,
    costs: [
      {
        deployment: "cluster",
        usdPerHour: 0.36,
        machines: [{ type: "r7g.large", count: 3 }],
        region: "us-west-2",
        date: "2026-07-20",
      },
    ],
  };
};

/** A page without the space around its tags. */
const flat = (page: string): string => page.replaceAll(/\s*([<>])\s*/g, "$1");

describe("results whose machines have prices", () => {
  it("say dollars per million operations and per GiB and month, of the deployments that are priced and no others", () => {
    const rows = formatCsv(priced())
      .trimEnd()
      .split("\n")
      .map((line) => line.split(","));
    const column = (name: string): (string | undefined)[] =>
      rows.slice(1).map((cells) => cells[rows[0]?.indexOf(name) ?? -1]);
    expect(column("mode")).toEqual(["replication", "cluster"]);
    expect(column("usd_per_million")).toEqual(["", "0.001000"]);
    expect(column("usd_per_gib_month")).toEqual(["", "8.760"]);
  });

  it("say so in the summary, in the report and in the outputs", () => {
    const summary = formatSummary(priced()).join("\n");
    expect(summary).toContain(
      "=== Cost of the servers ===\ncluster: $0.36 per hour: 3 × r7g.large, on-demand prices of us-west-2 on 2026-07-20\n  GET $0.0010 per million, $8.76 per GiB of maxmemory per month",
    );
    const page = flat(renderReport(priced()));
    expect(page).toContain("<th>a million GET</th><td>$0.0010</td>");
    expect(page).toContain("<th>a GiB of maxmemory, a month</th><td>$8.76</td>");
    expect(
      comparisonOf(priced())[0]?.rows.map(({ deployment, usdPerMillion, usdPerGibMonth }) => [
        deployment,
        usdPerMillion,
        usdPerGibMonth,
      ]),
    ).toEqual([
      ["replication", null, null],
      ["cluster", expect.closeTo(0.001), expect.closeTo(8.76)],
    ]);
    expect(resultsSchema.parse(JSON.parse(JSON.stringify(priced()))).costs).toHaveLength(1);
  });
});

describe("results without prices", () => {
  it("say nothing of cost, and invent nothing", () => {
    const plain = results([recordAt("cluster", 1, 100_000)]);
    expect(formatSummary(plain).join("\n")).not.toContain("Cost");
    expect(renderReport(plain)).not.toContain("Cost of the servers");
    expect(formatCsv(plain).split("\n")[1]).toMatch(/,,,$/);
  });

  it("take what a server's pod asks for where no maxmemory is set, and say which of the two it is", () => {
    const { topologies } = results([recordAt("cluster", 1, 100_000), recordAt("replication", 1, 100_000)]);
    const unlimited = {
      ...priced(),
      topologies: topologies.map((each) => ({ ...each, settings: { maxmemory: "0" } })),
      costs: (priced().costs ?? []).map((cost) => ({ ...cost, memoryBytes: 20 * 2 ** 30 })),
    };
    expect(formatSummary(unlimited).join("\n")).toContain("$4.38 per GiB of requested memory per month");
    expect(flat(renderReport(unlimited))).toContain("<th>a GiB of requested memory, a month</th><td>$4.38</td>");
    expect(comparisonOf(unlimited)[0]?.rows.map(({ usdPerGibMonth }) => usdPerGibMonth)).toEqual([
      null,
      expect.closeTo(4.38),
    ]);
    // A limit of the server's own goes first.
    expect(formatSummary({ ...unlimited, topologies: priced().topologies }).join("\n")).toContain(
      "$8.76 per GiB of maxmemory per month",
    );
  });

  it("say no price per GiB where neither maxmemory nor what pods ask for is known", () => {
    const { topologies } = results([]);
    expect(formatSummary({ ...priced(), topologies }).join("\n")).not.toContain("per GiB");
  });
});
