/** A load generator that runs in a Job, with its program, arguments and output. */
import type { Endpoint, TlsFiles } from "../../../valkey/node";
import type { Deployment } from "../../../valkey/deployment";
import type { Histogram } from "../../../lib/histogram";
import type { BenchmarkUser } from "../benchmark-user";
import type { Tally } from "../open-loop/tally";
import type { Warning } from "../../results/schema";
import type { LoadReport } from "../load-report";
import type { BinaryFiles, LoadSidecar } from "./sidecar";

/**
 * One phase of the load generator: the warm-up or the measurement. The phase is the same for all runners. Plain data.
 */
export interface JobPhase {
  /** Arguments, with placeholders for the values that differ between runners (`runner-script.ts`). */
  readonly arguments: readonly string[];
  /** Server to which valkey-cli connects. This server stores the keys with which runners wait for each other. */
  readonly endpoint: Endpoint;
  /** Seed of the first runner. Each further runner has the next higher number. */
  readonly seed: number;
  /** Number of requests of all runners together; undefined if the phase ends after a time. */
  readonly requests: number | undefined;
  /** Requests per second of all runners together; undefined if the load generator sends as fast as it can. */
  readonly rate: number | undefined;
  /** Duration of the phase, seconds; undefined if the phase ends after a number of requests. */
  readonly seconds: number | undefined;
  /** Time limit for the phase, seconds. A load generator that runs longer counts as hanging. */
  readonly timeoutSeconds: number;
}

/** Credentials and TLS options with which runners connect to the servers. */
export interface JobAccess {
  /**
   * Name of the user; undefined if the servers require no password. The environment of the runner contains the
   * password.
   */
  readonly username: string | undefined;
  /** TLS options. Paths of files are paths in the runner's pod. */
  readonly tls: TlsFiles | undefined;
  readonly runners: number;
}

/** The parsed output of one runner. */
export interface ParsedOutput {
  readonly report: LoadReport;
  /** All latencies, if the load generator prints a histogram. */
  readonly latencies?: Histogram;
  /** Counts and latencies of the open-loop generator; absent for other load generators. */
  readonly tally?: Tally;
  /** Milliseconds from the end of the measurement until the program exits. */
  readonly trailingMs: number;
  readonly warnings: readonly Warning[];
}

/** A load generator that Jobs can run. @typeParam R one run of the load generator */
export interface JobLoadGenerator<R> {
  /** Name of the load generator in messages. */
  readonly program: string;
  /** Sidecar that runs the load generator if the servers' image does not contain it. */
  readonly sidecar: (() => Promise<LoadSidecarWithFiles>) | undefined;
  /** Returns the Valkey user with which the run authenticates; undefined if the servers require no password. */
  readonly user: (run: R) => BenchmarkUser | undefined;
  /** The phase for a run, the same for all runners. */
  readonly phase: (run: R, access: JobAccess, deployment: Pick<Deployment, "mode" | "nodes" | "access">) => JobPhase;
  /** Command line of one runner, without secrets. The record contains this command line. */
  readonly command: (run: R, index: number, runners: number) => readonly string[];
  /** Number of threads of the load generator. This number determines the CPU limit. */
  readonly threads: (run: R) => number;
  /** Parses the output of one runner. @throws Failure if the output cannot be parsed */
  readonly parse: (text: string, run: R) => ParsedOutput;
}

/** A sidecar and the files that it needs. */
export type LoadSidecarWithFiles = LoadSidecar & { readonly files?: BinaryFiles };
