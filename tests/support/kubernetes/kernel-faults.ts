/**
 * Faults of the local Kubernetes whose pods run on this machine's kernel: processes that stand still, and packets that
 * are dropped. NetworkPolicies would need a network plugin that enforces them.
 */
import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { promisify } from "node:util";
import type { V1Pod } from "@kubernetes/client-node";
import { KUBECONFIG } from "./throw-away";

/** Reason why this process may not signal the pods' processes and filter their packets. Undefined if it may. */
export const MISSING_KERNEL =
  KUBECONFIG === undefined || process.env["VALKEY_TEST_PODS_ON_THIS_KERNEL"] !== "yes"
    ? "VALKEY_TEST_KUBECONFIG names no throw-away cluster on this kernel"
    : undefined;
/** Beginning of the comment of each rule, by which a later run knows the rules of this project. */
const COMMENT = "valkey-test-";
const API_SERVER_PORT = "6443";

type Rule = readonly [chain: string, ...words: string[]];

export class KernelFaults {
  #rules: Rule[] = [];

  private constructor(private readonly comment: string) {}

  /** Removes the rules that a killed run has left. @param name of the deployment that the faults are for */
  static async open(name: string): Promise<KernelFaults> {
    const comment = `${COMMENT}${name}`;
    const { stdout } = await promisify(execFile)("iptables", ["-w", "-S"]);
    const isOwn = (line: string): boolean => line.startsWith("-A ") && line.includes(`--comment ${comment} `);
    const leftovers = stdout.split("\n").filter(isOwn);
    for (const line of leftovers) await iptables("-D", ...line.split(" ").slice(1));
    return new KernelFaults(comment);
  }

  /** Drops what one side sends the other, of open connections too. @param left addresses, as is `right` */
  async cut(left: readonly string[], right: readonly string[]): Promise<void> {
    for (const a of left)
      for (const b of right) {
        await this.#drop(["FORWARD", "-s", a, "-d", b]);
        await this.#drop(["FORWARD", "-s", b, "-d", a]);
      }
  }

  /** @param address of a pod */
  async cutFromApiServer(address: string): Promise<void> {
    await this.#drop(["INPUT", "-s", address, "-p", "tcp", "--dport", API_SERVER_PORT]);
  }

  /** Ends all cuts. */
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

async function iptables(...words: readonly string[]): Promise<void> {
  await promisify(execFile)("iptables", ["-w", ...words]);
}

/** Stops the processes of these pods for a while. */
export async function freezePods(pods: readonly V1Pod[], whileFrozen: () => Promise<void>): Promise<void> {
  await signalPods(pods, "SIGSTOP");
  try {
    await whileFrozen();
  } finally {
    await signalPods(pods, "SIGCONT");
  }
}

async function signalPods(pods: readonly V1Pod[], signal: NodeJS.Signals): Promise<void> {
  const uids = pods.map(({ metadata }) => metadata?.uid ?? "no uid");
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  for (const pid of pids) {
    const groups = await readFile(`/proc/${pid}/cgroup`, "utf8").catch(() => "");
    if (uids.some((uid) => groups.includes(uid) || groups.includes(uid.replaceAll("-", "_")))) signalOne(pid, signal);
  }
}

function signalOne(pid: string, signal: NodeJS.Signals): void {
  try {
    process.kill(Number(pid), signal);
  } catch (error) {
    // The process has ended meanwhile.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
