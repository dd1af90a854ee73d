/**
 * Whether studies say what is so: no difference between two deployments that are the same, and the one that there is.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { analysisOf } from "../../benchmarks/studies/evaluation/evaluate";
import type { BaseDeployment, Treatment } from "../../benchmarks/studies/factors";
import { treatmentsOf } from "../../benchmarks/studies/factors";
import { studyCheckpointLogs } from "../../benchmarks/studies/checkpoint-log";
import { hostStepRunner, runStudy } from "../../benchmarks/studies/running/run-study";
import type { Study } from "../../benchmarks/studies/study";
import { findPrograms } from "../../platforms/host/programs";
import { packagesDirectory } from "../../lib/paths";
import type { Ratio, RatioVerdict } from "../../lib/statistics/ratio";
import { detectFeatures } from "../../benchmarks/load/valkey-benchmark/features";
import type { Benchmark } from "./benchmark";
import { slowDownServer } from "./slow-server";
import { singleRow, atLeast } from "./row";

const SAME = "study-same";
const SLOWER = "study-slower";
const STUDIES = 20;
const TARGET = atLeast(18);
/** Part of the slower server's CPU time that goes to something else. */
const HANDICAP = 0.1;
/** What studies have where nobody says otherwise. */
const LIMITS = { precision: 0.05, budget: 600 };
/**
 * A count of requests ends when it is reached, and so can be short: it is what is measured side by side that decides.
 */
const REQUESTS = 60_000;

/** So deep that the server has no time to spare: what is taken from it is then missing. */
const PIPELINE = 64;

const base = (name: string): BaseDeployment => ({
  name,
  mode: "replication",
  shape: { primaries: 1, replicasPerPrimary: 0 },
  settings: { appendonly: false, save: "" },
});

export const studies: Benchmark = {
  title: `Studies of servers that are the same, and of one that spends a tenth of its time on something else: ${STUDIES} of each`,
  ids: [SAME, SLOWER],
  run: async ({ workbench, wanted, report, emit }) => {
    const programs = await findPrograms(packagesDirectory(), () => undefined, workbench.signal);
    const environment = {
      runs: workbench.runs,
      engines: new Map([[undefined, programs]]),
      benchmark: programs.benchmark,
      features: await detectFeatures(programs.benchmark),
      zones: ["zone-a"],
      signal: workbench.signal,
      report: () => undefined,
      raw: () => undefined,
    };
    const treatments = treatmentsOf(
      [base("same-a"), base("same-b"), base("slower")].filter(
        ({ name }) => wanted.has(name === "slower" ? SLOWER : SAME) || name === "same-a",
      ),
      {},
      {
        name: undefined,
        tests: ["set"],
        clients: 24,
        pipeline: PIPELINE,
        dataSize: 64,
        threads: 1,
        keySpace: 16_384,
        length: { requests: REQUESTS },
        warmup: 0,
        rate: undefined,
      },
      1,
    );
    const ratios = new Map<string, Ratio[]>(treatments.slice(1).map(({ id }) => [id, []]));
    const over = new AbortController();
    const slowing = wanted.has(SLOWER)
      ? slowDownServer(workbench.runs, "slower-0", HANDICAP, AbortSignal.any([over.signal, workbench.signal]))
      : undefined;
    const rounds: number[] = [];
    try {
      for (let number = 1; number <= STUDIES; number++) {
        const study: Study = {
          name: "speed",
          kind: "comparison",
          treatments,
          seed: 1000 + number,
          ...LIMITS,
          tableGrowth: undefined,
        };
        const found = await carryOut(study, (lab) => hostStepRunner(study, [0], lab), environment, workbench.signal);
        rounds.push(found.rounds);
        for (const [id, all] of ratios) all.push(found.ratioOf(id));
        report(
          `study ${number} of ${STUDIES}: ${[...ratios].map(([id, all]) => `${id} ${describe(all.at(-1))}`).join(", ")}; ${found.rounds} rounds`,
        );
      }
    } finally {
      over.abort();
      await slowing;
    }
    const spent = `${rounds.reduce((sum, each) => sum + each, 0)} rounds in all`;
    const same = ratios.get("same-b");
    const slower = ratios.get("slower");
    if (same !== undefined && wanted.has(SAME))
      emit(
        singleRow(
          {
            id: SAME,
            what: `of ${STUDIES} studies of two deployments that are the same, those that show no difference (${tally(same)}); ${spent}`,
            unit: "studies",
          },
          countOf(same, "no-difference"),
          TARGET,
        ),
      );
    if (slower !== undefined && wanted.has(SLOWER))
      emit(
        singleRow(
          {
            id: SLOWER,
            what: `of ${STUDIES} studies of a server that spends ${100 * HANDICAP} % of its CPU time on something else, those that show it to be slower (${tally(slower)}); ${spent}`,
            unit: "studies",
          },
          countOf(slower, "less"),
          TARGET,
        ),
      );
  },
};

type Environment = Parameters<typeof hostStepRunner>[2];

async function carryOut(
  study: Study,
  runner: (environment: Environment) => ReturnType<typeof hostStepRunner>,
  environment: Environment,
  signal: AbortSignal,
): Promise<{ readonly rounds: number; readonly ratioOf: (id: string) => Ratio }> {
  const directory = mkdtempSync(join(tmpdir(), "study-"));
  const log = studyCheckpointLogs.create(directory, {
    kind: "study",
    name: study.name,
    fingerprint: "speed",
    seed: study.seed,
    timestamp: "20000101-000000",
    machine: "this one",
  });
  try {
    const state = await runStudy(study, log, [0], runner(environment), signal, {
      report: () => undefined,
      round: () => undefined,
    });
    const findings = analysisOf(state);
    const [first] = study.treatments;
    const treatment = (id: string): Treatment | undefined => findings.treatment(id);
    return {
      rounds: state.rounds,
      ratioOf: (id) => {
        const other = treatment(id);
        if (first === undefined || other === undefined) throw new Error(`there is no treatment ${id}`);
        return findings.ratio(first, other, "set", "throughput");
      },
    };
  } finally {
    log.close();
    rmSync(directory, { recursive: true });
  }
}

function describe(ratio: Ratio | undefined): string {
  return ratio?.ratio === undefined
    ? "not measured"
    : `${ratio.ratio.toFixed(3)} (${ratio.low?.toFixed(2) ?? "?"} to ${ratio.high?.toFixed(2) ?? "?"})`;
}

function countOf(ratios: readonly Ratio[], verdict: RatioVerdict): number {
  return ratios.filter((ratio) => ratio.verdict === verdict).length;
}

/** `18 no-difference, 2 less` */
function tally(ratios: readonly Ratio[]): string {
  const verdicts = [...new Set(ratios.map(({ verdict }) => verdict))];
  return verdicts.map((verdict) => `${countOf(ratios, verdict)} ${verdict}`).join(", ");
}
