/** A load generator that the runners of a Job can run: its program, its arguments and its output. */
import type { Endpoint, TlsFiles } from "../../../valkey/node";
import type { Deployment } from "../../../valkey/deployment";
import type { Histogram } from "../../../lib/histogram";
import type { BenchmarkUser } from "../benchmark-user";
import type { Tally } from "../open-loop/tally";
import type { Warning } from "../../results/schema";
import type { LoadReport } from "../load-report";
import type { BinaryFiles, LoadSidecar } from "./sidecar";

/** One run of the load generator, the same for all runners: the warm-up or the measurement. Plain data. */
export interface JobPhase {
  /** Arguments, with placeholders for what each runner fills in for itself (`runner-script.ts`). */
  readonly arguments: readonly string[];
  /** Server for valkey-cli, by which runners meet. */
  readonly endpoint: Endpoint;
  /** Seed of the first runner; the n-th after it adds n. */
  readonly seed: number;
  /** Requests of all runners together; undefined where the phase ends by the clock. */
  readonly requests: number | undefined;
  /** Requests per second of all runners together; undefined where the load generator sends as fast as it can. */
  readonly rate: number | undefined;
  /** Length of the phase; undefined where requests are counted. */
  readonly seconds: number | undefined;
  /** Seconds after which the load generator counts as hanging. */
  readonly timeoutSeconds: number;
}

/** How runners reach the servers. */
export interface JobAccess {
  /** Undefined where the servers want no password; the password is in the runner's environment. */
  readonly username: string | undefined;
  /** Paths of files are those in the runner's pod. */
  readonly tls: TlsFiles | undefined;
  readonly runners: number;
}

/** The output of one runner as data. */
export interface ParsedOutput {
  readonly report: LoadReport;
  /** All latencies, where the load generator prints a histogram. */
  readonly latencies?: Histogram;
  /** Tally of the open-loop generator. */
  readonly tally?: Tally;
  /** How long the program ran after the measured time, milliseconds. */
  readonly trailingMs: number;
  readonly warnings: readonly Warning[];
}

/** A load generator in Jobs. @typeParam R one run of it */
export interface JobLoadGenerator<R> {
  /** Name in messages. */
  readonly program: string;
  /** Runs the load generator where the servers' image does not hold it. */
  readonly sidecar: (() => Promise<LoadSidecarWithFiles>) | undefined;
  /** The user made for the run. */
  readonly user: (run: R) => BenchmarkUser | undefined;
  /** The same run for all runners. */
  readonly phase: (run: R, access: JobAccess, deployment: Pick<Deployment, "mode" | "nodes" | "access">) => JobPhase;
  /** Arguments of one runner for the record, without secrets. */
  readonly command: (run: R, index: number, runners: number) => readonly string[];
  /** Threads of the load generator, for the limit of its CPU. */
  readonly threads: (run: R) => number;
  /** @throws Failure when the output is not understood */
  readonly parse: (text: string, run: R) => ParsedOutput;
}

/** A sidecar and the files that it needs. */
export type LoadSidecarWithFiles = LoadSidecar & { readonly files?: BinaryFiles };
