/**
 * A second container in the runner's pod, for a load generator that the servers' image does not hold (`sidecar.sh`).
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Sidecar of a runner that runs a load generator. */
export interface LoadSidecar {
  readonly image: string;
  /** Command that runs the load generator; the arguments of the run follow. */
  readonly program: string;
  /** Shell command to run once before anything is sent. @default nothing */
  readonly setup?: string;
  /** File that the load generator writes and that belongs to its output. @default none */
  readonly result?: string;
}

/** Contents by file name; gzipped where large, because a ConfigMap holds at most 1 MiB. */
export type BinaryFiles = Readonly<Record<string, Buffer>>;

/** Directory that the two containers share. */
export const EXCHANGE_DIRECTORY = "/exchange";
/** Directory of the files that the load generator needs. */
export const SIDECAR_FILES_DIRECTORY = "/load-generator";

/** POSIX shell; its head lists the environment. */
export const SIDECAR_SCRIPT = readFileSync(join(__dirname, "sidecar.sh"), "utf8");

/** Environment of `sidecar.sh`, except the credentials. */
export function sidecarEnvironment({ program, setup = ":", result = "" }: LoadSidecar): Record<string, string> {
  return { EXCHANGE: EXCHANGE_DIRECTORY, SETUP: setup, PROGRAM: program, RESULT: result };
}
