/**
 * A load generator that the servers' image has not got: it runs in a second container of the runner's pod, of an image of its own.
 * The runner keeps the appointments with the other runners, for which it has valkey-cli, and tells the companion when to begin;
 * they share a directory with two named pipes, so that neither turns while it waits.
 */
import { PLACEHOLDERS } from "./runner-script";

export interface LoadSidecar {
  readonly image: string;
  /** Shell: what runs the program; its arguments follow. */
  readonly run: string;
  /** Shell: once, before anything is sent. */
  readonly setup?: string;
  /** A file that the program writes and that belongs to its output. */
  readonly result?: string;
}

/** By name; gzipped, for a ConfigMap has room for 1 MiB in all. */
export type BinaryFiles = Readonly<Record<string, Buffer>>;

/** Shared by the two containers. */
export const EXCHANGE_DIRECTORY = "/exchange";
/** Where a companion's files are. */
export const SIDECAR_FILES_DIRECTORY = "/companion";

/**
 * Environment: EXCHANGE (the shared directory), TOOL_USER and TOOL_PASSWORD where there is a user. The words of each run are in a file, a line each, and none of
 * them is a secret.
 */
export function sidecarScript({ run, setup = ":", result }: LoadSidecar): string {
  return `set -u
cd "$EXCHANGE"
until [ -p answer ]; do sleep 0.1; done
{ ${setup}; } > out 2>&1 || { cat out >&2; exit 1; }
times > times; nproc > cores
echo ready > answer
while read -r word < ask && [ "$word" != end ]; do
  set --
  while IFS= read -r word; do
    [ "$word" != ${PLACEHOLDERS.credentials} ] || word=$TOOL_USER:$TOOL_PASSWORD
    set -- "$@" "$word"
  done < words
  ${result === undefined ? "" : `rm -f ${result}`}
  ${run} "$@" > out 2>&1; code=$?
  ${result === undefined ? "" : `[ ! -f ${result} ] || cat ${result} >> out`}
  times > times
  echo "$code" > answer
done
`;
}
