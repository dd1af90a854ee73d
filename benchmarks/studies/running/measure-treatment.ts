import { setTimeout as sleep } from "node:timers/promises";
import { REFERENCE_LOAD } from "../../measuring/reference-load";
import { runMeasurements } from "../../measuring/run-measurements";
import { type LocalValkeyBenchmarkOptions, LocalValkeyBenchmarkDriver } from "../../load/valkey-benchmark/local-driver";
import type { Workload } from "../../workloads/workload";
import { topologyOf } from "../../../valkey/verification/topology-record";
import type { MeasurementRecord } from "../../results/schema";
import { type StudyEnvironment, type TreatmentServers, withServers, withSession } from "./treatment-servers";
import type { Treatment } from "../factors";
import { type TreatmentEntry, type StudyLogEntry, recordedVersions } from "../checkpoint-log";
import { type Pinning, parseCpuList } from "../pinning";
import type { TableGrowthPlan } from "../study";
import { Failure } from "../../../lib/errors";
import { type ProcessExit, formatExit, pinnedCommand, startRecorded } from "../../../platforms/host/processes";
import { identifyProcess, signalProcess } from "../../../lib/system/process-identity";
import type { Session } from "../../measuring/session";
import type { TableGrowth } from "../../results/study-schema";
import { infoFields, infoNumber, parseInfo } from "../../../valkey/topology/replies";

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

const INTERVAL_MS = 50;
/** As in the document "Dragonfly head-to-head" (docs/sources.md). No key expires during the run. */
const COMMAND = ["SETEX", "key:__rand_int__", "10000", "__data__"];
const CLIENTS = 48;
const PIPELINE = 16;

/**
 * Samples the memory and the insertion rate of an empty server while keys are inserted, from its own counters. Flushes
 * the server before and after.
 * @param session has one primary in replication mode, whose data are the study's
 * @throws Failure when the load generator fails; the reason of the signal if it is aborted
 */
async function measureTableGrowth(
  session: Session,
  tool: LocalValkeyBenchmarkOptions,
  { keys, dataSize }: TableGrowthPlan,
  signal: AbortSignal,
): Promise<TableGrowth> {
  const { connection } = session.primary;
  const read = async (): Promise<Sample> => sampleOf(await connection.info("everything"));
  // A flush in the background would free memory during the measurement.
  await connection.flushall("SYNC");
  const before = await read();
  const credentials = session.user === undefined ? [] : ["--user", session.user.username, "-a", session.user.password];
  const { host, port } = session.endpoint;
  const load = `-c ${CLIENTS} -P ${PIPELINE} -d ${dataSize} -r ${keys} -n ${keys} --sequential -q`.split(" ");
  const target = ["-h", host, "-p", String(port), ...credentials];
  const [command, ...args] = pinnedCommand(tool.cpus?.join(","), tool.benchmark, [...target, ...load, ...COMMAND]);
  signal.throwIfAborted();
  const child = startRecorded(tool.run, "valkey-benchmark-growth", command, args, { stdio: "ignore" });
  const stop = (): void => {
    const identity = identifyProcess(child.pid);
    if (identity !== undefined) signalProcess(identity, "SIGKILL");
  };
  signal.addEventListener("abort", stop);
  try {
    const samples = [before];
    let exit: ProcessExit | undefined;
    while (exit === undefined) {
      exit = await Promise.race([child.ended, sleep(INTERVAL_MS, undefined)]);
      samples.push(await read());
    }
    signal.throwIfAborted();
    if (exit.code !== 0)
      throw new Failure(`valkey-benchmark failed with ${formatExit(exit)} while it inserted ${keys} keys`);
    await connection.flushall("SYNC");
    return tableGrowthOf(samples);
  } finally {
    signal.removeEventListener("abort", stop);
    stop();
  }
}

interface Sample {
  readonly ms: number;
  readonly keys: number;
  /** Memory that the server uses, without client buffers, bytes. */
  readonly bytes: number;
}

function sampleOf(text: string): Sample {
  const info = parseInfo(text);
  const need = (key: string): number => {
    const value = infoNumber(info, key);
    if (value === undefined) throw new Failure(`INFO has no ${key}`);
    return value;
  };
  const keys = Number(infoFields(info.get("db0") ?? "keys=0").get("keys"));
  return {
    ms: need("server_time_usec") / 1000,
    keys,
    bytes: need("used_memory") - (infoNumber(info, "mem_clients_normal") ?? 0),
  };
}

/** The last sample without keys, the samples until all keys are written, and the final sample. */
function tableGrowthOf(samples: readonly Sample[]): TableGrowth {
  const start = samples.filter(({ keys }) => keys === 0).at(-1) ?? samples[0];
  if (start === undefined) return { samples: [] };
  const most = Math.max(...samples.map(({ keys }) => keys));
  const end = samples.findIndex(({ keys }) => keys === most);
  // The final sample was taken after all writes, so its memory contains data only.
  const during = [...samples.slice(0, end), ...samples.slice(-1)].filter(({ ms }) => ms > start.ms);
  return {
    samples: [start, ...during].map(({ ms, keys, bytes }) => ({
      seconds: (ms - start.ms) / 1000,
      keys,
      bytes: Math.max(0, bytes - start.bytes),
    })),
  };
}
