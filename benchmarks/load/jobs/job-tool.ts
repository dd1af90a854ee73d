import type { Endpoint, TlsFiles } from "../../../valkey/node";
/** A driver as the runners of a Job carry it out: a program, its words, and what its output says. */
import type { Deployment } from "../../../valkey/deployment";
import type { Histogram } from "../../../lib/histogram";
import type { BenchmarkUser } from "../benchmark-user";
import type { Tally } from "../open-loop/tally";
import type { Doubt } from "../../results/schema";
import type { ToolReport } from "../valkey-benchmark/output";
import type { BinaryFiles, Companion } from "./companion";

/** One run of the program, as every runner is told it: plain data. */
export interface JobPhase {
  /** Arguments, with placeholders for what each runner fills in for itself. */
  readonly words: readonly string[];
  readonly endpoint: Endpoint;
  /** The first runner's; the others have those that follow. */
  readonly seed: number;
  /** Of all runners together; undefined where there is none. */
  readonly requests: number | undefined;
  readonly rate: number | undefined;
  /** How long it sends; undefined where requests are counted. */
  readonly seconds: number | undefined;
  /** When it hangs, seconds. */
  readonly patienceSeconds: number;
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
export interface Reading {
  readonly report: ToolReport;
  /** Every count, where the program gives them. */
  readonly latencies?: Histogram;
  /** Of an open loop. */
  readonly tally?: Tally;
  /** How long the program went on after what counts, milliseconds. */
  readonly afterMs: number;
  readonly doubts: readonly Doubt[];
}

/** @typeParam R what one run of the driver is */
export interface JobTool<R> {
  /** In messages. */
  readonly program: string;
  /** Where the servers' image has not got the program. */
  readonly companion: (() => Promise<CompanionWithFiles>) | undefined;
  /** Made for the run. */
  readonly user: (run: R) => BenchmarkUser | undefined;
  readonly phase: (run: R, access: JobAccess, deployment: Pick<Deployment, "mode" | "nodes" | "access">) => JobPhase;
  /** What one of several runners runs, for the record: without secrets. */
  readonly command: (run: R, index: number, runners: number) => readonly string[];
  readonly threads: (run: R) => number;
  /** @throws Failure when it is not understood */
  readonly read: (text: string, run: R) => Reading;
}

export type CompanionWithFiles = Companion & { readonly files?: BinaryFiles };
