/**
 * `npm start -- study`: runs the study of a stack on this machine until its comparisons are precise enough. A study can
 * be resumed.
 */
import { randomInt } from "node:crypto";
import { existsSync } from "node:fs";
import { totalmem } from "node:os";
import { BadInput, messageOf } from "../../lib/errors";
import type { StudyState } from "../../benchmarks/studies/evaluation/evaluate";
import { evaluateStudy } from "../../benchmarks/studies/evaluation/evaluate";
import type { StudyCheckpointLog } from "../../benchmarks/studies/checkpoint-log";
import { availableCpus } from "../../benchmarks/studies/pinning";
import type { StudyEnvironment } from "../../benchmarks/studies/running/treatment-servers";
import { hostStepRunner, runStudy } from "../../benchmarks/studies/running/run-study";
import type { Study } from "../../benchmarks/studies/study";
import { studyResults } from "../../benchmarks/studies/evaluation/study-results";
import { changedVersions } from "../../benchmarks/studies/versions";
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
import type { Artifacts } from "../../benchmarks/run/artifacts";
import { shortPath } from "../../benchmarks/run/artifacts";
import { describeEnvironment } from "../../benchmarks/results/environment";
import type { Environment, Results } from "../../benchmarks/results/schema";
import { describeEnd, formatStudy } from "../../benchmarks/results/formats/study-summary";
import { formatDuration, formatPercent } from "../../lib/units";
import { detectFeatures } from "../../benchmarks/load/valkey-benchmark/features";
import type { OptionOverrides } from "../../stacks/config/sections/option-overrides";
import { parseConfig } from "../../stacks/config/parse";
import { print } from "../terminal/terminal";
import { STACKS_DIRECTORY } from "../../stacks/config/sections/paths";
import { studyTreatments } from "../../stacks/plan/benchmark-plans";
import type { HostStackConfig } from "../../stacks/config/schema/stack";
import type { StudySectionConfig } from "../../stacks/config/schema/study";
import { readStackFile, stackNames } from "../../stacks/config/sections/stack-file";
import type { Step } from "../terminal/steps";
import { runSteps } from "../terminal/steps";
import { beginStudy, resumeStudy } from "./study-directory";
import { COMMAND } from "../../lib/system/package";

/** Options of `study`. */
export interface StudyOptions {
  /** Name of a study, such as `io-threads` for the stack `study-io-threads`, or name of a stack. */
  readonly name: string;
  readonly resume: boolean;
  readonly overrides: OptionOverrides;
  /** Values that override the section `study`. */
  readonly study: Readonly<Record<string, unknown>>;
}

type StudyConfig = HostStackConfig & { readonly study: StudySectionConfig };

/**
 * Runs a study to its end.
 * @returns 0
 * @throws BadInput, Failure, Interrupted. Before an error is thrown, finished measurements are written to the
 *   checkpoint log and the results
 */
export async function runNamedStudy(options: StudyOptions, interruption: AbortSignal): Promise<number> {
  const { stack, config } = readStudy(options);
  const { study, benchmark } = config;
  const plan: Study = {
    name: options.name,
    kind: study.kind,
    treatments: studyTreatments(config),
    seed: study.seed ?? randomInt(1, 1_000_000_000),
    precision: study.precision,
    budget: study.budget,
    tableGrowth: study.growth,
  };
  const { artifacts, checkpoints } = options.resume
    ? resumeStudy(plan, benchmark.output)
    : beginStudy(plan, benchmark.output);
  const run = new StudyRun(
    { ...plan, seed: checkpoints.header.seed },
    config,
    stack,
    checkpoints,
    artifacts,
    interruption,
  );
  const already = checkpoints.entries.length;
  let reason: string | null = null;
  let isRefused = false;
  try {
    await runSteps([run.prepare(), run.measure()]);
  } catch (error) {
    reason = messageOf(error);
    isRefused = error instanceof BadInput;
    throw error;
  } finally {
    removeEmptyMemoryDirectory();
    checkpoints.close();
    if (checkpoints.entries.length === 0) artifacts.discardIfEmpty();
    else {
      // If nothing new was measured, the results of the earlier run are not written again.
      if (
        run.hasBegun &&
        (reason === null || checkpoints.entries.length > already || !existsSync(artifacts.path("results.json")))
      )
        print("", ...formatStudy(run.write(reason)), `Report: ${shortPath(artifacts.path("report.html"))}`);
      if (reason !== null && !isRefused)
        print(
          "",
          `Finished measurements are kept. To continue: ${COMMAND} study ${options.name} --resume${benchmark.output === undefined ? "" : ` --output ${benchmark.output}`}`,
        );
    }
  }
  return 0;
}

