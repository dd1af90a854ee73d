import { randomInt } from "node:crypto";
import { existsSync } from "node:fs";
import { cpus, hostname } from "node:os";
import { compact } from "../../lib/compact";
import { didYouMean } from "../../lib/did-you-mean";
import { BadInput } from "../../lib/errors";
import { type StudyState, evaluateStudy, studyResults } from "../../benchmarks/studies/evaluation/evaluate";
import type { StudyCheckpointLog, StudyLogHeader } from "../../benchmarks/studies/checkpoint-log";
import { changedVersions, studyCheckpointLogs } from "../../benchmarks/studies/checkpoint-log";
import { availableCpus } from "../../benchmarks/studies/pinning";
import type { StudyEnvironment } from "../../benchmarks/studies/running/treatment-servers";
import { assertRunnerSupports } from "../../benchmarks/measuring/runner-support";
import { hostStepRunner, runStudy } from "../../benchmarks/studies/running/run-study";
import { type Study, fingerprint } from "../../benchmarks/studies/study";
import { findEngines } from "../../platforms/host/programs/engines";
import { stopAbandonedRuns } from "../../platforms/host/run-directory";
import { availableCores } from "../../platforms/host/cpu";
import {
  allRunsDirectories,
  removeEmptyMemoryDirectory,
  memoryRunsDirectory,
  comparisonPackagesDirectory,
  packagesDirectory,
  runsDirectory,
} from "../../lib/system/paths";
import { renderReport } from "../../benchmarks/report/page";
import { Artifacts, shortPath, timestampOf } from "../../benchmarks/run/artifacts";
import { describeEnvironment } from "../../benchmarks/results/environment";
import type { Environment, Results } from "../../benchmarks/results/schema";
import { describeEnd, formatStudy } from "../../benchmarks/results/formats/study-summary";
import { formatDuration, formatPercent } from "../../lib/units";
import { detectFeatures } from "../../benchmarks/load/valkey-benchmark/arguments";
import type { OptionOverrides } from "../../stacks/config/sections/option-overrides";
import { print } from "../terminal/terminal";
import { STACKS_DIRECTORY } from "../../stacks/config/sections/paths";
import { studyTreatments } from "../../stacks/plan/benchmark-plans";
import type { HostStackConfig } from "../../stacks/config/schema/stack";
import type { StudySectionConfig } from "../../stacks/config/schema/study";
import { stackNames, studyNames } from "../../stacks/config/sections/stack-file";
import { resumeLog } from "../running/resume";
import { runToEnd } from "../running/run-to-end";
import { readStack, requireHost } from "../running/stack-config";
import { type Step, runSteps } from "../terminal/steps";
import { COMMAND } from "../../lib/system/package";

export interface StudyOptions {
  readonly name: string;
  readonly resume: boolean;
  readonly overrides: OptionOverrides;
  readonly study: Readonly<Record<string, unknown>>;
}

type StudyConfig = HostStackConfig & { readonly study: StudySectionConfig };

export async function runNamedStudy(options: StudyOptions, interruption: AbortSignal): Promise<number> {
  const { name } = options;
  const { stack, config } = readStudy(options);
  const { study } = config;
  const { output } = config.benchmark;
  const plan: Study = {
    name,
    kind: study.kind,
    treatments: studyTreatments(config),
    seed: study.seed ?? randomInt(1, 1_000_000_000),
    precision: study.precision,
    budget: study.budget,
    tableGrowth: study.growth,
  };
  const { artifacts, checkpoints } = options.resume ? resumeStudy(plan, study.seed, output) : beginStudy(plan, output);
  const { seed } = checkpoints.header;
  const run = new StudyRun({ ...plan, seed }, config, stack, checkpoints, artifacts, interruption);
  const already = checkpoints.entries.length;
  await runToEnd({
    execute: async () => {
      await runSteps([run.prepare(), run.measure()]);
      return null;
    },
    causeOf: (error) => error,
    finish: (reason, error) => {
      removeEmptyMemoryDirectory();
      try {
        if (checkpoints.entries.length === 0) return;
        // If nothing new was measured, the results of the earlier run are not written again.
        const isNew = checkpoints.entries.length > already || !existsSync(artifacts.path("results.json"));
        if (run.hasBegun && (reason === null || isNew))
          print("", ...formatStudy(run.write(reason)), `Report: ${shortPath(artifacts.path("report.html"))}`);
        if (reason !== null && !(error instanceof BadInput))
          print(
            "",
            `Finished measurements are kept. To continue: ${COMMAND} study ${name} --resume${output === undefined ? "" : ` --output ${output}`}`,
          );
      } finally {
        checkpoints.close();
      }
    },
  });
  return 0;
}

interface StudyDirectory {
  readonly artifacts: Artifacts;
  readonly checkpoints: StudyCheckpointLog;
}

function beginStudy(study: Study, output: string | undefined): StudyDirectory {
  const { name, seed } = study;
  const timestamp = timestampOf(new Date());
  const artifacts = Artifacts.open(process.cwd(), `${timestamp}-${name}`, output, renderReport);
  const header = { kind: "study" as const, name, fingerprint: fingerprint(study), seed, timestamp, machine: machine() };
  return { artifacts, checkpoints: studyCheckpointLogs.create(artifacts.directory, header, artifacts.release) };
}

function resumeStudy(study: Study, seed: number | undefined, output: string | undefined): StudyDirectory {
  const { directory, checkpoints } = resumeLog({
    logs: studyCheckpointLogs,
    output,
    isSame: ({ name }) => name === study.name,
    missing: {
      what: `study ${study.name}`,
      remedy: "start a new study without --resume, or name the directory of the study with --output",
    },
    differences: (header) => differences(header, study, seed),
    code: "other-study",
  });
  return { checkpoints, artifacts: Artifacts.reopen(directory, renderReport, checkpoints.release) };
}

