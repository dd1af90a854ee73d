/** The memory and the insertion rate of an empty server while keys are inserted, from its own counters. */
import { setTimeout as sleep } from "node:timers/promises";
import { Failure } from "../../../lib/errors";
import { type ProcessExit, formatExit, pinnedCommand, startRecorded } from "../../../platforms/host/processes";
import { identifyProcess, signalProcess } from "../../../lib/system/process-identity";
import type { LocalValkeyBenchmarkOptions } from "../../load/valkey-benchmark/local-driver";
import type { Session } from "../../measuring/session";
import type { TableGrowth } from "../../results/study-schema";
import { infoFields, infoNumber, parseInfo } from "../../../valkey/topology/replies";
import type { TableGrowthPlan } from "../study";

const INTERVAL_MS = 50;
/** As in the document "Dragonfly head-to-head" (docs/sources.md). No key expires during the run. */
const COMMAND = ["SETEX", "key:__rand_int__", "10000", "__data__"];
const CLIENTS = 48;
const PIPELINE = 16;

/**
 * Flushes the server before and after.
 * @param session has one primary in replication mode, whose data are the study's
 * @throws Failure when the load generator fails; the reason of the signal if it is aborted
 */
export async function measureTableGrowth(
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
