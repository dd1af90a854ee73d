import { Failure } from "../../../lib/errors";
import type { DeploymentReference } from "../../../platforms/deployment-reference";
import { openKubernetesClient, openRunningServers } from "../../../platforms/deployment-reference";
import { parseQuantity } from "../../../platforms/kubernetes/api/quantity";
import { findStatefulSet } from "../../../platforms/kubernetes/volumes/statefulset-volumes";
import {
  describeSettingsChange,
  dynamicChanges,
  splitDirectives,
  withoutMemoryRaise,
} from "../../../valkey/settings/dynamic-settings";
import { applySettings, differingSettings } from "../../../valkey/apply-settings";
import { nodeCount } from "../../../valkey/topology/placement";
import type { HandlerContext, ResourceHandler } from "../../protocol/resource-handler";
import { hasMemory } from "../../changes/maxmemory-raise";
import { openToLook } from "../../protocol/opening";
import { waitOptions } from "../../protocol/waiting";

export interface SettingsInputs {
  /** The deployment, with the directives that every node must have. */
  readonly target: DeploymentReference;
  readonly password: string;
  /** For each pod. On pods with a lower one, the roll-out raises maxmemory later. @default pods have no limit */
  readonly memoryLimit?: string | undefined;
  readonly timeoutSeconds: number;
}

export interface SettingsOutputs {
  /** Whether a server did not get the settings because it did not run. */
  readonly pending: boolean;
  /** Differences that `pulumi refresh` found, one sentence for each; empty if it found no differences. */
  readonly drift: readonly string[];
}

/** Servers that start later read the settings from their files. */
const MOST_SECONDS = 60;
const UNCHANGED: SettingsOutputs = { pending: false, drift: [] };
/** Directive that decides whether a server reads its append-only file or its snapshot when it starts. */
const APPEND_ONLY = "appendonly";

const directivesOf = ({ target }: SettingsInputs): ReadonlyMap<string, string> =>
  new Map(Object.entries(target.directives));

const raisesLimit = (before: string | undefined, after: string | undefined): boolean =>
  before !== undefined && after !== undefined && parseQuantity(after) > parseQuantity(before);

/** @throws Failure, with nothing changed, when a server refuses a value, or a running one does not answer */
async function setOnNodes(
  { target, timeoutSeconds }: SettingsInputs,
  { password, memoryLimit }: SettingsInputs,
  { changes, needsAll }: { readonly changes: ReadonlyMap<string, string>; readonly needsAll: boolean },
  context: HandlerContext,
): Promise<SettingsOutputs> {
  const options = waitOptions(target.name, Math.min(timeoutSeconds, MOST_SECONDS), context);
  const part = await openRunningServers(target, password, options);
  if (part === undefined) {
    // If the StatefulSet exists but no server runs, there may be data.
    if (needsAll && (await serversExist(target))) throw appendOnlyRefusal(target.name, "no server runs");
    context.report(`${target.name}: no server runs, so the settings apply when the servers start`);
    return { pending: true, drift: [] };
  }
  const mayRaise = hasMemory(part.deployment, memoryLimit);
  if (part.why === undefined) {
    await applySettings(part.deployment, changes, options, mayRaise);
    return UNCHANGED;
  }
  if (needsAll) throw appendOnlyRefusal(target.name, part.why);
  await applySettings(part.deployment, changes, options, mayRaise);
  context.report(
    `${target.name}: some servers do not run, so the settings apply to them when they start. Why they do not run: ${part.why}`,
  );
  return { pending: true, drift: [] };
}

/** A server that missed it would start with an outdated or no file, and its replicas would copy its data. */
function appendOnlyRefusal(name: string, why: string): Failure {
  return new Failure(
    `${name}: ${APPEND_ONLY} can change only while every server runs: a server that starts with ${APPEND_ONLY} on does not read its ` +
      "snapshot, and a server that starts without it does not read its append-only file. Nothing has changed. Undo the change of " +
      `${APPEND_ONLY}, or run the update again when all servers run. Present state of the servers: ${why}`,
  );
}

async function serversExist(target: DeploymentReference): Promise<boolean> {
  return (
    target.platform === "kubernetes" &&
    (await findStatefulSet(await openKubernetesClient(target), target)) !== undefined
  );
}

/** Whether servers will read different files at their next start than at their last start. */
function changesFiles(olds: SettingsInputs, target: DeploymentReference): boolean {
  const [before = "no", after = "no"] = [olds.target, target].map(({ directives }) => directives[APPEND_ONLY]);
  return before !== after;
}

/**
 * Sets directives on all running servers. A failure before the first CONFIG SET changes nothing. After a later failure,
 * servers may have the new values although their files have the former values. If a server refuses a value, all servers
 * get their former values back. The next update sets its own values on all servers.
 */
export const handler: ResourceHandler<SettingsInputs, SettingsOutputs> = {
  create: ({ target }) => Promise.resolve({ id: target.name, outputs: UNCHANGED }),
  recordsAttempts: true,
  update: (_id, olds, news, context, attempts = []) => {
    const mended = olds.pending || olds.drift.length > 0 ? splitDirectives(directivesOf(news)).live : [];
    const former = [olds, ...attempts];
    const changed = former.flatMap((each) => [...dynamicChanges(directivesOf(each), directivesOf(news))]);
    const changes = new Map([...changed, ...mended]);
    if (changes.size === 0) return Promise.resolve(UNCHANGED);
    return setOnNodes(
      olds,
      news,
      { changes, needsAll: former.some((each) => changesFiles(each, news.target)) },
      context,
    );
  },
  read: async (_id, { target, password, pending, drift, ...state }, { signal }) => {
    try {
      const deployment = await openToLook({ target, password }, { signal });
      const { live } = splitDirectives(directivesOf({ target, password, ...state }));
      return { pending, drift: await differingSettings(deployment, live) };
    } catch {
      // DeploymentVerification reports nodes that do not answer. Drift that an earlier refresh found may still exist.
      return { pending, drift };
    }
  },
  drifted: ({ pending, drift }) => pending || drift.length > 0,
  describeChange: (olds, { target, memoryLimit }) => {
    if (target === undefined) return [];
    const nodes = nodeCount(target.shape);
    const before = directivesOf(olds);
    const after = new Map(Object.entries(target.directives));
    const changes = dynamicChanges(before, after);
    const atOnce = withoutMemoryRaise(before, changes);
    if (!raisesLimit(olds.memoryLimit, memoryLimit) || atOnce === changes) {
      return describeSettingsChange(before, after, nodes);
    }
    const later = [...changes].filter(([name]) => !atOnce.has(name));
    return [
      ...describeSettingsChange(new Map([...before, ...later]), new Map([...after, ...later]), nodes),
      `${later.map((each) => each.join(" ")).join(", ")}: set on ${nodes} nodes when their pods have the new memory limit`,
    ];
  },
};
