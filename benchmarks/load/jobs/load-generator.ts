import type { Endpoint, TlsFiles } from "../../../valkey/node";
/** A load generator as the runners of a Job carry it out: a program, its words, and what its output says. */
import type { Deployment } from "../../../valkey/deployment";
import type { Histogram } from "../../../lib/histogram";
import type { BenchmarkUser } from "../benchmark-user";
import type { Tally } from "../open-loop/tally";
import type { Warning } from "../../results/schema";
import type { LoadReport } from "../valkey-benchmark/output";
import type { BinaryFiles, LoadSidecar } from "./sidecar";

/** One run of the program, as every runner is told it: plain data. */
export interface JobPhase {
  /** Arguments, with placeholders for what each runner fills in for itself. */
  readonly arguments: readonly string[];
  readonly endpoint: Endpoint;
  /** The first runner's; the others have those that follow. */
  readonly seed: number;
  /** Of all runners together; undefined where there is none. */
  readonly requests: number | undefined;
  readonly rate: number | undefined;
  /** How long it sends; undefined where requests are counted. */
  readonly seconds: number | undefined;
  /** When it hangs, seconds. */
  readonly timeoutSeconds: number;
}

/** How a runner gets at the servers. */
export interface JobAccess {
  /** Undefined where the servers want no password; else it is in the runner's environment. */
  readonly username: string | undefined;
  /** Files are the runner's. */
  readonly tls: TlsFiles | undefined;
  readonly runners: number;
}

/** What one runner's output says. */
export interface ParsedOutput {
  readonly report: LoadReport;
  /** Every count, where the program gives them. */
  readonly latencies?: Histogram;
  /** Of an open loop. */
  readonly tally?: Tally;
  /** How long the program went on after what counts, milliseconds. */
  readonly trailingMs: number;
  readonly warnings: readonly Warning[];
}

/** @typeParam R what one run of the load generator is */
export interface JobLoadGenerator<R> {
  /** In messages. */
  readonly program: string;
  /** Where the servers' image has not got the program. */
  readonly sidecar: (() => Promise<LoadSidecarWithFiles>) | undefined;
  /** Made for the run. */
  readonly user: (run: R) => BenchmarkUser | undefined;
  readonly phase: (run: R, access: JobAccess, deployment: Pick<Deployment, "mode" | "nodes" | "access">) => JobPhase;
  /** What one of several runners runs, for the record: without secrets. */
  readonly command: (run: R, index: number, runners: number) => readonly string[];
  readonly threads: (run: R) => number;
  /** @throws Failure when it is not understood */
  readonly parse: (text: string, run: R) => ParsedOutput;
}

export type LoadSidecarWithFiles = LoadSidecar & { readonly files?: BinaryFiles };
