/** Plans of the open-loop generator, for tests that run it. */
import { GeneratorProcess } from "../../../benchmarks/load/open-loop/generator-process";
import type { OpenLoopPlan } from "../../../benchmarks/load/open-loop/plan";
import { Tally } from "../../../benchmarks/load/tally";
import type { OpenLoopWorkload } from "../../../benchmarks/workloads/mixed-workload";
import type { Deployment } from "../../../valkey/deployment";
import type { Sandbox } from "../valkey/real";

export const MIX: OpenLoopWorkload = {
  loadGenerator: "open-loop",
  name: "steady",
  data: "strings",
  reads: 0.8,
  keySpace: 16_384,
  clients: 12,
  pipeline: 1,
  length: { seconds: 1 },
  warmup: 0,
  rate: 2_000,
  arrivals: "poisson",
  keys: { distribution: "zipfian", theta: 0.99 },
  values: { sizes: "uniform", min: 10, max: 300 },
  readFrom: "primary",
  workers: 1,
  timeoutMs: 5_000,
  queue: 100_000,
};

export const planFor = (deployment: Deployment, changes: Partial<OpenLoopPlan> = {}): OpenLoopPlan => {
  const { data, reads, keySpace, clients, pipeline, rate, arrivals, timeoutMs, queue } = MIX;
  const { password } = deployment.access;
  return {
    mode: deployment.mode,
    endpoints: deployment.nodes.map(({ endpoint }) => ({ ...endpoint })),
    access: password === undefined ? {} : { password },
    data,
    reads,
    keySpace,
    clients,
    pipeline,
    rate,
    arrivals,
    timeoutMs,
    queue,
    keys: { distribution: "uniform" },
    values: { sizes: "fixed", bytes: 64 },
    readFrom: "primary",
    seconds: 1,
    seed: 1,
    workers: 1,
    process: 0,
    processes: 1,
    ...changes,
  };
};

export async function generate(
  { host }: Sandbox,
  plan: OpenLoopPlan,
  meanwhile: () => Promise<unknown> = () => Promise.resolve(),
): Promise<Tally> {
  const generator = await GeneratorProcess.start(host.run, plan);
  const [tallies] = await Promise.all([generator.run(), meanwhile()]);
  return Tally.merge(tallies);
}
