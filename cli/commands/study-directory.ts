/** The directory of a study's checkpoint log and results. The directory is new, or belongs to a study to resume. */
import { cpus, hostname } from "node:os";
import { resolve } from "node:path";
import { compact } from "../../lib/compact";
import { BadInput } from "../../lib/errors";
import type { StudyLogHeader, StudyCheckpointLog } from "../../benchmarks/studies/checkpoint-log";
import { studyCheckpointLogs } from "../../benchmarks/studies/checkpoint-log";
import type { Study } from "../../benchmarks/studies/study";
import { fingerprint } from "../../benchmarks/studies/study";
import { availableCores } from "../../platforms/host/cpu";
import { renderReport } from "../../benchmarks/report/page";
import { Artifacts, shortPath, timestampOf } from "../../benchmarks/run/artifacts";

/** Checkpoint log and results of a study. */
export interface StudyDirectory {
  readonly artifacts: Artifacts;
  readonly checkpoints: StudyCheckpointLog;
}

/** Starts a study. @throws BadInput when the directory cannot be used */
export function beginStudy(study: Study, output: string | undefined): StudyDirectory {
  const timestamp = timestampOf(new Date());
  const artifacts = Artifacts.open(process.cwd(), `${timestamp}-${study.name}`, output, renderReport);
  return {
    artifacts,
    checkpoints: studyCheckpointLogs.create(artifacts.directory, {
      kind: "study",
      name: study.name,
      fingerprint: fingerprint(study),
      seed: study.seed,
      timestamp,
      machine: machine(),
    }),
  };
}

/**
 * Resumes the latest study with this name, or the study in `output`.
 * @throws BadInput when there is no such study, its plan has changed, it was begun on a different machine, or it still
 * runs
 */
export function resumeStudy(study: Study, output: string | undefined): StudyDirectory {
  const results = resolve("results");
  const directory =
    output === undefined ? studyCheckpointLogs.latest(results, ({ name }) => name === study.name) : resolve(output);
  if (directory === undefined)
    throw BadInput.of(
      "--resume",
      "nothing-to-resume",
      `no study ${study.name} is in ${shortPath(results)}; start a new study without --resume, or name the directory of the study with --output`,
    );
  const checkpoints = studyCheckpointLogs.resume(directory);
  const problems = differences(checkpoints.header, study);
  if (problems.length === 0) return { checkpoints, artifacts: Artifacts.reopen(directory, renderReport) };
  checkpoints.close();
  throw BadInput.of(`--resume of ${shortPath(directory)}`, "other-study", problems);
}

function differences({ name, fingerprint: begun, machine: there }: StudyLogHeader, study: Study): string[] {
  return compact([
    name === study.name ? undefined : `it is the study ${name}, not ${study.name}`,
    begun === fingerprint(study)
      ? undefined
      : "the stack file, the options or the program changed since the study began; start again without --resume",
    there === machine() ? undefined : `the study began on a different machine: ${there}`,
  ]);
}

/** Identity of this machine. Rounds on a different machine would belong to a different study. */
function machine(): string {
  return `${hostname()}, ${availableCores()} × ${cpus()[0]?.model.trim() ?? "unknown"}`;
}
