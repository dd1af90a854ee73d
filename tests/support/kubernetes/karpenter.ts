/**
 * The real Karpenter in front of a fake AWS, on the throw-away cluster. The tool lies beside the checkout, or where
 * VALKEY_TEST_KARPENTER says; its README says what is real and what is played.
 */
import { execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "../../../lib/system/package";
import { keepAlive } from "./heartbeats";
import { KUBECONFIG } from "./throw-away";

const DIRECTORY = process.env["VALKEY_TEST_KARPENTER"] ?? join(ROOT, "../shared/kubernetes/karpenter");
export const HAS_KARPENTER = KUBECONFIG !== undefined && existsSync(join(DIRECTORY, "up"));
export const KARPENTER_SKIPPED = HAS_KARPENTER
  ? ""
  : " (skipped: needs VALKEY_TEST_KUBECONFIG, and ../shared/kubernetes/karpenter or VALKEY_TEST_KARPENTER)";

/** A machine and the pods on it, `NAMESPACE/NAME`. */
export interface Machine {
  readonly name: string;
  readonly pool: string;
  readonly type: string;
  readonly zone: string;
  readonly pods: readonly string[];
}

export interface Claim {
  readonly name: string;
  readonly pool: string;
  /** Whether Karpenter found that its pool or class has changed since. */
  readonly drifted: boolean;
}

export interface Settled {
  readonly seconds: number;
  readonly machines: readonly Machine[];
  /** By `NAMESPACE/NAME` of the pod. */
  readonly unplaced: Readonly<Record<string, unknown>>;
}

export class Karpenter {
  readonly #stopping = new AbortController();
  readonly #heartbeats: Promise<void>;

  private constructor(private readonly environment: NodeJS.ProcessEnv) {
    this.#heartbeats = keepAlive(this.#stopping.signal);
    // `stop` throws it.
    this.#heartbeats.catch(() => undefined);
  }

  static async start(cluster: string, release: string): Promise<Karpenter> {
    const { stdout } = await promisify(execFile)(join(DIRECTORY, "up"), ["--cluster", cluster, "--release", release]);
    const words = [...stdout.matchAll(/(\w+)=(\S+)/g)].map(([, name = "", value = ""]) => [name, value] as const);
    const environment = Object.fromEntries(words);
    const path = (environment["PATH"] ?? "").replace("$PATH", process.env["PATH"] ?? "");
    return new Karpenter({ ...process.env, ...environment, PATH: path });
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await promisify(execFile)(join(DIRECTORY, "down"));
    await this.#heartbeats;
  }

  /** Waits until every pod has its machine, or nothing moves any more; a busy machine needs a minute from step to step. */
  async settle(timeoutSeconds = 600): Promise<Settled> {
    const options = ["--timeout", String(timeoutSeconds), "--quiet", "60"];
    return JSON.parse(await this.run(join(DIRECTORY, "settle"), options, "", [0, 1, 2])) as Settled;
  }

  async claims(): Promise<readonly Claim[]> {
    const { items } = JSON.parse(await this.kubectl(["get", "nodeclaims", "-o", "json"])) as {
      items: readonly {
        readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
        readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
      }[];
    };
    return items.map(({ metadata: { name, labels }, status }) => ({
      name,
      pool: labels["karpenter.sh/nodepool"] ?? "",
      drifted: (status?.conditions ?? []).some((each) => each.type === "Drifted" && each.status === "True"),
    }));
  }

  async apply(objects: readonly object[]): Promise<void> {
    const list = JSON.stringify({ apiVersion: "v1", kind: "List", items: objects });
    await this.kubectl(["apply", "--server-side", "--force-conflicts", "-f", "-"], list);
  }

  kubectl(words: readonly string[], input = ""): Promise<string> {
    return this.run("kubectl", words, input, [0]);
  }

  private run(command: string, words: readonly string[], input: string, accepted: readonly number[]): Promise<string> {
    return new Promise((resolve, reject) => {
      const child = spawn(command, words, { env: this.environment });
      let [output, errors] = ["", ""];
      child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
      child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
      child.on("error", reject);
      child.on("close", (status) => {
        // A Python program that crashes ends with 1 as well.
        if (status !== null && accepted.includes(status) && !errors.includes("Traceback")) resolve(output);
        else reject(new Error(`${command} ${words.join(" ")}: ${errors}${output}`));
      });
      child.stdin.end(input);
    });
  }
}
