/** Whether studies find a known difference between two deployments, and none between two equal ones. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { detectFeatures } from "../../benchmarks/load/valkey-benchmark/arguments";
import { studyCheckpointLogs } from "../../benchmarks/studies/checkpoint-log";
import { analysisOf } from "../../benchmarks/studies/evaluation/evaluate";
import { type BaseDeployment, treatmentsOf } from "../../benchmarks/studies/factors";
import { hostStepRunner, runStudy } from "../../benchmarks/studies/running/run-study";
import type { Study } from "../../benchmarks/studies/study";
import type { Ratio, RatioVerdict } from "../../lib/statistics/ratio";
import { packagesDirectory } from "../../lib/system/paths";
import { type ProcessIdentity, isProcessAlive, parseProcessRecord } from "../../lib/system/process-identity";
import { LOOPBACK } from "../../platforms/host/ports";
import { findPrograms } from "../../platforms/host/programs/programs";
import { RunDirectory } from "../../platforms/host/run-directory";
import { connect } from "../../valkey/connection";
import type { Benchmark, BenchmarkContext } from "../workbench";
import { sumOf } from "../fault-driver";
import { cpuSeconds } from "../proc";
import { atLeast, singleRow } from "../row";

const SAME = "study-same";
const SLOWER = "study-slower";
const STUDIES = 20;
const TARGET = atLeast(18);
/** Share of the slower server's CPU time that something else uses. */
const SLOW_DOWN = 0.1;
const LIMITS = { precision: 0.05, budget: 600 };
/** Few requests, because the interleaved measurement decides. So deep a pipeline that the server uses all of its CPU. */
const WORKLOAD: Parameters<typeof treatmentsOf>[2] = {
  ...{ name: undefined, tests: ["set"], clients: 24, pipeline: 64, dataSize: 64, threads: 1, keySpace: 16_384 },
  ...{ length: { requests: 60_000 }, warmup: 0, rate: undefined },
};

const base = (name: string): BaseDeployment => ({
  ...{ name, mode: "replication", shape: { primaries: 1, replicasPerPrimary: 0 } },
  settings: { appendonly: false, save: "" },
});

type Environment = Parameters<typeof hostStepRunner>[2];

export const studies: Benchmark = {
  title: `Studies of equal servers and of a slower one, ${STUDIES} of each`,
  ids: [SAME, SLOWER],
  run: async ({ workbench: { runs }, signal, wanted, report, emit }) => {
    const programs = await findPrograms(packagesDirectory(), () => undefined, signal);
    const { benchmark } = programs;
    const environment: Environment = {
      ...{ runs, engines: new Map([[undefined, programs]]), benchmark, features: await detectFeatures(benchmark) },
      ...{ zones: ["zone-a"], signal, report: () => undefined, raw: () => undefined },
    };
    const names = ["same-a", ...(wanted.has(SAME) ? ["same-b"] : []), ...(wanted.has(SLOWER) ? ["slower"] : [])];
    const treatments = treatmentsOf(names.map(base), {}, WORKLOAD, 1);
    const ratios = new Map<string, Ratio[]>(treatments.slice(1).map(({ id }) => [id, []]));
    const over = new AbortController();
    const slowing = wanted.has(SLOWER)
      ? slowDownServer(runs, "slower-0", SLOW_DOWN, AbortSignal.any([over.signal, signal]))
      : undefined;
    const rounds: number[] = [];
    try {
      for (let number = 1; number <= STUDIES; number++) {
        const study: Study = {
          ...{ name: "speed", kind: "comparison", treatments, seed: 1000 + number, ...LIMITS, tableGrowth: undefined },
        };
        const found = await runOneStudy(study, environment, signal);
        rounds.push(found.rounds);
        for (const [id, all] of ratios) all.push(found.ratioOf(id));
        const described = [...ratios].map(([id, all]) => `${id} ${describe(all.at(-1))}`).join(", ");
        report(`study ${number} of ${STUDIES}: ${described}; ${found.rounds} rounds`);
      }
    } finally {
      over.abort();
      await slowing;
    }
    const slower = `show a server that spends ${100 * SLOW_DOWN} % of its CPU time on something else to be slower`;
    emitStudies(SAME, ratios.get("same-b"), "no-difference", "show no difference between two equal deployments");
    emitStudies(SLOWER, ratios.get("slower"), "less", slower);

    function emitStudies(id: string, found: readonly Ratio[] = [], verdict: RatioVerdict, text: string): void {
      const what = `studies of ${STUDIES} that ${text} (${tally(found)}); ${sumOf(rounds, (each) => each)} rounds in all`;
      emit(singleRow({ id, what, unit: "studies" }, countOf(found, verdict), TARGET));
    }
  },
};

