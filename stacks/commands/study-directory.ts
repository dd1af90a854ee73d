/** Where a study's journal and results are: a new directory, or that of a study to go on with. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { cpus, hostname } from "node:os";
import { join, resolve } from "node:path";
import { BadInput } from "../../benchmarks/errors";
import type { JournalHeader } from "../../benchmarks/experiments/journal";
import { Journal, JOURNAL, parseJournal } from "../../benchmarks/experiments/journal";
import type { Study } from "../../benchmarks/experiments/study";
import { fingerprint } from "../../benchmarks/experiments/study";
import { availableCores } from "../../benchmarks/measuring/cpu";
import { ROOT } from "../../benchmarks/paths";
import { renderReport } from "../../benchmarks/report/page";
import { Artifacts, shortPath, timestampOf } from "../../benchmarks/results/artifacts";

export interface StudyDirectory {
  readonly artifacts: Artifacts;
  readonly journal: Journal;
}

/** @throws BadInput when the directory cannot be used */
export function beginStudy(study: Study, output: string | undefined): StudyDirectory {
  const timestamp = timestampOf(new Date());
  const artifacts = Artifacts.open(ROOT, `${timestamp}-${study.name}`, output, renderReport);
  const taken = join(artifacts.directory, JOURNAL);
  if (existsSync(taken)) throw new BadInput(`output directory ${artifacts.directory}`, ["holds a study already; go on with it by --resume, or name another"]);
  return { artifacts, journal: Journal.create(artifacts.directory, { kind: "study", name: study.name, fingerprint: fingerprint(study), seed: study.seed, timestamp, machine: machine() }) };
}

/**
 * The study of that name that was begun last, or the one in `output`.
 * @throws BadInput when there is none, it measures something else by now, was begun on another machine, or is under way
 */
export function resumeStudy(study: Study, output: string | undefined): StudyDirectory {
  const directory = output === undefined ? lastStudy(study.name) : resolve(output);
  if (directory === undefined) throw new BadInput("--resume", [`no study ${study.name} was begun in ${shortPath(join(ROOT, "results"))}; begin it without --resume, or name its directory by --output`]);
  const journal = Journal.resume(directory);
  const problems = differences(journal.header, study);
  if (problems.length === 0) return { journal, artifacts: Artifacts.reopen(directory, renderReport) };
  journal.close();
  throw new BadInput(`--resume of ${shortPath(directory)}`, problems);
}

function differences({ name, fingerprint: begun, machine: there }: JournalHeader, study: Study): string[] {
  return [
    ...(name === study.name ? [] : [`it is the study ${name}`]),
    ...(begun === fingerprint(study) ? [] : ["what it measures has been changed since, in the stack file or by options; begin anew without --resume"]),
    ...(there === machine() ? [] : [`it was begun on another machine: ${there}`]),
  ];
}

function lastStudy(name: string): string | undefined {
  const results = join(ROOT, "results");
  if (!existsSync(results)) return undefined;
  const found = readdirSync(results).flatMap((entry) => {
    const file = join(results, entry, JOURNAL);
    try {
      const { header } = parseJournal(readFileSync(file, "utf8"), file);
      return header.name === name ? [{ directory: join(results, entry), timestamp: header.timestamp }] : [];
    } catch {
      return [];
    }
  });
  return found.sort((a, b) => (a.timestamp < b.timestamp ? -1 : 1)).at(-1)?.directory;
}

/** What a machine is told apart by: rounds on another would be another study. */
function machine(): string {
  return `${hostname()}, ${availableCores()} × ${cpus()[0]?.model.trim() ?? "unknown"}`;
}