class StudyRun {
  #environmentOfStudy: Omit<StudyEnvironment, "report"> | undefined;
  #environment: Environment = describeEnvironment(null);
  #state: StudyState;
  /** Whether the study has begun to measure, or has resumed measuring. */
  hasBegun = false;

  constructor(
    private readonly study: Study,
    private readonly config: StudyConfig,
    private readonly stack: string,
    private readonly checkpoints: StudyCheckpointLog,
    private readonly artifacts: Artifacts,
    private readonly interruption: AbortSignal,
  ) {
    this.#state = {
      study,
      entries: checkpoints.entries,
      cpus: availableCpus(availableCores()),
      rounds: 0,
      ended: "not-yet",
    };
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
        this.#environment = { ...this.#environment, programs: { version: own.version, source: own.source } };
        this.#environmentOfStudy = {
          runs: memoryRunsDirectory() ?? runsDirectory(),
          engines,
          benchmark: own.benchmark,
          features: await detectFeatures(own.benchmark),
          zones: this.config.platform.zones,
          signal: this.interruption,
          raw: (heading, output) => {
            this.artifacts.addRaw(heading, output);
          },
        };
        return [
          ...new Set(
            [...engines.values()].map(({ product, version, source }) => `${product} ${version} from ${source}`),
          ),
        ].join(", ");
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
        const { cpus } = this.#state;
        const round = (state: StudyState, isNew: boolean): void => {
          this.#state = state;
          if (isNew) this.write("the study has not ended");
        };
        this.hasBegun = true;
        this.#state = await runStudy(
          this.study,
          this.checkpoints,
          cpus,
          hostStepRunner(this.study, cpus, { ...this.#environmentOfStudy, report }),
          this.interruption,
          { report, round },
        );
        return `Studied ${name} in ${this.#state.rounds} rounds: ${describeEnd(evaluateStudy(this.#state))}`;
      },
    };
  }

  /** Writes all results, except the checkpoint log and raw.txt, which are already on the disk. */
  write(reason: string | null): Results {
    const results = studyResults(
      { ...this.#state, entries: this.checkpoints.entries },
      {
        timestamp: this.checkpoints.header.timestamp,
        stack: this.stack,
        configuration: this.config,
        environment: this.#environment,
      },
      reason,
    );
    this.artifacts.writeAllButRaw(results);
    return results;
  }
}

/**
 * Reads the stack and the study.
 * @throws BadInput when there is no such study, or its stack or the options have problems
 */
function readStudy({ name, overrides, study }: StudyOptions): {
  readonly stack: string;
  readonly config: StudyConfig;
} {
  const stack = studyStack(name);
  if ("repeats" in overrides.benchmark) {
    const remedy = "set --precision and --budget instead";
    throw BadInput.of(
      "--repeats",
      "study-with-repeats",
      `a study repeats until its comparisons are precise enough; ${remedy}`,
    );
  }
  const raw = readStackFile(STACKS_DIRECTORY, stack);
  const section = raw["study"];
  if (typeof section !== "object" || section === null) {
    throw BadInput.of(
      `stack ${stack}`,
      "no-study-section",
      "has no section valkey:study; add one with the factors to vary",
    );
  }
  const machine = { cores: availableCores(), memoryBytes: totalmem() };
  const sections = { ...raw, study: { ...section, ...study } };
  const config = parseConfig(`stack ${stack}`, sections, machine, overrides);
  const { platform } = config;
  if (platform.type !== "host" || config.study === undefined) {
    throw BadInput.of(
      `stack ${stack}`,
      "other-platform",
      `its platform is ${platform.type}; studies need the platform host`,
    );
  }
  return { stack, config: { ...config, platform, study: config.study } };
}

/** The stack of a study: `study-NAME`, or else the stack NAME. @throws BadInput when neither exists */
function studyStack(name: string): string {
  const names = stackNames(STACKS_DIRECTORY);
  if (names.includes(`study-${name}`)) return `study-${name}`;
  if (names.includes(name)) return name;
  const known = names.filter((each) => each.startsWith("study-")).map((each) => each.slice("study-".length));
  throw BadInput.of(
    "study",
    "no-such-study",
    `there is no study ${name}. Studies: ${known.join(", ")}, or a stack with valkey:study`,
  );
}
