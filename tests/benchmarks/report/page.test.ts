import { describe, expect, it } from "vitest";
import { escapeHtml, html } from "../../../benchmarks/report/html";
import { renderReport } from "../../../benchmarks/report/page";
import { formatSummary } from "../../../benchmarks/results/formats/summary";
import { recordAt, results } from "../../support/benchmarks/records";

const records = [1, 2, 3].flatMap((round) => [
  recordAt("replication", round, 100_000 + round),
  recordAt("cluster", round, 200_000 + round, 0.5),
]);

describe("html", () => {
  it("escapes inserted text and nothing else", () => {
    expect(html`<p title="${'"'}">${"<&>"}${html`<b>${1}</b>`}${undefined}${["a", html`<i></i>`]}</p>`.text).toBe(
      '<p title="&#34;">&#60;&#38;&#62;<b>1</b>a<i></i></p>',
    );
    expect(escapeHtml("it's")).toBe("it&#39;s");
  });
});

describe("report.html", () => {
  const page = renderReport(results(records));

  it("is one file without script, link, image or font", () => {
    expect(page.match(/<script|<link|<img|@import|url\((?!#)|src=|https?:\/\/(?!www\.w3\.org)/g)).toBeNull();
  });

  it("has every chart wide and narrow, with unique ids", () => {
    for (const id of ["throughput", "latency-get", "shares-cluster"]) expect(page).toContain(`<figure id="${id}">`);
    expect(page.match(/<svg /g)).toHaveLength(6);
    const ids = [...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("shows the results with their intervals", () => {
    expect(page).toContain("<b>100,002</b>/s");
    expect(page).toContain("100,001 … 100,003");
    expect(page).toContain("<b>2.00×</b>");
    expect(page).toContain("zone-b");
    expect(page).toContain("CPU &#60;b&#62;");
  });

  it("and the summary show no interval of a single round, which has none", () => {
    const single = results([recordAt("replication", 1, 100_000), recordAt("cluster", 1, 149_000)]);
    for (const text of [renderReport(single), formatSummary(single).join("\n")]) {
      expect(text).toContain("1.49×");
      expect(text).not.toMatch(/\d … \d/);
    }
  });

  it("lists machines of a Kubernetes cluster by kind", () => {
    const base = results(records);
    const machine = {
      instanceType: "c7g.xlarge",
      cores: 4,
      memoryBytes: 8 * 1024 ** 3,
      platform: "linux/arm64",
      kernel: "6.12",
      system: "Linux",
      kubelet: "v1.34",
    };
    const machines = [
      { name: "m-0", zone: "a", ...machine },
      { name: "m-1", zone: "b", ...machine },
    ];
    expect(renderReport({ ...base, environment: { ...base.environment, machines } })).toContain(
      "2 × c7g.xlarge, 4 cores, 8.0 GiB, linux/arm64, Linux, kernel 6.12: m-0 in a, m-1 in b",
    );
    expect(page).not.toContain("Kubernetes");
  });

  it("says what has warnings, incomplete or not verified", () => {
    const warnings = [{ code: "hit-ratio", text: "61 % <missed>" }] as const;
    const [cluster] = results([]).topologies;
    if (cluster === undefined) throw new Error("no topology");
    const failed = { ...cluster, verdict: { ...cluster.verdict, pass: false } };
    const bad = renderReport(
      results(
        records.map((each) => ({ ...each, warnings: [...warnings] })),
        { complete: false, reason: "stopped by SIGINT", topologies: [failed] },
      ),
    );
    expect(bad).toContain("61 % &#60;missed&#62;");
    expect(bad).toContain("Incomplete: stopped by SIGINT");
    expect(bad).toContain("not verified");
    expect(bad).toMatch(/Verification of cluster:\s*<span class="fail">FAIL/);
  });

  it("renders without measurements", () => {
    expect(renderReport(results([]))).toContain("Nothing was measured side by side.");
  });
});
