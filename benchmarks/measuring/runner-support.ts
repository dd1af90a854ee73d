import { type Problem, BadInput, problem } from "../../lib/errors";
import { compact } from "../../lib/compact";
import type { ValkeyBenchmarkDriver } from "../load/valkey-benchmark/local-driver";
import type { MixedWorkload, ValkeyBenchmarkWorkload } from "../workloads/mixed-workload";
import type { Workload } from "../workloads/workload";

interface RequestedLoads {
  readonly workload: Pick<Workload, "length" | "rate">;
  readonly mixedWorkloads?: readonly MixedWorkload[] | undefined;
}

type Support = Pick<ValkeyBenchmarkDriver, "features" | "count">;

/** @throws BadInput with all loads that cannot be sent */
export function assertRunnerSupports({ workload, mixedWorkloads = [] }: RequestedLoads, support: Support): void {
  const own = mixedWorkloads.filter((mixed) => mixed.loadGenerator === "valkey-benchmark");
  const problems = compact([
    tooFewToShare("requests", "requests" in workload.length ? workload.length.requests : undefined, support),
    tooFewToShare("rate", workload.rate, support),
    ...mixedWorkloads.map(({ name, rate }) => tooFewToShare(`workload ${name}: rate`, rate, support)),
    workload.rate !== undefined && !support.features.rate ? missingOption("rate", "--rps") : undefined,
    ...own.flatMap((mixed) => missingOptions(mixed, support)),
  ]);
  if (problems.length > 0) throw new BadInput("the load", problems);
}

/** Each load generator would get less than one request, or less than one request per second. */
function tooFewToShare(what: string, whole: number | undefined, { count }: Support): Problem | undefined {
  if (whole === undefined || whole >= count) return undefined;
  return problem("too-few-to-share", what, `${whole} is too few for ${count} load generators; each needs at least 1`);
}

function missingOptions(
  { name, rate, readFrom }: ValkeyBenchmarkWorkload,
  { features }: Support,
): (Problem | undefined)[] {
  const at = `workload ${name}`;
  return [
    features.duration ? undefined : missingOption(at, "--duration"),
    rate !== undefined && !features.rate ? missingOption(`${at}: rate`, "--rps") : undefined,
    readFrom !== "primary" && !features.readFrom ? missingOption(`${at}: readFrom`, "--rfr") : undefined,
  ];
}

function missingOption(at: string, option: string): Problem {
  const message = `needs valkey-benchmark's option ${option}, which this version lacks; 9.1 has it`;
  return problem("missing-option", at, message);
}
