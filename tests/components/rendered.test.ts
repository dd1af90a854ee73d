/**
 * The resources of whole programs, as reviewed files in `tests/rendered/`. After a wanted change,
 * `npm test -- tests/components --update` writes the files again, and their diff shows what the change does.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { ROOT } from "../../lib/system/package";
import { PROGRAMS, renderedProgram } from "../support/pulumi/rendered-programs";

const DIRECTORY = join(ROOT, "tests", "rendered");

describe("rendered programs", { timeout: 300_000 }, () => {
  it.each(Object.keys(PROGRAMS))("%s", async (name) => {
    const text = await renderedProgram(name);
    expect(Object.keys(parse(text) as object).length).toBeGreaterThan(5);
    await expect(text).toMatchFileSnapshot(join(DIRECTORY, `${name}.yaml`));
  });

  it("have a file each, and there is no file of a program or a test that is gone", () => {
    const tests = readdirSync(join(ROOT, "tests"), { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".test.ts"))
      .map((path) => readFileSync(join(ROOT, "tests", path), "utf8"));
    const reviewed = tests.flatMap((text) =>
      [...text.matchAll(/expectReviewed\(\s*"([a-z/-]+)"/g)].map(([, name = ""]) => name),
    );
    const files = readdirSync(DIRECTORY, { recursive: true, encoding: "utf8" }).filter((path) =>
      path.endsWith(".yaml"),
    );
    expect(files.sort()).toEqual(
      [...Object.keys(PROGRAMS), "changes", "refusals", ...reviewed].map((name) => `${name}.yaml`).sort(),
    );
  });
});
