/** Reports of a run and of a study in a browser, where this machine has one. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium, type Browser, type Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { renderReport } from "../../../benchmarks/report/page";
import { studyResults } from "../../../benchmarks/studies/evaluation/evaluate";
import { interleavedPairs } from "../../../benchmarks/studies/pairs";
import { executablePath, browserSkipReason } from "../../support/browser";
import { recordAt, results } from "../../support/benchmarks/records";
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
const STUDY_RESULTS = studyResults(
  { study: STUDY, entries: ENTRIES, cpus: Array.from({ length: 64 }, (_, cpu) => cpu), rounds: 4, ended: "budget" },
  { timestamp: "20261121-090000", stack: "study-x", configuration: {}, environment: results([]).environment },
  null,
);

const RUN_RESULTS = results(
  [1, 2, 3].flatMap((round) =>
    ["SET", "GET", "INCR"].flatMap((title) =>
      [recordAt("replication", round, 100_000 + round), recordAt("cluster", round, 200_000 + round, 0.5)].map(
        (each) => ({ ...each, title, test: title.toLowerCase() }),
      ),
    ),
  ),
);

describe.skipIf(executablePath === undefined)(`report.html in a browser${browserSkipReason}`, () => {
  let directory: string;
  let browser: Browser;
  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), "report-"));
    for (const [name, shown] of Object.entries({ run: RUN_RESULTS, study: STUDY_RESULTS }))
      writeFileSync(join(directory, `${name}.html`), renderReport(shown));
    browser = await chromium.launch({ executablePath: executablePath ?? "", args: ["--no-sandbox"] });
  });
  afterAll(async () => {
    await browser.close();
    rmSync(directory, { recursive: true, force: true });
  });
  let troubles: string[];
  let opened: Page | undefined;
  beforeEach(() => {
    troubles = [];
  });
  afterEach(async () => {
    await opened?.close();
    expect(troubles).toEqual([]);
  });

  async function open(name: "run" | "study", width: number): Promise<Page> {
    const page = await browser.newPage({ viewport: { width, height: 900 }, offline: true });
    opened = page;
    page.on("pageerror", (error) => troubles.push(error.message));
    page.on("console", (message) => message.type() === "error" && troubles.push(message.text()));
    page.on("request", (request) => request.url().startsWith("file:") || troubles.push(`asked for ${request.url()}`));
    await page.goto(`file://${join(directory, `${name}.html`)}`);
    return page;
  }

  it.each([1280, 400])(
    "of a run is whole at %i px: one picture of each chart, nothing cut off, nothing asked for",
    async (width) => {
      const page = await open("run", width);
      expect(await page.locator("figure svg:visible").count()).toBe(await page.locator("figure").count());
      expect(await page.locator("figure").count()).toBe(5);
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(width);
      for (const svg of await page.locator("figure svg:visible").all()) {
        const box = await svg.boundingBox();
        expect(box?.width).toBeGreaterThan(width === 400 ? 300 : 700);
        expect(box?.height).toBeGreaterThan(150);
        expect(await svg.locator("text").count()).toBeGreaterThan(3);
      }
    },
  );

  it.each([1280, 400])("of a run at %i px draws bars in proportion to the figures", async (width) => {
    const page = await open("run", width);
    const bars = page.locator("#throughput svg:visible path");
    const heights = async (colour: string): Promise<number[]> =>
      Promise.all(
        (await bars.filter({ has: page.locator("xpath=self::*") }).all()).map(async (bar) =>
          (await bar.getAttribute("fill")) === colour ? ((await bar.boundingBox())?.height ?? 0) : 0,
        ),
      ).then((all) => all.filter((height) => height > 0));
    const [replication, cluster] = [await heights("#0072b2"), await heights("#d55e00")];
    expect(replication).toHaveLength(3);
    expect(cluster).toHaveLength(3);
    expect((cluster[0] ?? 0) / (replication[0] ?? 1)).toBeCloseTo(2, 1);
  });

  it.each([1280, 400])(
    "of a study at %i px has every chart, with marks in it, and no word cut off or upon another",
    async (width) => {
      const page = await open("study", width);
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
    },
  );

  it("of a study shows the numbers of results.json", async () => {
    const page = await open("study", 1280);
    const text = (await page.locator("main").innerText()).replaceAll(/\s+/g, " ");
    expect(text).toContain("the load switched from one to the other");
    expect(text.match(/throughput interleaved/g)).toHaveLength(interleavedPairs(STUDY.treatments).length);
    for (const { ratio, low, high } of STUDY_RESULTS.study?.comparisons ?? []) {
      expect(text).toContain(`${ratio?.toFixed(2) ?? ""}×`);
      if (low !== null && high !== null) expect(text).toContain(`${low.toFixed(2)} … ${high.toFixed(2)}`);
    }
    for (const { claim, why } of STUDY_RESULTS.study?.claims ?? [])
      expect(text).toContain(`${claim} ${why}`.replaceAll(/\s+/g, " "));
    for (const { exponent } of STUDY_RESULTS.study?.fits ?? [])
      expect(text).toContain(`Exponent ${exponent?.estimate.toFixed(2) ?? ""}`);
  });

  it("of a study draws bars in proportion, and ratios where they belong", async () => {
    const page = await open("study", 1280);
    const widths = z
      .array(z.number())
      .parse(
        await page.evaluate(
          `[...document.querySelectorAll('#treatments-set svg path[fill="#0072b2"]')].filter((path) => path.checkVisibility()).map((path) => path.getBoundingClientRect().width)`,
        ),
      );
    const medians = STUDY.treatments
      .map(({ id }) =>
        STUDY_RESULTS.records
          .filter(({ deployment }) => deployment === id)
          .map(({ client }) => client.rps)
          .sort((a, b) => a - b),
      )
      .map((rates) => ((rates[1] ?? 0) + (rates[2] ?? 0)) / 2);
    expect(widths).toHaveLength(medians.length);
    for (const [index, width] of widths.entries())
      expect(width / (widths[0] ?? 1)).toBeCloseTo((medians[index] ?? 0) / (medians[0] ?? 1), 1);
  });
});
