import { resolve } from "node:path";
import { shortPath } from "../../benchmarks/run/artifacts";
import { BadInput } from "../../lib/errors";
import type { CheckpointLog, CheckpointLogStore } from "../../lib/system/checkpoint-log";

interface Resuming<Header extends { readonly timestamp: string }, Entry> {
  readonly logs: CheckpointLogStore<Header, Entry>;
  readonly output: string | undefined;
  readonly isSame: (header: Header) => boolean;
  readonly missing: { readonly what: string; readonly remedy: string };
  /** Reasons why this log cannot be resumed. */
  readonly differences: (header: Header) => string[];
  readonly code: string;
}

/** @throws BadInput when there is no such log, it differs, or its command still runs */
export function resumeLog<Header extends { readonly timestamp: string }, Entry>({
  logs,
  output,
  isSame,
  missing,
  differences,
  code,
}: Resuming<Header, Entry>): { readonly directory: string; readonly checkpoints: CheckpointLog<Header, Entry> } {
  const results = resolve("results");
  const directory = output === undefined ? logs.latest(results, isSame) : resolve(output);
  if (directory === undefined)
    throw BadInput.of(
      "--resume",
      "nothing-to-resume",
      `no ${missing.what} is in ${shortPath(results)}; ${missing.remedy}`,
    );
  const checkpoints = logs.resume(directory);
  const problems = differences(checkpoints.header);
  if (problems.length === 0) return { directory, checkpoints };
  checkpoints.close();
  throw BadInput.of(`--resume of ${shortPath(directory)}`, code, problems);
}
