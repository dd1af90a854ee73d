/** The directory of a run's results: files appear there whole or not at all. */
import { appendFileSync, existsSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { BadInput, codeOf, Failure, messageOf } from "../../lib/errors";
import { makeDirectory } from "../../lib/make-directory";
import { formatCsv } from "./formats/csv";
import { formatOpenMetrics } from "./formats/open-metrics";
import type { Results } from "./schema";
import { formatStudy } from "./formats/study-summary";
import { formatSummary } from "./formats/summary";

/** What a run leaves behind. */
export const ARTIFACT_NAMES = [
  "results.csv",
  "results.json",
  "results.om",
  "summary.txt",
  "raw.txt",
  "report.html",
] as const;
export type ArtifactName = (typeof ARTIFACT_NAMES)[number];

/** Room that must be there before a run starts, bytes; artifacts of an ordinary run are smaller. */
const LEAST_ROOM = 1024 * 1024;

export class Artifacts {
  private constructor(
    readonly directory: string,
    private readonly renderReport: (results: Results) => string,
  ) {}

  /**
   * Makes the directory and tries it.
   * @param root where `results/` is, for runs that name no directory
   * @param output the directory the user names
   * @throws BadInput when it cannot be written, has no room, or holds another run's results
   */
  static open(
    root: string,
    timestamp: string,
    output: string | undefined,
    renderReport: (results: Results) => string,
  ): Artifacts {
    const directory = output === undefined ? unusedDirectory(join(root, "results", timestamp)) : resolve(output);
    try {
      makeDirectory(directory);
      const taken = readdirSync(directory).filter((name) => ARTIFACT_NAMES.some((artifact) => artifact === name));
      if (taken.length > 0)
        throw new BadInput(`output directory ${directory}`, [
          `holds results already (${taken.join(", ")}); name another, or move them away`,
        ]);
      const trial = join(directory, `.trial-${process.pid}`);
      try {
        writeFileSync(trial, Buffer.alloc(LEAST_ROOM));
      } finally {
        rmSync(trial, { force: true });
      }
    } catch (error) {
      if (error instanceof BadInput) throw error;
      throw new BadInput(`output directory ${directory}`, [`${reasonOf(error)}; name another with --output`]);
    }
    return new Artifacts(directory, renderReport);
  }

  /** Goes on in the directory of a run that was interrupted. */
  static reopen(directory: string, renderReport: (results: Results) => string): Artifacts {
    return new Artifacts(resolve(directory), renderReport);
  }

  path(name: ArtifactName): string {
    return join(this.directory, name);
  }

  /** What cannot be made again after a crash: the records, and the tool's own words. */
  writeProgress(results: Results, raw: string): void {
    this.#write("results.json", `${JSON.stringify(results, null, 1)}\n`);
    this.#write("raw.txt", raw);
  }

  /** The tool's own words, added as they come. */
  addRaw(heading: string, output: string): void {
    appendFileSync(this.path("raw.txt"), `### ${heading}\n${output.endsWith("\n") ? output : `${output}\n`}\n`);
  }

  writeAll(results: Results, raw: string): void {
    this.#write("raw.txt", raw);
    this.writeAllButRaw(results);
  }

  /** Everything but the tool's own words. */
  writeAllButRaw(results: Results): void {
    this.#write("results.json", `${JSON.stringify(results, null, 1)}\n`);
    this.#write("results.csv", formatCsv(results));
    this.#write("results.om", formatOpenMetrics(results));
    this.#write(
      "summary.txt",
      summaryOf(results)
        .map((line) => `${line}\n`)
        .join(""),
    );
    this.#write("report.html", this.renderReport(results));
  }

  /** Takes away a directory in which nothing has been put. */
  discardIfEmpty(): void {
    if (existsSync(this.directory) && readdirSync(this.directory).length === 0)
      rmSync(this.directory, { recursive: true });
  }

  #write(name: ArtifactName, text: string): void {
    const temporary = join(this.directory, `.${name}.${process.pid}`);
    try {
      writeFileSync(temporary, text);
      renameSync(temporary, this.path(name));
    } catch (error) {
      rmSync(temporary, { force: true });
      throw new Failure(`${name} cannot be written to ${this.directory}: ${reasonOf(error)}`, { cause: error });
    }
  }
}

function summaryOf(results: Results): string[] {
  return results.study === undefined ? formatSummary(results) : formatStudy(results);
}

function reasonOf(error: unknown): string {
  const reasons: Readonly<Record<string, string>> = {
    EACCES: "may not be written",
    EPERM: "may not be written",
    EROFS: "is read-only",
    ENOSPC: "is full",
    EDQUOT: "is full",
    ENOTDIR: "is not a directory",
    EEXIST: "is not a directory",
    ENOENT: "cannot be made",
  };
  return reasons[codeOf(error) ?? ""] ?? messageOf(error);
}

/** Two runs may begin in the same second. */
function unusedDirectory(wanted: string): string {
  for (let number = 1; ; number++) {
    const directory = number === 1 ? wanted : `${wanted}-${number}`;
    if (!existsSync(directory)) return directory;
  }
}

/** UTC, `20261121-090000`, as S1 has it. */
export function timestampOf(date: Date): string {
  return date.toISOString().slice(0, 19).replaceAll(/[-:]/g, "").replace("T", "-");
}

/** Relative to where the user is, where that is shorter. */
export function shortPath(path: string): string {
  const short = relative(process.cwd(), path);
  return short === "" || short.startsWith("..") ? path : short;
}
