/** Sets directives on running servers. */
import { messageOf } from "../../lib/errors";
import type { DeploymentReference } from "../../platforms/deployment-reference";
import { openDeployment } from "../../platforms/deployment-reference";
import { describeSettingsChange, liveChanges, splitDirectives } from "../../valkey/live-settings";
import { applySettings, differingSettings } from "../../valkey/apply-settings";
import { nodeCount } from "../../valkey/topology/placement";
import type { HandlerContext, ResourceHandler } from "../resource-handler";
import { waitOptions } from "../waiting";

export interface SettingsInputs {
  /** With the directives that every node has or is to have. */
  readonly target: DeploymentReference;
  readonly password: string;
  /** Time limit for nodes to answer. */
  readonly timeoutSeconds: number;
}

export interface SettingsOutputs {
  /** Whether nodes could not be told, because they did not run. */
  readonly pending: boolean;
  /** What `pulumi refresh` found to differ, a sentence each; empty when nothing. */
  readonly drift: readonly string[];
}

/** Nodes that do not answer within this read their settings when they start. */
const MOST_SECONDS = 60;
const UNCHANGED: SettingsOutputs = { pending: false, drift: [] };

const directivesOf = ({ target }: SettingsInputs): ReadonlyMap<string, string> =>
  new Map(Object.entries(target.directives));

/** @throws Failure when a server refuses a value; nothing has changed then */
async function setOnNodes(
  { target, timeoutSeconds }: SettingsInputs,
  password: string,
  changes: ReadonlyMap<string, string>,
  context: HandlerContext,
): Promise<SettingsOutputs> {
  const options = waitOptions(target.name, Math.min(timeoutSeconds, MOST_SECONDS), context);
  let deployment;
  try {
    deployment = await openDeployment(target, password, options);
  } catch (error) {
    context.signal.throwIfAborted();
    context.report(`${target.name}: nodes that do not run read their settings when they start (${messageOf(error)})`);
    return { pending: true, drift: [] };
  }
  await applySettings(deployment, changes, options);
  return UNCHANGED;
}

export const handler: ResourceHandler<SettingsInputs, SettingsOutputs> = {
  create: ({ target }) => Promise.resolve({ id: target.name, outputs: UNCHANGED }),
  update: (_id, olds, news, context) => {
    const mended = olds.pending || olds.drift.length > 0 ? splitDirectives(directivesOf(news)).live : [];
    const changes = new Map([...liveChanges(directivesOf(olds), directivesOf(news)), ...mended]);
    return changes.size === 0 ? Promise.resolve(UNCHANGED) : setOnNodes(olds, news.password, changes, context);
  },
  read: async (_id, { target, password, pending, ...state }, { signal }) => {
    try {
      const deployment = await openDeployment(target, password, { timeoutMs: 15_000, signal });
      const { live } = splitDirectives(directivesOf({ target, password, ...state }));
      return { pending, drift: await differingSettings(deployment, live) };
    } catch {
      // The check of the topology reports what does not answer.
      return { pending, drift: [] };
    }
  },
  drifted: ({ pending, drift }) => pending || drift.length > 0,
  announce: (olds, { target }) => {
    if (target === undefined) return [];
    const after = new Map(Object.entries(target.directives));
    return describeSettingsChange(directivesOf(olds), after, nodeCount(target.shape));
  },
};
