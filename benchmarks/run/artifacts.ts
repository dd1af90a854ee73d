/** The output directory of a run. Each file is written under a temporary name and then renamed. */
import { appendFileSync, existsSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { BadInput, codeOf, Failure, messageOf } from "../../lib/errors";
import { makeDirectory } from "../../lib/system/make-directory";
import { formatCsv } from "../results/formats/csv";
import { formatOpenMetrics } from "../results/formats/open-metrics";
import type { Results } from "../results/schema";
import { formatStudy } from "../results/formats/study-summary";
import { formatSummary } from "../results/formats/summary";

/** Names of the files of a run. */
export const ARTIFACT_NAMES = [
  "results.csv",
  "results.json",
  "results.om",
  "summary.txt",
  "raw.txt",
  "report.html",
] as const;
export type ArtifactName = (typeof ARTIFACT_NAMES)[number];

/** Free space that a run requires at its start, bytes. The files of an ordinary run need less. */
const MIN_FREE_BYTES = 1024 * 1024;

/** Writes the files of a run. */
export class Artifacts {
  private constructor(
    readonly directory: string,
    private readonly renderReport: (results: Results) => string,
  ) {}

  /**
   * Creates the directory, and checks that files can be written to it.
   * @param root parent directory of `results/`; it is used for runs without `output`
   * @param output directory that the user has chosen
   * @throws BadInput if the directory cannot be written, has too little space, or contains the results of a different
   *   run
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
        throw BadInput.of(
          `output directory ${directory}`,
          "output-not-empty",
          `holds results already (${taken.join(", ")}); name a different directory, or move the results away`,
        );
      const trial = join(directory, `.trial-${process.pid}`);
      try {
        writeFileSync(trial, Buffer.alloc(MIN_FREE_BYTES));
      } finally {
        rmSync(trial, { force: true });
      }
    } catch (error) {
      if (error instanceof BadInput) throw error;
      throw BadInput.of(
        `output directory ${directory}`,
        "output-unusable",
        `${reasonOf(error)}; name a different directory with --output`,
      );
    }
    return new Artifacts(directory, renderReport);
  }

  /** Opens the directory of an interrupted run. */
  static reopen(directory: string, renderReport: (results: Results) => string): Artifacts {
    return new Artifacts(resolve(directory), renderReport);
  }

  path(name: ArtifactName): string {
    return join(this.directory, name);
  }

  /** Writes the data that would be lost in a crash: the records, and the output of load generators. */
  writeProgress(results: Results, raw: string): void {
    this.#write("results.json", `${JSON.stringify(results, null, 1)}\n`);
    this.#write("raw.txt", raw);
  }

  /** Appends the output of a load generator to raw.txt. */
  addRaw(heading: string, output: string): void {
    appendFileSync(this.path("raw.txt"), `### ${heading}\n${output.endsWith("\n") ? output : `${output}\n`}\n`);
  }

  writeAll(results: Results, raw: string): void {
    this.#write("raw.txt", raw);
    this.writeAllButRaw(results);
  }

  /** Writes all files except raw.txt. */
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

  /** Removes the directory if it is empty. */
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
    ENOENT: "cannot be created",
  };
  return reasons[codeOf(error) ?? ""] ?? messageOf(error);
}

/**
 * A directory name that is not in use yet. If a run that started in the same second has the wanted name, a number is
 * appended.
 */
function unusedDirectory(wanted: string): string {
  for (let number = 1; ; number++) {
    const directory = number === 1 ? wanted : `${wanted}-${number}`;
    if (!existsSync(directory)) return directory;
  }
}

/**
 * A time as text, UTC, such as `20261121-090000`. The published document "Valkey on EKS" uses the same format
 * (docs/sources.md).
 */
export function timestampOf(date: Date): string {
  return date.toISOString().slice(0, 19).replaceAll(/[-:]/g, "").replace("T", "-");
}

/** The path relative to the working directory. A path outside the working directory is returned unchanged. */
export function shortPath(path: string): string {
  const short = relative(process.cwd(), path);
  return short === "" || short.startsWith("..") ? path : short;
}