async function runOneStudy(
  study: Study,
  environment: Environment,
  signal: BenchmarkContext["signal"],
): Promise<{ readonly rounds: number; readonly ratioOf: (id: string) => Ratio }> {
  const directory = mkdtempSync(join(tmpdir(), "study-"));
  const { name, seed } = study;
  const log = studyCheckpointLogs.create(directory, {
    ...{ kind: "study", name, fingerprint: "speed", seed, timestamp: "20000101-000000", machine: "this one" },
  });
  try {
    const progress = { report: () => undefined, round: () => undefined };
    const state = await runStudy(study, log, [0], hostStepRunner(study, [0], environment), signal, progress);
    const findings = analysisOf(state);
    const [first] = study.treatments;
    const ratioOf = (id: string): Ratio => {
      const other = findings.treatment(id);
      if (first === undefined || other === undefined) throw new Error(`there is no treatment ${id}`);
      return findings.ratio(first, other, "set", "throughput");
    };
    return { rounds: state.rounds, ratioOf };
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

const countOf = (ratios: readonly Ratio[], verdict: RatioVerdict): number =>
  ratios.filter((ratio) => ratio.verdict === verdict).length;

/** `18 no-difference, 2 less` */
function tally(ratios: readonly Ratio[]): string {
  const verdicts = [...new Set(ratios.map(({ verdict }) => verdict))];
  return verdicts.map((verdict) => `${countOf(ratios, verdict)} ${verdict}`).join(", ");
}

/** Uses CPU for about a quarter of a millisecond, and does nothing else. */
const SCRIPT = "local x = 0 for i = 1, 30000 do x = x + i end return x";
const TRIALS = 20;
const POLL_MS = 10;
const PAUSE_MS = 2;

/**
 * Keeps the server of a node busy for a share of its own CPU time, whenever there is one. A server without CPU to spare
 * then answers fewer requests by that share, whether it runs all the time or is paused now and then.
 */
async function slowDownServer(runs: string, node: string, share: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const found = findServer(runs, node);
    // The connection breaks when the server ends.
    if (found !== undefined) await keepBusy(found, share, signal).catch(() => undefined);
    await pause(POLL_MS, signal);
  }
}

interface RunningServer {
  readonly identity: ProcessIdentity;
  readonly port: number;
  readonly password: string;
}

async function keepBusy(
  { identity, port, password }: RunningServer,
  share: number,
  signal: AbortSignal,
): Promise<void> {
  const connection = await connect("slow-server", { host: LOOPBACK, port }, { password });
  try {
    const spentSince = (began: number): number => cpuSeconds(identity.pid) - began;
    let began = cpuSeconds(identity.pid);
    for (let trial = 0; trial < TRIALS; trial++) await connection.eval(SCRIPT, 0);
    const each = spentSince(began) / TRIALS;
    began = cpuSeconds(identity.pid);
    let spent = 0;
    while (!signal.aborted && isProcessAlive(identity)) {
      if (spentSince(began) * share < spent) await pause(PAUSE_MS, signal);
      else {
        await connection.eval(SCRIPT, 0);
        spent += each;
      }
    }
  } finally {
    connection.disconnect();
  }
}

function findServer(runs: string, node: string): RunningServer | undefined {
  for (const { path } of RunDirectory.list(runs)) {
    try {
      const record = readdirSync(join(path, "processes")).find((name) => name.startsWith(`${node}.`));
      const identity =
        record === undefined ? undefined : parseProcessRecord(readFileSync(join(path, "processes", record), "utf8"));
      const config = readFileSync(join(path, node.replace(/-\d+$/, ""), node, "valkey.conf"), "utf8");
      const value = (directive: string): string | undefined =>
        new RegExp(`^${directive} "?([^"\n]*)`, "m").exec(config)?.[1];
      const [port, password] = [value("port"), value("requirepass")];
      if (identity !== undefined && isProcessAlive(identity) && port !== undefined && password !== undefined)
        return { identity, port: Number(port), password };
    } catch {
      // The files of a run appear after its directory, and disappear before it.
    }
  }
  return undefined;
}

/** Ends early, without rejecting, when the signal is aborted. */
async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await sleep(milliseconds, undefined, { signal }).catch(() => undefined);
}
