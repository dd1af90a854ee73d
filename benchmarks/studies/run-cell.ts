/** One measurement of one cell, on servers of its own. */
import type { Experiment } from "../measuring/experiment";
import { CANARY, runExperiment } from "../measuring/experiment";
import type { LocalTool } from "../load/valkey-benchmark/local-runner";
import { LocalRunner } from "../load/valkey-benchmark/local-runner";
import type { Contender } from "../measuring/session";
import { Session } from "../measuring/session";
import { topologyOf } from "../results/topology";
import type { MeasurementRecord } from "../results/schema";
import type { Laboratory } from "./cell-servers";
import { withServers } from "./cell-servers";
import type { Cell } from "./factors";
import { grow } from "./growth";
import type { CellEntry, JournalEntry } from "./journal";
import type { Pinning } from "./pinning";
import { parseCpuList } from "./pinning";
import type { GrowthPlan } from "./study";
import { recordedVersions } from "./versions";

/** @throws Failure when its servers do not come up, do not pass verification or cannot be measured; the signal's reason */
export async function measureCell(cell: Cell, round: number, ceiling: number, growth: GrowthPlan | undefined, pinning: Pinning | undefined, laboratory: Laboratory): Promise<CellEntry> {
  const began = performance.now();
  return withServers(cell, pinning, laboratory, async ({ host, deployment, verification, formationMs, signal }) => {
    const contender = { deployment, shards: verification.verdict.shards };
    const tool: LocalTool = { run: host.run, benchmark: laboratory.benchmark, features: laboratory.features, serversHere: true, count: cell.runners, cpus: pinning === undefined ? undefined : parseCpuList(pinning.clients) };
    const records: MeasurementRecord[] = [];
    await measure({ contenders: [contender], workload: cell.workload, repeats: 1, ceiling }, tool, signal, laboratory, `round ${round}`, (record) => {
      records.push({ ...record, id: `${round}-${cell.id}-${record.test}`, round, workload: cell.workload.name ?? cell.id });
    });
    const grown = growth === undefined ? null : await withSession(contender, (session) => grow(session, tool, growth, signal));
    return { kind: "cell", round, cell: cell.id, seconds: (performance.now() - began) / 1000, records, topology: topologyOf(verification, formationMs), growth: grown };
  });
}

/** The fixed load on a server that is the same for every study and cell. */
export async function measureCanary(round: number, place: number, laboratory: Laboratory): Promise<Extract<JournalEntry, { kind: "canary" }>> {
  const began = performance.now();
  const cell: Cell = { id: "canary", label: "canary", base: "canary", levels: {}, mode: "replication", shape: { primaries: 1, replicasPerPrimary: 0 }, settings: { appendonly: false, save: "", "io-threads": 1 }, engine: undefined, cpus: undefined, workload: CANARY, runners: 1 };
  return withServers(cell, undefined, laboratory, async ({ host, deployment, verification, signal }) => {
    const tool: LocalTool = { run: host.run, benchmark: laboratory.benchmark, features: laboratory.features, serversHere: true };
    const records: MeasurementRecord[] = [];
    await measure({ contenders: [{ deployment, shards: verification.verdict.shards }], workload: CANARY, repeats: 1, ceiling: 0 }, tool, signal, laboratory, `round ${round}, canary`, (record) => records.push(record));
    const [record] = records;
    if (record === undefined) throw new Error("the canary left no record");
    return { kind: "canary", round, place, rps: record.client.rps, startedAt: record.startedAt, seconds: (performance.now() - began) / 1000, versions: recordedVersions(laboratory.engines) };
  });
}

function measure(experiment: Experiment, tool: LocalTool, signal: AbortSignal, { raw, report }: Laboratory, where: string, record: (record: MeasurementRecord) => void): Promise<void> {
  const listener = { progress: (line: string) => { report(`${where}: ${line.replace(/^round \d+ of \d+: /, "")}`, true); }, canary: () => undefined, record, raw: (heading: string, output: string) => { raw(`${where}, ${heading}`, output); } };
  return runExperiment(experiment, { runner: new LocalRunner(tool), signal }, listener);
}

async function withSession<T>(contender: Contender, use: (session: Session) => Promise<T>): Promise<T> {
  const session = await Session.open(contender);
  try {
    return await use(session);
  } finally {
    await session.close();
  }
}
