import { Failure } from "../../benchmarks/errors";
import { allRunsDirectories, packagesDirectory, runsDirectory } from "../../benchmarks/paths";
import type { Target } from "../../benchmarks/target";
import { Host } from "../../benchmarks/host/host";
import type { HostPlan } from "../../benchmarks/host/host";
import { findPrograms } from "../../benchmarks/host/programs";
import { livingProcesses, RunDirectory, stopAbandonedRuns, stopRun } from "../../benchmarks/host/run-directory";
import { nodeCount } from "../../benchmarks/topology/placement";
import type { Handler } from "../handled";
import type { HostServersInputs, HostServersOutputs } from "../host-servers";

const untilKilled = new AbortController().signal;

const handler: Handler<HostServersInputs, HostServersOutputs> = {
  replaceOn: ["plan", "password"],
  create: async (inputs) => {
    const { owner, password } = inputs;
    const plan: HostPlan = { ...inputs.plan, password };
    const runs = runsDirectory();
    await stopAbandonedRuns(...allRunsDirectories());
    // Kept under this name and not in the state: what an interrupted update left.
    for (const { path, info } of RunDirectory.list(runs)) if (info.kept && info.stack === owner) await stopRun(path);
    const programs = await findPrograms(packagesDirectory(), () => undefined, untilKilled);
    const run = RunDirectory.create(runs, owner);
    try {
      const deployment = await new Host(run, programs).start(plan, untilKilled);
      run.keep();
      const { name, mode, nodes, zones = [], directives } = deployment;
      const target: Target = { platform: "endpoints", name, mode, shape: plan.shape, zones, directives: Object.fromEntries(directives), nodes };
      return { id: run.id, outputs: { target, version: programs.version, directory: run.path } };
    } catch (error) {
      await stopRun(run.path);
      throw error;
    }
  },
  delete: async (_id, { directory }) => {
    await stopRun(directory);
  },
  exists: (_id, { directory, plan }) => {
    const living = livingProcesses(directory).length;
    if (living === 0) return Promise.resolve(false);
    if (living < nodeCount(plan.shape)) throw new Failure(`${plan.name}: ${living} of its ${nodeCount(plan.shape)} servers run; destroy it or replace it (pulumi up --replace)`);
    return Promise.resolve(true);
  },
};
export default handler;
