/** The report in a browser, where this machine has one. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { renderReport } from "../../../benchmarks/report/page";
import { executablePath, browserSkipReason } from "../../support/browser";
import { recordAt, results } from "../../support/benchmarks/records";

describe.skipIf(executablePath === undefined)(`report.html in a browser${browserSkipReason}`, () => {
  let directory: string;
  let browser: Browser;
  let file: string;
  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), "report-"));
    file = join(directory, "report.html");
    const records = [1, 2, 3].flatMap((round) =>
      ["SET", "GET", "INCR"].flatMap((title) =>
        [recordAt("replication", round, 100_000 + round), recordAt("cluster", round, 200_000 + round, 0.5)].map(
          (each) => ({ ...each, title, test: title.toLowerCase() }),
        ),
      ),
    );
    writeFileSync(file, renderReport(results(records)));
    browser = await chromium.launch({ executablePath: executablePath ?? "", args: ["--no-sandbox"] });
  });
  afterAll(async () => {
    await browser.close();
    rmSync(directory, { recursive: true, force: true });
  });

  async function open(width: number, use: (page: Page, troubles: string[]) => Promise<void>): Promise<void> {
    const page = await browser.newPage({ viewport: { width, height: 900 }, offline: true });
    const troubles: string[] = [];
    page.on("pageerror", (error) => troubles.push(error.message));
    page.on("console", (message) => message.type() === "error" && troubles.push(message.text()));
    page.on("request", (request) => request.url().startsWith("file:") || troubles.push(`asked for ${request.url()}`));
    await page.goto(`file://${file}`);
    await use(page, troubles);
    await page.close();
  }

  it.each([1280, 400])(
    "is whole at %i px: one picture of each chart, nothing cut off, nothing asked for",
    async (width) => {
      await open(width, async (page, troubles) => {
        expect(troubles).toEqual([]);
        expect(await page.locator("figure svg:visible").count()).toBe(await page.locator("figure").count());
        expect(await page.locator("figure").count()).toBe(5);
        expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(width);
        for (const svg of await page.locator("figure svg:visible").all()) {
          const box = await svg.boundingBox();
          expect(box?.width).toBeGreaterThan(width === 400 ? 300 : 700);
          expect(box?.height).toBeGreaterThan(150);
          expect(await svg.locator("text").count()).toBeGreaterThan(3);
        }
      });
    },
  );

  it.each([1280, 400])("at %i px draws bars in proportion to the figures", async (width) => {
    await open(width, async (page) => {
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
  });
});
