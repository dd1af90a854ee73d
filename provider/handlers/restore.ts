/**
 * Fills a new deployment on Kubernetes with archived data. A pod does the work, because it reaches the bucket and the
 * servers, and because the data of a deployment may not fit on the machine that runs Pulumi.
 */
import type { V1PodSpec } from "@kubernetes/client-node";
import { Failure, messageOf } from "../../lib/errors";
import type { KubernetesReference } from "../../platforms/deployment-reference";
import { openKubernetesClient } from "../../platforms/deployment-reference";
import type { Plain } from "../../platforms/kubernetes/api/plain";
import { removeFormerRuns, runPodToCompletion } from "../../platforms/kubernetes/pods/pod-run";
import {
  deleteRestoreRecord,
  readRestoreRecord,
  writeRestoreRecord,
} from "../../platforms/kubernetes/pods/restore-record";
import { findStatefulSet } from "../../platforms/kubernetes/volumes/statefulset-volumes";
import type { RestoreResult } from "../../valkey/restoring/fill-result";
import { BEGAN_VARIABLE, parseResult } from "../../valkey/restoring/fill-result";
import { filledProblem, readServers } from "../../valkey/restoring/fill-problems";
import { openForUpdate, openToLook } from "../protocol/opening";
import { inspectOrReport } from "../protocol/preview";
import type { HandlerContext, InputProblem, ResourceHandler } from "../protocol/resource-handler";
import { waitOptions } from "../protocol/waiting";

export interface RestoreInputs {
  readonly target: KubernetesReference;
  readonly password: string;
  /** The archive, the time and the keys to restore, as text for messages. */
  readonly source: string;
  /** Specification of the pod that fills the deployment. */
  readonly pod: object;
  /** Labels of the pod, by which network policies select it. */
  readonly labels: Readonly<Record<string, string>>;
  /** Time limit for the servers to answer, seconds. */
  readonly timeoutSeconds: number;
  /** Time limit for the restore, seconds. */
  readonly restoreSeconds: number;
  /** Duration of the formation, milliseconds, so that the restore comes after it; null in replication mode. */
  readonly formationMs: number | null;
}

export interface RestoreOutputs {
  /** Result of the restore. It never changes. */
  readonly restored: RestoreResult;
}

/** Fills the deployment. A second call continues what an earlier call began, or returns its result. */
async function fill(inputs: RestoreInputs, context: HandlerContext): Promise<RestoreResult> {
  const { target, pod, labels, source } = inputs;
  const { name } = target;
  const kubernetes = await openKubernetesClient(target);
  const record = await readRestoreRecord(kubernetes, target);
  if (record?.result !== undefined) return parseResult(record.result);
  if (record === undefined) {
    const problem = await existingData(inputs, context);
    if (problem !== undefined) throw new Failure(problem);
  } else context.report(`${name}: continuing the restore that began at ${new Date(record.began).toISOString()}`);
  const began = record?.began ?? Date.now();
  const run = { namespace: target.namespace, name: `${name}-restore`, labels, spec: withBegan(pod, began) };
  // A pod of an update that was killed may still be writing.
  await removeFormerRuns(kubernetes, run, waitOptions(name, inputs.timeoutSeconds, context));
  await writeRestoreRecord(kubernetes, target, { began, result: undefined });
  context.report(`${name}: restoring ${source}`);
  const options = waitOptions(name, inputs.restoreSeconds, context);
  const said = await runPodToCompletion(kubernetes, run, options).catch((error: unknown) => {
    context.signal.throwIfAborted();
    throw new Failure(`${name}: the restore failed, and the next update tries again: ${messageOf(error)}`);
  });
  const result = parseResult(said);
  await writeRestoreRecord(kubernetes, target, { began, result: said });
  return result;
}

/** The reason why the deployment is not new; undefined if it has no data. */
async function existingData(inputs: RestoreInputs, context: HandlerContext): Promise<string | undefined> {
  const { deployment } = await openForUpdate(inputs, context);
  return filledProblem(deployment.name, await readServers(deployment));
}

/** Tells the pod when the restore began, so that TTLs count from the same time after an interruption. */
function withBegan(pod: object, began: number): Plain<V1PodSpec> {
  const { containers, ...spec } = pod as Plain<V1PodSpec>;
  const env = { name: BEGAN_VARIABLE, value: String(began) };
  return { ...spec, containers: containers.map((each) => ({ ...each, env: [...(each.env ?? []), env] })) };
}

async function problemsBefore(
  { target, password }: Partial<RestoreInputs>,
  { signal, report }: HandlerContext,
): Promise<InputProblem[]> {
  if (target === undefined || password === undefined) return [];
  const problem = await inspectOrReport(target.name, report, async () => {
    const kubernetes = await openKubernetesClient(target);
    // A new deployment has no servers yet.
    if ((await findStatefulSet(kubernetes, target)) === undefined) return undefined;
    if ((await readRestoreRecord(kubernetes, target)) !== undefined) return undefined;
    const deployment = await openToLook({ target, password }, { signal, kubernetes });
    return filledProblem(target.name, await readServers(deployment));
  });
  return problem === undefined ? [] : [{ property: "source", reason: problem }];
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
  create: async (inputs, context) => ({
    id: inputs.target.name,
    outputs: { restored: await fill(inputs, context) },
  }),
  update: (_id, { restored }) => Promise.resolve({ restored }),
  delete: async (_id, { target }) => {
    await deleteRestoreRecord(await openKubernetesClient(target), target);
  },
};
