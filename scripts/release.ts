/**
 * `node --import tsx scripts/release.ts TAG REPOSITORY DIRECTORY`: writes the files of a release, in addition to the
 * package. `notes.md` is the version's section of the changelog. `schema.json` is the components' schema with the
 * version and the repository; Pulumi generates libraries for other languages from it. The exit status is 2 if the tag,
 * the changelog and `package.json` do not agree.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { compact } from "../lib/compact";
import { BadInput, messageOf } from "../lib/errors";
import { ROOT, VERSION } from "../lib/system/package";

interface Release {
  readonly tag: string;
  readonly repository: string;
}

/** @returns the text below the version's heading; undefined if there is no such section, or if it is empty */
export function changelogSection(changelog: string, version: string): string | undefined {
  const section = changelog.split(/^## /m).find((each) => each.split("\n", 1)[0]?.trim() === version);
  const text = section?.slice(section.indexOf("\n")).trim();
  return text === "" ? undefined : text;
}

/** @throws BadInput with every reason why this version cannot be released */
export function releaseFiles({ tag, repository }: Release, changelog: string, schema: object): Record<string, string> {
  const notes = changelogSection(changelog, VERSION);
  const problems = compact([
    tag === `v${VERSION}` ? undefined : `the tag is ${tag}; expected v${VERSION}, the version of package.json`,
    /^https:\/\/[^/\s]+(\/[\w.-]+){2,}$/.test(repository)
      ? undefined
      : `the repository is "${repository}"; expected https://HOST/OWNER/NAME`,
    notes === undefined ? `CHANGELOG.md has no section "## ${VERSION}" with text` : undefined,
  ]);
  if (problems.length > 0 || notes === undefined) throw BadInput.of("release", "not-releasable", problems);
  const [publisher] = new URL(repository).pathname.split("/").filter((word) => word !== "");
  const about = { publisher, repository, homepage: repository, logoUrl: `${repository}/raw/${tag}/docs/icon.svg` };
  // Without this option the library for Go gets no go.mod.
  const meta = { supportPack: true };
  return {
    // The changelog links to files by relative paths. The notes need absolute links.
    "notes.md": `${notes.replaceAll(/\]\((?!https:|#)/g, `](${repository}/blob/${tag}/`)}\n`,
    "schema.json": `${JSON.stringify({ ...schema, version: VERSION, ...about, meta }, null, 1)}\n`,
  };
}

function main([tag = "", repository = "", directory]: readonly string[]): number {
  if (directory === undefined) {
    process.stderr.write("usage: node --import tsx scripts/release.ts TAG REPOSITORY DIRECTORY\n");
    return 2;
  }
  const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
  const schema = JSON.parse(read("components/plugin/schema.json")) as object;
  const files = releaseFiles({ tag, repository }, read("CHANGELOG.md"), schema);
  mkdirSync(directory, { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text);
  return 0;
}

if (require.main === module)
  try {
    process.exitCode = main(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${messageOf(error)}\n`);
    process.exitCode = error instanceof BadInput ? 2 : 1;
  }
