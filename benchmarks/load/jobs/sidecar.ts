/** A second container for a load generator that the servers' image does not contain (`sidecar.sh`). */
import { readFileSync } from "node:fs";
import { join } from "node:path";

export interface LoadSidecar {
  readonly image: string;
  readonly program: string;
  /** Shell command that runs once before the first request. @default nothing */
  readonly setup?: string;
  readonly result?: string;
  /** The Job owns a ConfigMap with them. */
  readonly files?: BinaryFiles;
}

/** Large files are gzipped, because a ConfigMap holds at most 1 MiB. */
export type BinaryFiles = Readonly<Record<string, Buffer>>;

export const EXCHANGE_DIRECTORY = "/exchange";
export const SIDECAR_FILES_DIRECTORY = "/load-generator";

export const SIDECAR_SCRIPT = readFileSync(join(__dirname, "sidecar.sh"), "utf8");

export function sidecarEnvironment({ program, setup = ":", result = "" }: LoadSidecar): Record<string, string> {
  return { EXCHANGE: EXCHANGE_DIRECTORY, SETUP: setup, PROGRAM: program, RESULT: result };
}
