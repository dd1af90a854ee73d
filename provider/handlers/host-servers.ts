import type { Deployment } from "../../valkey/deployment";
import { Failure } from "../../lib/errors";
import { allRunsDirectories, packagesDirectory, runsDirectory } from "../../lib/paths";
import type { DeploymentReference } from "../../platforms/deployment-reference";
import { Host } from "../../platforms/host/host";
import type { HostDeploymentPlan } from "../../platforms/host/host";
import { findPrograms } from "../../platforms/host/programs";
import { runningProcesses, RunDirectory, stopAbandonedRuns, stopRun } from "../../platforms/host/run-directory";
import type { Shape } from "../../valkey/topology/placement";
import { nodeCount } from "../../valkey/topology/placement";
import type { ResourceHandler } from "../dynamic-resource";
import type { HostServersInputs, HostServersOutputs } from "../resources/host-servers";

const untilKilled = new AbortController().signal;

const handler: ResourceHandler<HostServersInputs, HostServersOutputs> = {
  replaceOn: ["plan", "password"],
  create: async (inputs) => {
    const { owner, shape } = inputs;
    const runs = runsDirectory();
    await stopAbandonedRuns(...allRunsDirectories());
    // Under this name and not in the state: what an interrupted update left, even if a part of it is still at work.
    for (const { path, info } of RunDirectory.list(runs)) if (info.stack === owner) await stopRun(path);
    const programs = await findPrograms(packagesDirectory(), () => undefined, untilKilled);
    const run = RunDirectory.create(runs, owner);
    try {
      const deployment = await new Host(run, programs).start(planOf(inputs), untilKilled);
      run.keep();
      return {
        id: run.id,
        outputs: { target: targetOf(deployment, shape), version: programs.version, directory: run.path },
      };
    } catch (error) {
      await stopRun(run.path);
      throw error;
    }
  },
  update: async (_id, olds, inputs) => {
    const { directory, target, version } = olds;
    const { shape, timeoutSeconds } = inputs;
    const programs = await findPrograms(packagesDirectory(), () => undefined, untilKilled);
    const host = new Host(RunDirectory.open(directory), programs);
    // With the servers that an interrupted update has started already.
    const deployment = await host.adopt(planOf(olds));
    const known = target.platform === "endpoints" ? target.nodes.map(({ name }) => name) : [];
    const ended = known
      .slice(0, nodeCount(shape))
      .filter((name) => deployment.nodes.every((node) => node.name !== name));
    if (ended.length > 0)
      throw new Failure(
        `${olds.plan.name}: ${ended.join(", ")} ${ended.length === 1 ? "has" : "have"} ended; destroy it or replace it (pulumi up --replace)`,
      );
    const resized = await host.resize(deployment, shape, { timeoutMs: timeoutSeconds * 1000 }, untilKilled);
    return { target: targetOf(resized, shape), version, directory };
  },
  delete: async (_id, { directory }) => {
    await stopRun(directory);
  },
  exists: (_id, { directory, plan, shape }) => {
    const living = runningProcesses(directory).length;
    if (living === 0) return Promise.resolve(false);
    const wanted = nodeCount(shape) + (plan.sentinel?.count ?? 0);
    if (living < wanted)
      throw new Failure(
        `${plan.name}: ${living} of its ${wanted} servers run; destroy it or replace it (pulumi up --replace)`,
      );
    if (living > wanted)
      throw new Failure(
        `${plan.name}: ${living} servers run where there should be ${wanted}: a change of its shape was interrupted; let pulumi up finish it, or replace it (pulumi up --replace)`,
      );
    return Promise.resolve(true);
  },
};
export default handler;

function planOf({ plan, shape, password }: HostServersInputs): HostDeploymentPlan & { readonly password: string } {
  return { ...plan, shape, password };
}

function targetOf(
  { name, mode, nodes, zones = [], directives, sentinels }: Deployment,
  shape: Shape,
): DeploymentReference {
  return {
    platform: "endpoints",
    name,
    mode,
    shape,
    zones,
    directives: Object.fromEntries(directives),
    nodes,
    ...(sentinels === undefined ? {} : { sentinels }),
  };
}
