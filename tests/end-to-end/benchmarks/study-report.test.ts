/** A study's page in a browser, where this machine has one. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { studyResults } from "../../../benchmarks/studies/evaluation/study-results";
import { renderReport } from "../../../benchmarks/report/page";
import { executablePath, browserSkipReason } from "../../support/browser";
import { results } from "../../support/benchmarks/records";
import { interleavedPairs } from "../../../benchmarks/studies/pairs";
import { referenceLoadEntry, treatmentEntry, interleavedEntry, study } from "../../support/benchmarks/study";

const boxSchema = z.object({
  text: z.string(),
  left: z.number(),
  right: z.number(),
  top: z.number(),
  bottom: z.number(),
});

const STUDY = study({ primaries: [1, 3, 8], pipeline: [16, 1] }, { kind: "billion" });
const samples = Array.from({ length: 80 }, (_, index) => ({
  seconds: index * 0.1,
  keys: index * 25_000,
  bytes: index * 25_000 * (index % 20 < 10 ? 150 : 130),
}));
const ENTRIES = [1, 2, 3, 4].flatMap((round) => [
  referenceLoadEntry(round, 1, 1e6 * (1 + round / 100)),
  ...STUDY.treatments.map((treatment, index) => ({
    ...treatmentEntry(treatment, round, 100_000 * treatment.shape.primaries ** 0.9 * (1 + index / 10 + round / 500)),
    growth: index < 2 ? { samples } : null,
  })),
  ...interleavedPairs(STUDY.treatments).map((pair, index) =>
    interleavedEntry(
      pair,
      round,
      { requests: 1000 + round, seconds: 3, cpuSeconds: 3 },
      { requests: 1000 + 100 * index, seconds: 3, cpuSeconds: 2 + round / 10 },
    ),
  ),
]);
const RESULTS = studyResults(
  { study: STUDY, entries: ENTRIES, cpus: Array.from({ length: 64 }, (_, cpu) => cpu), rounds: 4, ended: "budget" },
  { timestamp: "20261121-090000", stack: "study-x", configuration: {}, environment: results([]).environment },
  null,
);

describe.skipIf(executablePath === undefined)(`a study's report.html in a browser${browserSkipReason}`, () => {
  let directory: string;
  let browser: Browser;
  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), "report-"));
    writeFileSync(join(directory, "report.html"), renderReport(RESULTS));
    browser = await chromium.launch({ executablePath: executablePath ?? "", args: ["--no-sandbox"] });
  });
  afterAll(async () => {
    await browser.close();
    rmSync(directory, { recursive: true, force: true });
  });

  async function open(width: number): Promise<Page> {
    const page = await browser.newPage({ viewport: { width, height: 900 }, offline: true });
    await page.goto(`file://${join(directory, "report.html")}`);
    return page;
  }

  it.each([1280, 400])(
    "at %i px has every chart, with marks in it, and no word cut off or upon another",
    async (width) => {
      const page = await open(width);
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(width);
      const figures = z
        .array(z.string())
        .parse(await page.evaluate("[...document.querySelectorAll('figure')].map(({ id }) => id)"));
      expect(figures).toEqual([
        "treatments-set",
        "compared-throughput",
        "compared-cpu-per-operation",
        "scaling-0",
        "scaling-1",
        "growth-bytes",
        "growth-rate",
        "reference-loads",
      ]);
      for (const id of figures) {
        const svg = page.locator(`#${id} svg:visible`);
        expect(await svg.count(), id).toBe(1);
        expect(await svg.locator("path").count(), id).toBeGreaterThan(3);
        const frame = await svg.boundingBox();
        const boxes = z
          .array(boxSchema)
          .parse(
            await page.evaluate(
              `[...document.querySelectorAll("#${id} svg")].filter((svg) => svg.checkVisibility()).flatMap((svg) => [...svg.querySelectorAll("text")]).map((each) => { const { left, right, top, bottom } = each.getBoundingClientRect(); return { text: each.textContent, left, right, top, bottom }; })`,
            ),
          );
        expect(boxes.length, id).toBeGreaterThan(3);
        for (const box of boxes) {
          expect(box.left, `${id}: ${box.text}`).toBeGreaterThanOrEqual((frame?.x ?? 0) - 0.5);
          expect(box.right, `${id}: ${box.text}`).toBeLessThanOrEqual((frame?.x ?? 0) + (frame?.width ?? 0) + 0.5);
        }
        for (const [index, a] of boxes.entries()) {
          for (const b of boxes.slice(index + 1)) {
            const overlap =
              Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
              Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4;
            expect(overlap, `${id}: ${a.text} and ${b.text}`).toBe(false);
          }
        }
      }
      await page.close();
    },
  );

  it("shows the numbers of results.json", async () => {
    const page = await open(1280);
    const text = (await page.locator("main").innerText()).replaceAll(/\s+/g, " ");
    expect(text).toContain("the load switched from one to the other");
    expect(text.match(/throughput interleaved/g)).toHaveLength(interleavedPairs(STUDY.treatments).length);
    for (const { ratio, low, high } of RESULTS.study?.comparisons ?? []) {
      expect(text).toContain(`${ratio?.toFixed(2) ?? ""}×`);
      if (low !== null && high !== null) expect(text).toContain(`${low.toFixed(2)} … ${high.toFixed(2)}`);
    }
    for (const { claim, why } of RESULTS.study?.claims ?? [])
      expect(text).toContain(`${claim} ${why}`.replaceAll(/\s+/g, " "));
    for (const { exponent } of RESULTS.study?.fits ?? [])
      expect(text).toContain(`Exponent ${exponent?.estimate.toFixed(2) ?? ""}`);
    await page.close();
  });

  it("draws bars in proportion, and ratios where they belong", async () => {
    const page = await open(1280);
    const widths = z
      .array(z.number())
      .parse(
        await page.evaluate(
          `[...document.querySelectorAll('#treatments-set svg path[fill="#0072b2"]')].filter((path) => path.checkVisibility()).map((path) => path.getBoundingClientRect().width)`,
        ),
      );
    const medians = STUDY.treatments
      .map(({ id }) =>
        RESULTS.records
          .filter(({ deployment }) => deployment === id)
          .map(({ client }) => client.rps)
          .sort((a, b) => a - b),
      )
      .map((rates) => ((rates[1] ?? 0) + (rates[2] ?? 0)) / 2);
    expect(widths).toHaveLength(medians.length);
    for (const [index, width] of widths.entries())
      expect(width / (widths[0] ?? 1)).toBeCloseTo((medians[index] ?? 0) / (medians[0] ?? 1), 1);
    await page.close();
  });
});
