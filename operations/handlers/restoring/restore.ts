/** A pod does the work: it reaches the bucket and the servers, and the data may not fit on Pulumi's machine. */
import { type Problem, Failure, messageOf, problem } from "../../../lib/errors";
import type { V1PodSpec } from "@kubernetes/client-node";
import { type KubernetesReference, openKubernetesClient } from "../../../platforms/deployment-reference";
import type { Plain } from "../../../platforms/kubernetes/api/plain";
import { removeFormerRuns, runPodToCompletion } from "../../../platforms/kubernetes/pods/pod-run";
import type { RestoreRecord } from "../../../platforms/kubernetes/pods/restore-record";
import {
  beginRestoreRecord,
  completeRestoreRecord,
  deleteRestoreRecord,
  findRestoreOwner,
  readRestoreRecord,
  restoreOwner,
} from "../../../platforms/kubernetes/pods/restore-record";
import { findStatefulSet } from "../../../platforms/kubernetes/volumes/statefulset-volumes";
import { type RestoreResult, BEGAN_VARIABLE, parseResult } from "../../../backup/restoring/filling/fill-result";
import { filledProblem, readServers } from "../../../backup/restoring/filling/fill-problems";
import { removeFilled } from "../../../backup/restoring/filling/filled-key";
import { openForUpdate, openToLook } from "../../protocol/opening";
import { inspectOrReport } from "../../protocol/preview";
import type { HandlerContext, ResourceHandler } from "../../protocol/resource-handler";
import { waitOptions } from "../../protocol/waiting";

export interface RestoreInputs {
  readonly target: KubernetesReference;
  readonly password: string;
  /** The archive, the time and the keys to restore, as text for messages. */
  readonly source: string;
  readonly pod: object;
  /** Labels of the pod, by which network policies select it. */
  readonly labels: Readonly<Record<string, string>>;
  readonly timeoutSeconds: number;
  readonly restoreSeconds: number;
  /** Duration of the formation, milliseconds, so that the restore comes after it; null in replication mode. */
  readonly formationMs: number | null;
}

export interface RestoreOutputs {
  /** It never changes. */
  readonly restored: RestoreResult;
  /** UID of the service account of the restore's pod. A deployment in a different namespace has a different one. */
  readonly owner: string;
}

/** Older interrupted restores are not continued, because clients may use the deployment by now. */
const CONTINUED_MS = 7 * 24 * 3_600_000;

/** A second call continues what an earlier call began, or returns its result. */
async function fill(inputs: RestoreInputs, context: HandlerContext): Promise<RestoreOutputs> {
  const { target, pod, labels, source } = inputs;
  const { name } = target;
  const kubernetes = await openKubernetesClient(target);
  const owner = await restoreOwner(kubernetes, target);
  const former = await readRestoreRecord(kubernetes, target, owner);
  if (former?.result !== undefined) return { restored: parseResult(former.result), owner: owner.uid };
  const run = { namespace: target.namespace, name: `${name}-restore`, labels, owner };
  // A pod of an update that was killed may still be writing.
  await removeFormerRuns(kubernetes, run, waitOptions(name, inputs.timeoutSeconds, context));
  const found = await existingData(inputs, context);
  const problem = found === undefined ? undefined : continuationProblem(inputs, found, former);
  if (problem !== undefined) throw new Failure(problem);
  const continues = found === undefined ? undefined : former;
  if (continues !== undefined)
    context.report(`${name}: continuing the restore that began at ${new Date(continues.began).toISOString()}`);
  const { began } = continues ?? (await beginRestoreRecord(kubernetes, target, owner, source));
  context.report(`${name}: restoring ${source}`);
  const options = waitOptions(name, inputs.restoreSeconds, context);
  try {
    const result = await runPodToCompletion(kubernetes, { ...run, spec: withBegan(pod, began) }, options);
    const restored = parseResult(result);
    await completeRestoreRecord(kubernetes, target, owner, { source, result });
    await removeFilled((await openForUpdate(inputs, context)).deployment);
    return { restored, owner: owner.uid };
  } catch (error) {
    context.signal.throwIfAborted();
    throw new Failure(`${name}: the restore failed, and the next update tries again: ${messageOf(error)}`);
  }
}