function differences(
  { name, fingerprint: begun, seed: first, machine: there }: StudyLogHeader,
  study: Study,
  seed = first,
): string[] {
  return compact([
    name === study.name ? undefined : `it is the study ${name}, not ${study.name}`,
    seed === first ? undefined : `the study began with the seed ${first}, not ${seed}; leave out --seed`,
    begun === fingerprint(study)
      ? undefined
      : "the stack file, the options or the program changed since the study began; start again without --resume",
    there === machine() ? undefined : `the study began on a different machine: ${there}`,
  ]);
}

/** Rounds on a different machine would belong to a different study. */
function machine(): string {
  return `${hostname()}, ${availableCores()} × ${cpus()[0]?.model.trim() ?? "unknown"}`;
}

class StudyRun {
  #environmentOfStudy: Omit<StudyEnvironment, "report"> | undefined;
  #environment: Environment = describeEnvironment(null);
  #state: StudyState;
  hasBegun = false;

  constructor(
    private readonly study: Study,
    private readonly config: StudyConfig,
    private readonly stack: string,
    private readonly checkpoints: StudyCheckpointLog,
    private readonly artifacts: Artifacts,
    private readonly interruption: AbortSignal,
  ) {
    const { entries } = checkpoints;
    this.#state = { study, entries, cpus: availableCpus(availableCores()), rounds: 0, ended: "not-yet" };
  }

  prepare(): Step {
    const { treatments } = this.study;
    return {
      title: "Find the server programs",
      run: async (report) => {
        await stopAbandonedRuns(...allRunsDirectories());
        const engines = await findEngines(
          new Set([undefined, ...treatments.map(({ engine }) => engine)]),
          { packages: packagesDirectory(), comparison: comparisonPackagesDirectory() },
          report,
          this.interruption,
        );
        const own = engines.get(undefined);
        if (own === undefined) throw new Error("Valkey was not looked for");
        const changed = changedVersions(this.checkpoints.entries, engines);
        if (changed.length > 0)
          throw BadInput.of(`--resume of ${shortPath(this.artifacts.directory)}`, "other-version", changed);
        const features = await detectFeatures(own.benchmark);
        for (const { workload, runners } of treatments)
          assertRunnerSupports({ workload }, { features, count: runners });
        this.#environment = { ...this.#environment, programs: { version: own.version, source: own.source } };
        this.#environmentOfStudy = {
          runs: memoryRunsDirectory() ?? runsDirectory(),
          engines,
          benchmark: own.benchmark,
          features,
          zones: this.config.platform.zones,
          signal: this.interruption,
          raw: (heading, output) => {
            this.artifacts.addRaw(heading, output);
          },
        };
        const found = [...engines.values()].map(
          ({ product, version, source }) => `${product} ${version} from ${source}`,
        );
        return [...new Set(found)].join(", ");
      },
    };
  }

  measure(): Step {
    const { name, treatments, precision, budget } = this.study;
    const already = this.checkpoints.entries.length;
    const goal = `until their comparisons are precise to ${formatPercent(precision)}, for at most ${formatDuration(budget)}`;
    const resumed = already === 0 ? "" : `; ${already} measurements from earlier`;
    return {
      title: `Study ${name}: ${treatments.length} treatments, ${goal}${resumed}`,
      run: async (report) => {
        if (this.#environmentOfStudy === undefined) throw new Error("the study is not prepared");
        const { cpus: all } = this.#state;
        const round = (state: StudyState, isNew: boolean): void => {
          this.#state = state;
          if (isNew) this.write("the study has not ended");
        };
        this.hasBegun = true;
        this.#state = await runStudy(
          this.study,
          this.checkpoints,
          all,
          hostStepRunner(this.study, all, { ...this.#environmentOfStudy, report }),
          this.interruption,
          { report, round },
        );
        return `Studied ${name} in ${this.#state.rounds} rounds: ${describeEnd(evaluateStudy(this.#state))}`;
      },
    };
  }

  /** Writes all results, except the checkpoint log and raw.txt, which are already on the disk. */
  write(reason: string | null): Results {
    const { entries, header } = this.checkpoints;
    const { stack, config: configuration } = this;
    const description = { timestamp: header.timestamp, stack, configuration, environment: this.#environment };
    const results = studyResults({ ...this.#state, entries }, description, reason);
    this.artifacts.writeAllButRaw(results);
    return results;
  }
}

function readStudy({ name, overrides, study }: StudyOptions): {
  readonly stack: string;
  readonly config: StudyConfig;
} {
  const stack = studyStack(name);
  const withOptions = (raw: Readonly<Record<string, unknown>>): Record<string, unknown> => {
    const section = raw["study"];
    if (typeof section !== "object" || section === null)
      throw BadInput.of(
        `stack ${stack}`,
        "no-study-section",
        "has no section valkey:study; add one with the factors to vary",
      );
    return { ...raw, study: { ...section, ...study } };
  };
  const config = requireHost(stack, readStack(stack, withOptions, overrides), "; studies need the platform host");
  if (config.study === undefined) throw new Error("the section was there before");
  return { stack, config: { ...config, study: config.study } };
}

function studyStack(name: string): string {
  const names = stackNames(STACKS_DIRECTORY);
  if (studyNames(STACKS_DIRECTORY).includes(name)) return `study-${name}`;
  if (names.includes(name)) return name;
  const known = studyNames(STACKS_DIRECTORY);
  throw BadInput.of(
    "study",
    "no-such-study",
    `there is no study ${name};${didYouMean(name, known)} Studies: ${known.join(", ")}, or a stack with valkey:study`,
  );
}
