/** Measures one treatment, or the reference load, on separate servers. */
import type { MeasurementSeries } from "../../measuring/measurement-series";
import { REFERENCE_LOAD } from "../../measuring/reference-load";
import { runMeasurements } from "../../measuring/run-measurements";
import type { LocalValkeyBenchmarkOptions } from "../../load/valkey-benchmark/local-driver";
import { LocalValkeyBenchmarkDriver } from "../../load/valkey-benchmark/local-driver";
import type { VerifiedDeployment } from "../../measuring/session";
import { Session } from "../../measuring/session";
import { topologyOf } from "../../../valkey/verification/topology-record";
import type { MeasurementRecord } from "../../results/schema";
import type { StudyEnvironment } from "./treatment-servers";
import { withServers } from "./treatment-servers";
import type { Treatment } from "../factors";
import { measureTableGrowth } from "./table-growth";
import type { TreatmentEntry, StudyLogEntry } from "../checkpoint-log";
import type { Pinning } from "../pinning";
import { parseCpuList } from "../pinning";
import type { TableGrowthPlan } from "../study";
import { recordedVersions } from "../versions";

/**
 * Measures every test of a treatment once. If the study includes table growth, table growth is measured as well.
 * @param ceiling requests per second of the latest reference load
 * @throws Failure if servers do not start, fail verification or cannot be measured; the reason of the signal if the
 * signal is aborted
 */
export async function measureTreatment(
  treatment: Treatment,
  round: number,
  ceiling: number,
  growth: TableGrowthPlan | undefined,
  pinning: Pinning | undefined,
  environment: StudyEnvironment,
): Promise<TreatmentEntry> {
  const began = performance.now();
  return withServers(
    treatment,
    pinning,
    environment,
    async ({ host, deployment, verification, formationMs, signal }) => {
      const verified = { deployment, shards: verification.verdict.shards };
      const tool: LocalValkeyBenchmarkOptions = {
        run: host.run,
        benchmark: environment.benchmark,
        features: environment.features,
        serversHere: true,
        count: treatment.runners,
        cpus: pinning === undefined ? undefined : parseCpuList(pinning.clients),
      };
      const records: MeasurementRecord[] = [];
      await measure(
        { deployments: [verified], workload: treatment.workload, repeats: 1, referenceRate: ceiling },
        tool,
        signal,
        environment,
        `round ${round}`,
        (record) => {
          records.push({
            ...record,
            id: `${round}-${treatment.id}-${record.test}`,
            round,
            workload: treatment.workload.name ?? treatment.id,
          });
        },
      );
      const grown =
        growth === undefined
          ? null
          : await withSession(verified, (session) => measureTableGrowth(session, tool, growth, signal));
      return {
        kind: "treatment",
        round,
        treatment: treatment.id,
        seconds: (performance.now() - began) / 1000,
        records,
        topology: topologyOf(verification, formationMs),
        growth: grown,
      };
    },
  );
}

/** Measures the reference load on a server with fixed settings. */
export async function measureReferenceRate(
  round: number,
  place: number,
  environment: StudyEnvironment,
): Promise<Extract<StudyLogEntry, { kind: "reference-load" }>> {
  const began = performance.now();
  const treatment: Treatment = {
    id: "reference-load",
    label: "reference load",
    baseDeployment: "reference-load",
    levels: {},
    mode: "replication",
    shape: { primaries: 1, replicasPerPrimary: 0 },
    settings: { appendonly: false, save: "", "io-threads": 1 },
    engine: undefined,
    cpus: undefined,
    workload: REFERENCE_LOAD,
    runners: 1,
  };
  return withServers(treatment, undefined, environment, async ({ host, deployment, verification, signal }) => {
    const tool: LocalValkeyBenchmarkOptions = {
      run: host.run,
      benchmark: environment.benchmark,
      features: environment.features,
      serversHere: true,
    };
    const records: MeasurementRecord[] = [];
    await measure(
      {
        deployments: [{ deployment, shards: verification.verdict.shards }],
        workload: REFERENCE_LOAD,
        repeats: 1,
        referenceRate: 0,
      },
      tool,
      signal,
      environment,
      `round ${round}, reference load`,
      (record) => records.push(record),
    );
    const [record] = records;
    if (record === undefined) throw new Error("the reference load left no record");
    return {
      kind: "reference-load",
      round,
      place,
      rps: record.client.rps,
      startedAt: record.startedAt,
      seconds: (performance.now() - began) / 1000,
      versions: recordedVersions(environment.engines),
    };
  });
}

function measure(
  experiment: MeasurementSeries,
  tool: LocalValkeyBenchmarkOptions,
  signal: AbortSignal,
  { raw, report }: StudyEnvironment,
  where: string,
  record: (record: MeasurementRecord) => void,
): Promise<void> {
  const listener = {
    progress: (line: string) => {
      report(`${where}: ${line.replace(/^round \d+ of \d+: /, "")}`, true);
    },
    referenceLoad: () => undefined,
    record,
    raw: (heading: string, output: string) => {
      raw(`${where}, ${heading}`, output);
    },
  };
  return runMeasurements(experiment, { valkeyBenchmark: new LocalValkeyBenchmarkDriver(tool), signal }, listener);
}

async function withSession<T>(verified: VerifiedDeployment, use: (session: Session) => Promise<T>): Promise<T> {
  const session = await Session.open(verified);
  try {
    return await use(session);
  } finally {
    await session.close();
  }
}
