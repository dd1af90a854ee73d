/** Rule for docstrings: each begins with the noun that it documents, and stands without a name beside it. */
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

describe("docstrings", () => {
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
