import { compact } from "../../lib/compact";
import { Failure, problem } from "../../lib/errors";
import { allRunsDirectories, packagesDirectory, runsDirectory } from "../../lib/system/paths";
import type { DeploymentReference } from "../../platforms/deployment-reference";
import { referenceTo } from "../../platforms/kept-deployments";
import { type HostDeploymentPlan, hostDirectives } from "../../platforms/host/deployment-plan";
import { Host } from "../../platforms/host/host";
import { findPrograms } from "../../platforms/host/programs/programs";
import { runningProcesses, RunDirectory, stopAbandonedRuns, stopRun } from "../../platforms/host/run-directory";
import type { Deployment } from "../../valkey/deployment";
import { describeSettingsChange, dynamicChanges, restartChanges } from "../../valkey/settings/dynamic-settings";
import type { ServerSettings } from "../../valkey/settings/settings";
import { type Shape, nodeCount } from "../../valkey/topology/placement";
import { canonicalJson } from "../protocol/engine-values";
import type { HandlerContext, ResourceHandler } from "../protocol/resource-handler";

export interface HostServersInputs {
  /** Plan of the deployment. A changed plan replaces the deployment. */
  readonly plan: Omit<HostDeploymentPlan, "password" | "shape" | "settings">;
  /** Settings of the servers. Changed settings are set on running servers. Settings that need a restart are refused. */
  readonly settings: ServerSettings;
  readonly shape: Shape;
  readonly password: string;
  /** Owner of the run directory: project, stack and deployment. */
  readonly owner: string;
  /** Time limit for a change of the shape, seconds. */
  readonly timeoutSeconds: number;
}

export interface HostServersOutputs {
  readonly target: DeploymentReference;
  readonly version: string;
  readonly directory: string;
}

const ADVICE = "destroy or replace the deployment (pulumi up --replace)";

/**
 * Starts, changes and stops the servers. If `create` fails, it stops the servers that it started. If `update` fails,
 * servers may have the former password, the new password or both. Some servers may have new settings, and added servers
 * may run. Some slots may have moved to their new primaries while other slots have not moved, but all slots are served.
 * The next update sets password and settings on all servers and continues the change of the shape, even if that update
 * goes back to the former values.
 */
export const handler: ResourceHandler<HostServersInputs, HostServersOutputs> = {
  replaceOn: ["plan"],
  create: async (inputs, { signal }) => {
    const { owner, shape } = inputs;
    const runs = runsDirectory();
    await stopAbandonedRuns(...allRunsDirectories());
    // An interrupted update may have left runs of this owner that are not in the state.
    for (const { path, info } of RunDirectory.list(runs)) if (info.stack === owner) await stopRun(path);
    const programs = await findPrograms(packagesDirectory(), () => undefined, signal);
    const run = RunDirectory.create(runs, owner);
    try {
      const deployment = await new Host(run, programs).start(hostPlan(inputs), signal);
      run.keep();
      const target = referenceTo(deployment, shape);
      return { id: run.id, outputs: { target, version: programs.version, directory: run.path } };
    } catch (error) {
      await stopRun(run.path);
      throw error;
    }
  },
  check: (olds, { plan, settings, shape }) => {
    if (olds === undefined || plan === undefined || settings === undefined) return Promise.resolve([]);
    // A changed plan starts new servers.
    if (canonicalJson(plan) !== canonicalJson(olds.plan)) return Promise.resolve([]);
    const names = restartChanges(directivesOf(olds), directivesOf({ plan, settings, shape: shape ?? olds.shape }));
    if (names.length === 0) return Promise.resolve([]);
    const reason =
      `a running server cannot take a new value of ${names.join(", ")}, and a restart on the platform host loses the data. ` +
      "Undo the change; or destroy the deployment and its data first (pulumi destroy)";
    return Promise.resolve([problem("needs-restart", "settings", reason)]);
  },
  describeChange: (olds, { plan, settings = olds.settings, password }) => {
    if (canonicalJson(plan) !== canonicalJson(olds.plan))
      return [`${olds.plan.name}: all servers are replaced, and their data is deleted`];
    const nodes = nodeCount(olds.shape);
    return compact([
      ...describeSettingsChange(directivesOf(olds), directivesOf({ ...olds, settings }), nodes),
      password === olds.password ? undefined : `a new password: set on ${nodes} running nodes, without a restart`,
    ]);
  },
  recordsAttempts: true,
  update: (_id, olds, news, context, attempts = []) => changeServers(olds, news, context, attempts),
  delete: async (_id, { directory }) => {
    await stopRun(directory);
  },
  read: (_id, { directory, plan, shape, target, version }) => {
    const running = runningProcesses(directory).length;
    if (running === 0) return Promise.resolve(undefined);
    const expected = nodeCount(shape) + (plan.sentinel?.count ?? 0);
    if (running < expected) {
      throw new Failure(`${plan.name}: ${running} of ${expected} servers run; ${ADVICE}`);
    }
    if (running > expected) {
      throw new Failure(
        `${plan.name}: ${running} servers run, ${expected} are expected: a change of primaries or replicas was interrupted. ` +
          `Run pulumi up again to finish it, or ${ADVICE}`,
      );
    }
    return Promise.resolve({ target, version, directory });
  },
};

