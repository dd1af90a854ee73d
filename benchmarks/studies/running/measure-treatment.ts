import { REFERENCE_LOAD } from "../../measuring/reference-load";
import { runMeasurements } from "../../measuring/run-measurements";
import { type LocalValkeyBenchmarkOptions, LocalValkeyBenchmarkDriver } from "../../load/valkey-benchmark/local-driver";
import type { Workload } from "../../workloads/workload";
import { topologyOf } from "../../../valkey/verification/topology-record";
import type { MeasurementRecord } from "../../results/schema";
import { type StudyEnvironment, type TreatmentServers, withServers, withSession } from "./treatment-servers";
import type { Treatment } from "../factors";
import { measureTableGrowth } from "./table-growth";
import { type TreatmentEntry, type StudyLogEntry, recordedVersions } from "../checkpoint-log";
import { type Pinning, parseCpuList } from "../pinning";
import type { TableGrowthPlan } from "../study";

/** @param ceiling requests per second of the latest reference load @throws Failure; the signal's reason */
export async function measureTreatment(
  treatment: Treatment,
  round: number,
  ceiling: number,
  growth: TableGrowthPlan | undefined,
  pinning: Pinning | undefined,
  environment: StudyEnvironment,
): Promise<TreatmentEntry> {
  const began = performance.now();
  return withServers(treatment, pinning, environment, async (servers) => {
    const cpus = pinning === undefined ? undefined : parseCpuList(pinning.clients);
    const tool = { ...toolOf(servers, environment), count: treatment.runners, cpus };
    const records = await measure(treatment.workload, ceiling, tool, servers, environment, `round ${round}`);
    const grown =
      growth === undefined
        ? null
        : await withSession(servers, (session) => measureTableGrowth(session, tool, growth, servers.signal));
    return {
      kind: "treatment",
      round,
      treatment: treatment.id,
      seconds: (performance.now() - began) / 1000,
      records: records.map((record) => ({
        ...record,
        id: `${round}-${treatment.id}-${record.test}`,
        round,
        workload: treatment.workload.name ?? treatment.id,
      })),
      topology: topologyOf(servers.verification, servers.formationMs),
      growth: grown,
    };
  });
}

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
  return withServers(treatment, undefined, environment, async (servers) => {
    const where = `round ${round}, reference load`;
    const [record] = await measure(REFERENCE_LOAD, 0, toolOf(servers, environment), servers, environment, where);
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

function toolOf({ host }: TreatmentServers, { benchmark, features }: StudyEnvironment): LocalValkeyBenchmarkOptions {
  return { run: host.run, benchmark, features, serversHere: true };
}

async function measure(
  workload: Workload,
  referenceRate: number,
  tool: LocalValkeyBenchmarkOptions,
  { deployment, verification, signal }: TreatmentServers,
  { raw, report }: StudyEnvironment,
  where: string,
): Promise<MeasurementRecord[]> {
  const records: MeasurementRecord[] = [];
  const deployments = [{ deployment, shards: verification.verdict.shards }];
  await runMeasurements(
    { deployments, workload, repeats: 1, referenceRate },
    { valkeyBenchmark: new LocalValkeyBenchmarkDriver(tool), signal },
    {
      progress: (line) => {
        report(`${where}: ${line.replace(/^round \d+ of \d+: /, "")}`, true);
      },
      referenceLoad: () => undefined,
      record: (record) => records.push(record),
      raw: (heading, output) => {
        raw(`${where}, ${heading}`, output);
      },
    },
  );
  return records;
}
