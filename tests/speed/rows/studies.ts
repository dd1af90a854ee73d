/** Whether studies find a known difference between two deployments, and none between two equal ones. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { analysisOf } from "../../../benchmarks/studies/evaluation/evaluate";
import type { BaseDeployment, Treatment } from "../../../benchmarks/studies/factors";
import { treatmentsOf } from "../../../benchmarks/studies/factors";
import { studyCheckpointLogs } from "../../../benchmarks/studies/checkpoint-log";
import { hostStepRunner, runStudy } from "../../../benchmarks/studies/running/run-study";
import type { Study } from "../../../benchmarks/studies/study";
import { findPrograms } from "../../../platforms/host/programs/programs";
import { packagesDirectory } from "../../../lib/system/paths";
import type { Ratio, RatioVerdict } from "../../../lib/statistics/ratio";
import { detectFeatures } from "../../../benchmarks/load/valkey-benchmark/features";
import type { Benchmark } from "../benchmark";
import { slowDownServer } from "../processes/slow-server";
import { singleRow, atLeast } from "../row";

const SAME = "study-same";
const SLOWER = "study-slower";
const STUDIES = 20;
const TARGET = atLeast(18);
/** Share of the slower server's CPU time that something else uses. */
const SLOW_DOWN = 0.1;
/** Defaults of studies. */
const LIMITS = { precision: 0.05, budget: 600 };
/** Few, because the interleaved measurement decides. */
const REQUESTS = 60_000;

/** Deep enough that the server uses all of its CPU, so that a slow-down lowers its rate. */
const PIPELINE = 64;

const base = (name: string): BaseDeployment => ({
  name,
  mode: "replication",
  shape: { primaries: 1, replicasPerPrimary: 0 },
  settings: { appendonly: false, save: "" },
});

export const studies: Benchmark = {
  title: `Studies of equal servers and of a slower one, ${STUDIES} of each`,
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
      ? slowDownServer(workbench.runs, "slower-0", SLOW_DOWN, AbortSignal.any([over.signal, workbench.signal]))
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
        const found = await runOneStudy(study, (at) => hostStepRunner(study, [0], at), environment, workbench.signal);
        rounds.push(found.rounds);
        for (const [id, all] of ratios) all.push(found.ratioOf(id));
        const described = [...ratios].map(([id, all]) => `${id} ${describe(all.at(-1))}`).join(", ");
        report(`study ${number} of ${STUDIES}: ${described}; ${found.rounds} rounds`);
      }
    } finally {
      over.abort();
      await slowing;
    }
    const spent = `${rounds.reduce((sum, each) => sum + each, 0)} rounds in all`;
    const same = ratios.get("same-b");
    const slower = ratios.get("slower");
    if (same !== undefined && wanted.has(SAME)) {
      const what = `studies of ${STUDIES} that show no difference between two equal deployments (${tally(same)}); ${spent}`;
      emit(singleRow({ id: SAME, what, unit: "studies" }, countOf(same, "no-difference"), TARGET));
    }
    if (slower !== undefined && wanted.has(SLOWER)) {
      const server = `a server that spends ${100 * SLOW_DOWN} % of its CPU time on something else`;
      const what = `studies of ${STUDIES} that show ${server} to be slower (${tally(slower)}); ${spent}`;
      emit(singleRow({ id: SLOWER, what, unit: "studies" }, countOf(slower, "less"), TARGET));
    }
  },
};

type Environment = Parameters<typeof hostStepRunner>[2];

async function runOneStudy(
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