/** Undefined for data of an interrupted restore of this source. @param found why the deployment is not new */
function continuationProblem(
  { target: { name }, source }: Pick<RestoreInputs, "target" | "source">,
  found: string,
  former: RestoreRecord | undefined,
): string | undefined {
  if (former === undefined) return found;
  const advice = "undo the change of restoreFrom, or empty the deployment";
  if (former.source !== source)
    return `${name}: an interrupted restore of ${former.source} has written a part of the keys; ${advice}`;
  if (Date.now() - former.began <= CONTINUED_MS) return undefined;
  return (
    `${name}: a restore was interrupted at ${new Date(former.began).toISOString()}, which is too long ago to continue; ` +
    "remove restoreFrom to keep the data, or empty the deployment"
  );
}

/** The reason why the deployment is not new; undefined if it has no data. */
async function existingData(inputs: RestoreInputs, context: HandlerContext): Promise<string | undefined> {
  const { deployment } = await openForUpdate(inputs, context);
  return filledProblem(deployment.name, await readServers(deployment));
}

/** Fills servers that replace the former servers, for example in a different namespace. */
async function refill(
  olds: RestoreInputs & RestoreOutputs,
  news: RestoreInputs,
  context: HandlerContext,
): Promise<RestoreOutputs> {
  const { restored, owner } = olds;
  const { uid } = await restoreOwner(await openKubernetesClient(news.target), news.target);
  if (uid === owner || (await existingData(news, context)) !== undefined) return { restored, owner };
  return fill(news, context);
}

/** Tells the pod when the restore began, so that TTLs count from the same time after an interruption. */
function withBegan(pod: object, began: number): Plain<V1PodSpec> {
  const { containers, ...spec } = pod as Plain<V1PodSpec>;
  const env = { name: BEGAN_VARIABLE, value: String(began) };
  return { ...spec, containers: containers.map((each) => ({ ...each, env: [...(each.env ?? []), env] })) };
}

async function problemsBefore(
  { target, password, source }: Partial<RestoreInputs>,
  { signal, report }: HandlerContext,
): Promise<Problem[]> {
  if (target === undefined || password === undefined || source === undefined) return [];
  const why = await inspectOrReport(target.name, report, async () => {
    const kubernetes = await openKubernetesClient(target);
    // A new deployment has no servers yet.
    if ((await findStatefulSet(kubernetes, target)) === undefined) return undefined;
    const deployment = await openToLook({ target, password }, { signal, kubernetes });
    const found = filledProblem(target.name, await readServers(deployment));
    if (found === undefined) return undefined;
    const owner = await findRestoreOwner(kubernetes, target);
    const former = owner && (await readRestoreRecord(kubernetes, target, owner));
    return former?.result === undefined ? continuationProblem({ target, source }, found, former) : undefined;
  });
  return why === undefined ? [] : [problem("has-data", "source", why)];
}

/**
 * Runs once in the life of a deployment. A later change of the inputs changes nothing, because a deployment that has
 * been filled has data of its own.
 */
export const handler: ResourceHandler<RestoreInputs, RestoreOutputs> = {
  silentInputs: ["pod", "labels", "timeoutSeconds", "restoreSeconds", "formationMs", "password"],
  check: (olds, news, context) => (olds === undefined ? problemsBefore(news, context) : Promise.resolve([])),
  describeChange: ({ source: before }, { source: after }) =>
    after === undefined || after === before
      ? []
      : ["restoreFrom changes, but the deployment has been filled already, so nothing is restored"],
  create: async (inputs, context) => ({ id: inputs.target.name, outputs: await fill(inputs, context) }),
  update: (_id, olds, news, context) => refill(olds, news, context),
  delete: async (_id, { target }) => {
    await deleteRestoreRecord(await openKubernetesClient(target), target);
  },
};
