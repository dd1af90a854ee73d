/** Each file is written under a temporary name and then renamed. */
import { appendFileSync, existsSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { BadInput, Failure } from "../../lib/errors";
import { claimOutput, writeProblem } from "../../lib/system/output-directory";
import { formatCsv } from "../results/formats/csv";
import { formatOpenMetrics } from "../results/formats/open-metrics";
import type { Results } from "../results/schema";
import { formatStudy } from "../results/formats/study-summary";
import { formatSummary } from "../results/formats/summary";

export const ARTIFACT_NAMES = [
  "results.csv",
  "results.json",
  "results.om",
  "summary.txt",
  "raw.txt",
  "report.html",
] as const;
type ArtifactName = (typeof ARTIFACT_NAMES)[number];

export class Artifacts {
  private constructor(
    readonly directory: string,
    private readonly renderReport: (results: Results) => string,
    /** Ends the claim of this process on the directory, and removes the directory if it is empty. */
    readonly release: () => void,
  ) {}

  static open(
    root: string,
    timestamp: string,
    output: string | undefined,
    renderReport: (results: Results) => string,
  ): Artifacts {
    if (output !== undefined) {
      const directory = resolve(output);
      return new Artifacts(directory, renderReport, claimOutput(directory, "new"));
    }
    // A run that started in the same second can have the wanted name.
    for (let number = 1; ; number++) {
      const directory = join(root, "results", number === 1 ? timestamp : `${timestamp}-${number}`);
      if (existsSync(directory)) continue;
      try {
        return new Artifacts(directory, renderReport, claimOutput(directory, "new"));
      } catch (error) {
        if (!(error instanceof BadInput) || error.problems[0]?.code !== "output-in-use") throw error;
      }
    }
  }

  static reopen(directory: string, renderReport: (results: Results) => string, release: () => void): Artifacts {
    return new Artifacts(resolve(directory), renderReport, release);
  }

  path(name: ArtifactName): string {
    return join(this.directory, name);
  }

  /** Writes the data that would be lost in a crash: the records, and the output of load generators. */
  writeProgress(results: Results, raw: string): void {
    this.#write("results.json", `${JSON.stringify(results, null, 1)}\n`);
    this.#write("raw.txt", raw);
  }

  addRaw(heading: string, output: string): void {
    appendFileSync(this.path("raw.txt"), `### ${heading}\n${output.endsWith("\n") ? output : `${output}\n`}\n`);
  }

  writeAll(results: Results, raw: string): void {
    this.#write("raw.txt", raw);
    this.writeAllButRaw(results);
  }

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

  #write(name: ArtifactName, text: string): void {
    const temporary = join(this.directory, `.${name}.${process.pid}`);
    try {
      writeFileSync(temporary, text);
      renameSync(temporary, this.path(name));
    } catch (error) {
      rmSync(temporary, { force: true });
      throw new Failure(`${name} cannot be written to ${this.directory}: ${writeProblem(error)}`, { cause: error });
    }
  }
}

function summaryOf(results: Results): string[] {
  return results.study === undefined ? formatSummary(results) : formatStudy(results);
}

/** UTC, such as `20261121-090000`, like the document "Valkey on EKS" (docs/sources.md). */
export function timestampOf(date: Date): string {
  return date.toISOString().slice(0, 19).replaceAll(/[-:]/g, "").replace("T", "-");
}

export function shortPath(path: string): string {
  const short = relative(process.cwd(), path);
  return short === "" || short.startsWith("..") ? path : short;
}
