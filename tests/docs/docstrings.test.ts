/** Rules for docstrings: what the package publishes has one, and each begins with the noun that it documents. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT } from "../../lib/system/package";
import ROOMS from "../../scripts/rooms.json";
import { PUZZLING } from "./plain-english";

const BEGINS_WITHOUT_NOUN = /\/\*\*[\s*]*(?:Of|What|Who|Whose)\b.*/g;

function sourcesIn(folder: string): string[] {
  const names = readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" });
  return names.filter((name) => name.endsWith(".ts")).map((name) => join(folder, name));
}

/** Classes, functions and constants that a file of exports/ publishes without a docstring. */
function undocumented(file: string): string[] {
  const published = readFileSync(join(ROOT, "exports", file), "utf8").matchAll(
    /export (?:type )?\{([^}]+)\} from "\.\.\/([^"]+)"/g,
  );
  return [...published].flatMap(([, names = "", path = ""]) => {
    const source = readFileSync(join(ROOT, `${path}.ts`), "utf8");
    const isUndocumented = (name: string): boolean =>
      new RegExp(`(?<!\\*/)\\nexport (?:abstract |async )?(?:class|const|function) ${name}\\b`).test(source);
    return names
      .split(",")
      .map((name) => name.trim())
      .filter((name) => name !== "" && isUndocumented(name))
      .map((name) => `${path}: ${name}`);
  });
}

describe("docstrings", () => {
  it.each(readdirSync(join(ROOT, "exports")))("document each class, function and constant that exports/%s publishes", (file) => {
    expect(undocumented(file)).toEqual([]);
  });

  it.each([...Object.keys(ROOMS), "scripts", "bench", "tests"])("of %s never begin with Of, What, Who or Whose", (folder) => {
    const found = sourcesIn(folder).flatMap((name) =>
      [...readFileSync(join(ROOT, name), "utf8").matchAll(BEGINS_WITHOUT_NOUN)].map(([text]) => `${name}: ${text}`),
    );
    expect(found).toEqual([]);
  });

  it.each(Object.keys(ROOMS))("and messages of %s say what is not there in plain English", (folder) => {
    const found = sourcesIn(folder).flatMap((name) =>
      [...readFileSync(join(ROOT, name), "utf8").matchAll(PUZZLING)].map(([words]) => `${name}: ${words}`),
    );
    expect(found).toEqual([]);
  });
});
