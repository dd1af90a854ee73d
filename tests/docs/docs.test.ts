import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { describe, expect, it } from "vitest";
import { WARNING_CODES } from "../../benchmarks/results/measurement-schema";
import { ROOT } from "../../lib/system/package";
import ROOMS from "../../scripts/rooms.json";
import { PUZZLING } from "./plain-english";

const DOCS = join(ROOT, "docs");
const PAGES = [
  ...readdirSync(DOCS).flatMap((name) => (name.endsWith(".md") ? [join(DOCS, name)] : [])),
  ...["README.md", "CHANGELOG.md", "CONTRIBUTING.md"].map((name) => join(ROOT, name)),
];
/** Made from the schema and the commands, so their length is theirs. */
const GENERATED = ["configuration.md", "cli.md", "components.md"];
const MAX_LINES = 200;

/** Lines of the longest paragraph. */
const MAX_PARAGRAPH = 5;
/** Paragraphs and items of lists, without code, tables and headings. */
function paragraphsOf(text: string): string[] {
  const prose = text.replaceAll(/```[\s\S]*?```/g, "").replaceAll(/^[|<].*$/gm, "");
  const blocks = prose.split(/\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) |#)|(?<=^#.*)\n/m);
  return blocks.map((block) => block.trim()).filter((block) => !/^[#!]/.test(block));
}

const pageNames = PAGES.map((page): [string, string] => [relative(ROOT, page), readFileSync(page, "utf8")]);
const written = pageNames.filter(([name]) => !GENERATED.some((each) => name.endsWith(each)));

describe("the docs", () => {
  it.each(pageNames)("of %s link to files and headings that exist", (name, text) => {
    const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, target = ""]) => (/^https?:/.test(target) ? [] : [target]));
    const broken = links.filter((link) => {
      const [path = "", heading] = link.split("#");
      const file = path === "" ? join(ROOT, name) : join(ROOT, dirname(name), path);
      if (!existsSync(file)) return true;
      return heading !== undefined && !headingsOf(readFileSync(file, "utf8")).includes(heading);
    });
    expect(broken).toEqual([]);
  });

  it("link to no file outside of docs/, which GitHub Pages would not have", () => {
    const inside = pageNames.filter(([name]) => name.startsWith("docs/"));
    expect(inside.flatMap(([, text]) => [...text.matchAll(/\]\(\.\.\/[^)]*\)/g)].map(([link]) => link))).toEqual([]);
    // Jekyll would take these for its own.
    expect(inside.filter(([, text]) => /\{\{|\{%/.test(text)).map(([name]) => name)).toEqual([]);
  });

  it("have a first page that leads to all others", () => {
    const index = readFileSync(join(DOCS, "index.md"), "utf8");
    const others = readdirSync(DOCS).filter((name) => name.endsWith(".md") && name !== "index.md");
    expect(others.filter((name) => !index.includes(`](${name})`))).toEqual([]);
  });

  it.each(pageNames)("of %s name files and folders of the program that exist", (_name, text) => {
    const rooms = Object.keys(ROOMS).join("|");
    const paths = [...text.matchAll(new RegExp(`\`((?:${rooms}|tests|scripts|policies)/[\\w./-]*)\``, "g"))].map(([, path = ""]) => path);
    const patterns = /NAME|\*/;
    expect(paths.filter((path) => !patterns.test(path) && !existsSync(join(ROOT, path)))).toEqual([]);
  });

  it("of the architecture name functions where they are", () => {
    const text = readFileSync(join(DOCS, "architecture.md"), "utf8");
    const named = [...text.matchAll(/`([\w.]+)`\s\(`([\w/-]+\.ts)`/g)].map(([, name = "", file = ""]) => ({ name, file }));
    const missing = named.filter(({ name, file }) => {
      const source = readFileSync(join(ROOT, file), "utf8");
      return !name.split(".").every((part) => source.includes(part));
    });
    expect(named.length).toBeGreaterThan(10);
    expect(missing).toEqual([]);
  });

  it.each(pageNames.filter(([name]) => !GENERATED.some((generated) => name.endsWith(generated))))(
    "of %s are short enough to read",
    (_name, text) => {
      expect(text.split("\n").length).toBeLessThanOrEqual(MAX_LINES);
    },
  );

  it("say of every warning when it is given and what to do", () => {
    const method = readFileSync(join(DOCS, "method.md"), "utf8");
    expect(WARNING_CODES.filter((code) => !new RegExp(`^\\|.*\`${code}\`.*\\|`, "m").test(method))).toEqual([]);
  });

  it.each(written)("of %s have paragraphs of five lines at most", (_name, text) => {
    expect(paragraphsOf(text).filter((paragraph) => paragraph.split("\n").length > MAX_PARAGRAPH)).toEqual([]);
  });

  it.each(written)("of %s say what is not there in plain English, and only before its noun", (_name, text) => {
    const found = paragraphsOf(text).flatMap((paragraph) => [...paragraph.matchAll(PUZZLING)].map(([words]) => words));
    expect(found).toEqual([]);
  });
});

/** Anchors of a page's headings, as GitHub makes them. */
function headingsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, title = ""]) =>
    title
      .toLowerCase()
      .replace(/[^\w\s-]/g, "")
      .trim()
      .replace(/\s/g, "-"),
  );
}
