/** One measurement of one cell: servers of its own, started for it, formed, verified, measured, stopped. */
import type { Deployment } from "../deployment";
import { Failure, messageOf } from "../errors";
import { Host } from "../host/host";
import type { Programs } from "../host/programs";
import { RunDirectory } from "../host/run-directory";
import type { Experiment } from "../measuring/experiment";
import { CANARY, runExperiment } from "../measuring/experiment";
import type { LocalTool } from "../measuring/local-runner";
import { LocalRunner } from "../measuring/local-runner";
import type { Contender } from "../measuring/session";
import { Session } from "../measuring/session";
import type { Report } from "../progress";
import { topologyOf } from "../results/topology";
import type { MeasurementRecord } from "../results/schema";
import { nodeCount } from "../topology/placement";
import type { ToolFeatures } from "../valkey-benchmark/features";
import { verdictLine } from "../verification/format";
import type { Verification } from "../verification/verify";
import { verify } from "../verification/verify";
import type { Cell } from "./factors";
import { grow } from "./growth";
import type { CellEntry, JournalEntry } from "./journal";
import type { Pinning } from "./pinning";
import { parseCpuList } from "./pinning";
import type { GrowthPlan } from "./study";

/** What cells are measured with. */
export interface Laboratory {
  /** Where run directories go. */
  readonly runs: string;
  /** By a cell's engine; undefined is the Valkey found first. */
  readonly engines: ReadonlyMap<string | undefined, Programs>;
  /** The one load generator of all cells, so that engines are compared by the same. */
  readonly benchmark: string;
  readonly features: ToolFeatures;
  /** Labels given to servers in turn; of fewer servers the first ones. */
  readonly zones: readonly string[];
  readonly signal: AbortSignal;
  readonly report: Report;
  /** The tool's output, untouched. */
  readonly raw: (heading: string, output: string) => void;
}

/** @throws Failure when its servers do not come up, do not pass verification or cannot be measured; the signal's reason */
export async function measureCell(cell: Cell, round: number, ceiling: number, growth: GrowthPlan | undefined, pinning: Pinning | undefined, laboratory: Laboratory): Promise<CellEntry> {
  const began = performance.now();
  return withServers(cell, pinning, laboratory, async (host, deployment, verification, formationMs, signal) => {
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
  return withServers(cell, undefined, laboratory, async (host, deployment, verification, _formationMs, signal) => {
    const tool: LocalTool = { run: host.run, benchmark: laboratory.benchmark, features: laboratory.features, serversHere: true };
    const records: MeasurementRecord[] = [];
    await measure({ contenders: [{ deployment, shards: verification.verdict.shards }], workload: CANARY, repeats: 1, ceiling: 0 }, tool, signal, laboratory, `round ${round}, canary`, (record) => records.push(record));
    const [record] = records;
    if (record === undefined) throw new Error("the canary left no record");
    return { kind: "canary", round, place, rps: record.client.rps, startedAt: record.startedAt, seconds: (performance.now() - began) / 1000 };
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

type Use<T> = (host: Host, deployment: Deployment, verification: Verification, formationMs: number, signal: AbortSignal) => Promise<T>;

async function withServers<T>(cell: Cell, pinning: Pinning | undefined, laboratory: Laboratory, use: Use<T>): Promise<T> {
  const programs = laboratory.engines.get(cell.engine);
  if (programs === undefined) throw new Error(`nobody looked for ${cell.engine ?? "Valkey"}`);
  const host = new Host(RunDirectory.create(laboratory.runs, "study"), programs);
  try {
    const signal = AbortSignal.any([laboratory.signal, host.died]);
    const { mode, shape, settings } = cell;
    const deployment = await host.start({ name: cell.id, mode, shape, settings, zones: laboratory.zones.slice(0, nodeCount(shape)), cpus: pinning?.servers }, signal);
    const { milliseconds } = await host.form(deployment, shape, { signal });
    const verification = await verify(deployment);
    if (!verification.verdict.pass) throw new Failure(verdictLine(verification.verdict));
    return await use(host, deployment, verification, milliseconds, signal);
  } catch (error) {
    // A server that dies takes connections with it, whose errors say less than its log.
    const death: unknown = host.died.reason;
    if (laboratory.signal.aborted) throw laboratory.signal.reason;
    throw death instanceof Error ? new Failure(messageOf(death), { cause: error }) : error;
  } finally {
    await host.stop();
  }
}
