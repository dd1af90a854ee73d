/** What a load generator cannot do that an experiment asks of it, before anything is sent. */
import { BadInput } from "../../lib/errors";
import type { MixedWorkload } from "../workloads/mixed-workload";
import type { Workload } from "../workloads/workload";
import type { ValkeyBenchmarkRunner } from "../load/load-runner";

/** @throws BadInput with every problem */
export function assertRunnerSupports(
  {
    workload,
    mixes = [],
  }: { readonly workload: Pick<Workload, "length" | "rate">; readonly mixes?: readonly MixedWorkload[] | undefined },
  { features, count }: Pick<ValkeyBenchmarkRunner, "features" | "count">,
): void {
  const { length, rate } = workload;
  const own = mixes.filter((mix) => mix.loadGenerator === "valkey-benchmark");
  const parts = [
    ["requests", "requests" in length ? length.requests : undefined],
    ["rate", rate],
    ...mixes.map(({ name, rate: offered }) => [`rate of ${name}`, offered] as const),
  ] as const;
  const tooFew = parts.flatMap(([what, whole]) =>
    whole !== undefined && whole < count ? [`${what}: ${whole} cannot be shared by ${count} load generators`] : [],
  );
  const has9 = "has not; 9.1 has";
  const problems = [
    ...tooFew,
    ...(rate !== undefined && !features.rate ? [`rate: it takes --rps, which this valkey-benchmark ${has9}`] : []),
    ...own.flatMap(({ name, rate: offered, readFrom }) => [
      ...(features.duration ? [] : [`workload ${name}: it takes --duration, which this valkey-benchmark ${has9}`]),
      ...(offered !== undefined && !features.rate
        ? [`workload ${name}: its rate takes --rps, which this valkey-benchmark ${has9}`]
        : []),
      ...(readFrom !== "primary" && !features.readFrom
        ? [`workload ${name}: readFrom takes --rfr, which this valkey-benchmark ${has9}`]
        : []),
    ]),
  ];
  if (problems.length > 0) throw new BadInput("the load", problems);
}