async function changeServers(
  olds: HostServersInputs & HostServersOutputs,
  { settings, shape, password, timeoutSeconds }: HostServersInputs,
  { signal }: HandlerContext,
  attempts: readonly HostServersInputs[],
): Promise<HostServersOutputs> {
  const { directory, version } = olds;
  const programs = await findPrograms(packagesDirectory(), () => undefined, signal);
  const host = new Host(RunDirectory.open(directory), programs);
  const former = [olds, ...attempts];
  // After a failed update, servers may accept only the password of that update.
  const formerPassword = former.map((each) => each.password).findLast((each) => each !== password);
  if (formerPassword !== undefined)
    await host.changePassword(await host.adopt(hostPlan({ ...olds, password }), formerPassword), password);
  const wanted = directivesOf({ ...olds, settings });
  const changes = new Map(
    former.flatMap((each) => [...dynamicChanges(directivesOf({ ...olds, settings: each.settings }), wanted)]),
  );
  if (changes.size > 0) {
    await host.configure(await host.adopt(hostPlan({ ...olds, password })), changes, {
      timeoutMs: timeoutSeconds * 1000,
      signal,
    });
  }
  // The deployment includes servers that an interrupted update has started already.
  const deployment = await host.adopt(hostPlan({ ...olds, settings, password }));
  requireServers(olds, deployment, shape);
  const resized = await host.resize(deployment, shape, { timeoutMs: timeoutSeconds * 1000 }, signal);
  return { target: referenceTo(resized, shape), version, directory };
}

/** @throws Failure with the names of these servers */
function requireServers(
  { plan, target }: HostServersInputs & HostServersOutputs,
  { nodes }: Deployment,
  shape: Shape,
): void {
  const known = target.platform === "endpoints" ? target.nodes.map(({ name }) => name) : [];
  const ended = known.slice(0, nodeCount(shape)).filter((name) => nodes.every((node) => node.name !== name));
  if (ended.length === 0) return;
  throw new Failure(`${plan.name}: ${ended.join(", ")} no longer ${ended.length === 1 ? "runs" : "run"}; ${ADVICE}`);
}

function hostPlan({
  plan,
  settings,
  shape,
  password,
}: HostServersInputs): HostDeploymentPlan & { readonly password: string } {
  return { ...plan, settings, shape, password };
}

function directivesOf({
  plan,
  settings,
  shape,
}: Pick<HostServersInputs, "plan" | "settings" | "shape">): Map<string, string> {
  return hostDirectives({ ...plan, settings, shape });
}
