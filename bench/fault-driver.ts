/** Faults of `faults/` in servers and pods of benchmarks, and faults that only this machine's kernel can make. */
import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import type { V1Pod } from "@kubernetes/client-node";
import type { Fault } from "../faults/plan/fault";
import type { Scenario } from "../faults/plan/scenario";
import { runScenarios } from "../faults/scenarios/run-scenario";
import type { FaultSubject, ScenarioResult } from "../faults/scenarios/scenario-run";
import { codeOf } from "../lib/errors";
import type { ServerSettings } from "../valkey/settings/settings";
import type { PodsKind } from "../tests/support/kubernetes/deployed-pods";
import { KUBECONFIG } from "../tests/support/kubernetes/throw-away";

export type ScenarioRecord = ScenarioResult["record"];

export const CLUSTER: PodsKind = { mode: "cluster", shape: { primaries: 3, replicasPerPrimary: 1 } };
export const REPLICATION: PodsKind = { mode: "replication", shape: { primaries: 1, replicasPerPrimary: 2 } };
export const SENTINELS: PodsKind = {
  ...REPLICATION,
  sentinel: { count: 3, quorum: 2, downAfterMs: 5000, failoverTimeoutMs: 10_000 },
};
export const NO_PERSISTENCE: ServerSettings = { save: "" };
export const APPEND_ONLY: ServerSettings = { save: "", appendonly: true };
/** Settings of persistence. Without settings, servers save snapshots. */
export const PERSISTENCE: readonly (readonly [id: string, what: string, settings: ServerSettings])[] = [
  ["none", "no persistence", NO_PERSISTENCE],
  ["save", "default snapshots", {}],
  ["aof", "append-only file", APPEND_ONLY],
];

/** Writes per second, and whether each waits for a replica. */
export const writeLoad = (rate: number, replicas: 0 | 1): Scenario["load"] => ({
  ...{ rate, bytes: 64, timeoutMs: 3000 },
  acknowledgement: { replicas, timeoutMs: replicas * 1000 },
});

/** A fault in a deployment under writes. Everything else of the scenario has a default. */
export interface FaultRun extends Partial<Scenario> {
  readonly fault: Fault;
  readonly load: Scenario["load"];
}

interface FaultRunOptions {
  readonly repeats?: number;
  /** Takes a line about each scenario. @default nobody */
  readonly report?: (line: string) => void;
  /** Whether a deployment may stay broken. @default false: that is a Failure */
  readonly mayStayBroken?: boolean;
}

/** Injects a fault several times, one after the other. @returns the record of each time */
export async function runFault(
  subject: FaultSubject,
  run: FaultRun,
  signal: AbortSignal,
  { repeats = 1, report = (): void => undefined, mayStayBroken = false }: FaultRunOptions = {},
): Promise<ScenarioRecord[]> {
  const scenario: Scenario = {
    ...{ name: run.fault.kind, settings: new Map<string, string>(), repair: true },
    ...{ beforeSeconds: 1, afterSeconds: 0.3, recoveryTimeoutSeconds: 180 },
    ...run,
  };
  const records: ScenarioRecord[] = [];
  const onResult = ({ record }: ScenarioResult): void => {
    records.push(record);
    const { id, outage, writes, lost } = record;
    const counts = `${writes.acknowledged} writes acknowledged, ${writes.failed} failed, ${writes.unknown} of unknown outcome`;
    report(`${id}: outage ${secondsOrNever(outage.overMs)} s, ${counts}, ${lost.count} lost`);
  };
  try {
    await runScenarios([{ scenario, repeats, subject }], { signal, report: () => undefined, onResult });
  } catch (error) {
    if (!mayStayBroken || records.length === 0) throw error;
  }
  return records;
}

/** @param ms null for what did not end */
export const secondsOrNever = (ms: number | null): number => (ms === null ? Infinity : ms / 1000);

export const sumOf = <T>(items: readonly T[], figure: (item: T) => number): number =>
  items.reduce((sum, item) => sum + figure(item), 0);

/** Reason why this process may not signal the pods' processes and filter their packets. Undefined if it may. */
export const MISSING_KERNEL =
  KUBECONFIG === undefined || process.env["VALKEY_TEST_PODS_ON_THIS_KERNEL"] !== "yes"
    ? "VALKEY_TEST_KUBECONFIG names no throw-away cluster on this kernel"
    : undefined;
/** Beginning of the comment of each rule, by which a later run knows the rules of this project. */
const COMMENT = "valkey-test-";
const API_SERVER_PORT = "6443";

type Rule = readonly [chain: string, ...words: string[]];

/**
 * Faults of the local Kubernetes whose pods run on this machine's kernel: processes that stand still, and packets that
 * are dropped. The injector of `faults/` needs a network plugin that enforces NetworkPolicies, and cannot pause pods.
 */
export class KernelFaults {
  #rules: Rule[] = [];

  private constructor(private readonly comment: string) {}

  /** Removes the rules that a killed run has left. @param name of the deployment that the faults are for */
  static async open(name: string): Promise<KernelFaults> {
    const comment = `${COMMENT}${name}`;
    const { stdout } = await promisify(execFile)("iptables", ["-w", "-S"]);
    const isOwn = (line: string): boolean => line.startsWith("-A ") && line.includes(`--comment ${comment} `);
    for (const line of stdout.split("\n").filter(isOwn)) await iptables("-D", ...line.split(" ").slice(1));
    return new KernelFaults(comment);
  }

  async freeze(pods: readonly V1Pod[], seconds: number): Promise<void> {
    await signalPods(pods, "SIGSTOP");
    try {
      await sleep(seconds * 1000);
    } finally {
      await signalPods(pods, "SIGCONT");
    }
  }

  /** Drops what pods of one side and the other send each other, of open connections too, until `heal`. */
  async cut(left: readonly V1Pod[], right: readonly V1Pod[]): Promise<void> {
    for (const a of addresses(left))
      for (const b of addresses(right)) {
        await this.#drop(["FORWARD", "-s", a, "-d", b]);
        await this.#drop(["FORWARD", "-s", b, "-d", a]);
      }
  }

  async cutFromApiServer(pods: readonly V1Pod[]): Promise<void> {
    for (const address of addresses(pods))
      await this.#drop(["INPUT", "-s", address, "-p", "tcp", "--dport", API_SERVER_PORT]);
  }

  async heal(): Promise<void> {
    for (const rule of this.#rules.splice(0)) await iptables("-D", ...rule, ...this.#end);
  }

  get #end(): string[] {
    return ["-m", "comment", "--comment", this.comment, "-j", "DROP"];
  }

  async #drop(rule: Rule): Promise<void> {
    this.#rules.push(rule);
    await iptables("-I", ...rule, ...this.#end);
  }
}

const addresses = (pods: readonly V1Pod[]): string[] => pods.flatMap(({ status }) => status?.podIP ?? []);

async function iptables(...words: readonly string[]): Promise<void> {
  await promisify(execFile)("iptables", ["-w", ...words]);
}

async function signalPods(pods: readonly V1Pod[], signal: NodeJS.Signals): Promise<void> {
  const uids = pods.map(({ metadata }) => metadata?.uid ?? "no uid");
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    const groups = await readFile(`/proc/${pid}/cgroup`, "utf8").catch(() => "");
    if (!uids.some((uid) => groups.includes(uid) || groups.includes(uid.replaceAll("-", "_")))) continue;
    try {
      process.kill(Number(pid), signal);
    } catch (error) {
      // The process has ended meanwhile.
      if (codeOf(error) !== "ESRCH") throw error;
    }
  }
}
