/** A pod tests the image. `valkey/settings/version.ts` refuses versions that may not read the data. */
import { type Problem, Failure, messageOf, problem } from "../../../lib/errors";
import type { V1PodSpec } from "@kubernetes/client-node";
import { type KubernetesReference, openKubernetesClient } from "../../../platforms/deployment-reference";
import type { KubernetesClient } from "../../../platforms/kubernetes/api/client";
import type { Plain } from "../../../platforms/kubernetes/api/plain";
import { isPodRunning } from "../../../platforms/kubernetes/api/pod-diagnostics";
import { formatLabelSelector, listAllPods, readPodLabels } from "../../../platforms/kubernetes/pods/running-pods";
import { runPodToCompletion } from "../../../platforms/kubernetes/pods/pod-run";
import { withEveryNode } from "../../../valkey/connections";
import { parseInfo } from "../../../valkey/topology/replies";
import { cannotReadDataOf, tagOf } from "../../../valkey/settings/version";
import { inspectOrReport } from "../../protocol/preview";
import type { HandlerContext, ResourceHandler } from "../../protocol/resource-handler";
import { openToLook } from "../../protocol/opening";
import { waitOptions } from "../../protocol/waiting";

export interface ImageCheckInputs {
  readonly target: KubernetesReference;
  readonly password: string;
  readonly image: string;
  /** Specification of the pod that runs the image, with the servers' pull secrets and placement. */
  readonly pod: object;
  readonly timeoutSeconds: number;
}

/** This time is enough to pull some hundred megabytes from a slow registry. */
const MOST_SECONDS = 300;
const LABELS = { "app.kubernetes.io/name": "valkey-image-check", "app.kubernetes.io/managed-by": "valkey-measured" };

/** After an interrupted change, servers may run two versions. */
async function runningTags(kubernetes: KubernetesClient, target: KubernetesReference): Promise<string[]> {
  const { namespace, statefulSet, container } = target;
  const labels = await readPodLabels(kubernetes, namespace, { statefulSet });
  const pods = await listAllPods(kubernetes, namespace, formatLabelSelector(labels));
  return pods
    .filter((pod) => isPodRunning(pod, container))
    .flatMap(({ spec }) => tagOf(spec?.containers.find(({ name }) => name === container)?.image ?? "") ?? []);
}

/** If the servers do not answer, the tags of their images count. */
async function runningVersions(inputs: ImageCheckInputs, signal: AbortSignal): Promise<string[]> {
  const deployment = await openToLook(inputs, { signal });
  const answers = await withEveryNode(deployment, (attempts) =>
    Promise.all(attempts.map(async ({ connection }) => connection?.info("server"))),
  );
  return answers.flatMap((text) => (text === undefined ? [] : (parseInfo(text).get("valkey_version") ?? [])));
}

function refusal(name: string, running: readonly string[], to: string): string | undefined {
  const from = running.find((version) => cannotReadDataOf(version, to));
  if (from === undefined) return undefined;
  return (
    `${name} runs Valkey ${from}, and Valkey ${to} may be unable to read the data files of Valkey ${from}. ` +
    `Stay on Valkey ${from} or newer; or deploy a second stack with Valkey ${to}, and copy the keys`
  );
}

/** In a pod. @returns the version of its server. @throws Failure when it is not Valkey, or cannot be pulled */
async function lookAt({ target, image, pod, ...limits }: ImageCheckInputs, context: HandlerContext): Promise<string> {
  const { name, namespace } = target;
  const labels = { ...LABELS, "app.kubernetes.io/instance": name };
  const options = waitOptions(name, Math.min(limits.timeoutSeconds, MOST_SECONDS), context);
  try {
    const run = { namespace, name: `${name}-image`, labels, spec: pod as Plain<V1PodSpec> };
    const said = await runPodToCompletion(await openKubernetesClient(target), run, options);
    const version = /^Valkey server v=(\S+)/.exec(said)?.[1];
    if (version === undefined)
      throw new Failure(`its valkey-server --version prints ${JSON.stringify(said)}, which names no version of Valkey`);
    return version;
  } catch (error) {
    context.signal.throwIfAborted();
    throw new Failure(`${name}: image ${image} cannot be used, so nothing has changed: ${messageOf(error)}`);
  }
}

export const handler: ResourceHandler<ImageCheckInputs, object> = {
  check: async (olds, { image, target }, { report }): Promise<Problem[]> => {
    const tag = tagOf(image ?? "");
    if (olds === undefined || tag === undefined || image === olds.image || target === undefined) return [];
    if (!cannotReadDataOf(tagOf(olds.image) ?? "", tag)) return [];
    // Only versions that really run count. A version that never ran has written no data.
    const { name } = olds.target;
    const tags = await inspectOrReport(name, report, async () =>
      runningTags(await openKubernetesClient(olds.target), olds.target),
    );
    const reason = tags && refusal(name, tags, tag);
    return reason === undefined ? [] : [problem("older-version", "image", reason)];
  },
  describeChange: ({ image: before }, { image: after }) =>
    after === undefined || after === before
      ? []
      : [
          `image ${before} becomes ${after}; one pod runs the new image first, and if the new image is not Valkey, nothing changes`,
        ],
  // Servers that do not exist yet have no data to lose.
  create: ({ target }) => Promise.resolve({ id: target.name, outputs: {} }),
  update: async (_id, olds, news, context) => {
    if (olds.image === news.image) return {};
    const version = await lookAt(news, context);
    const kubernetes = await openKubernetesClient(olds.target);
    const running = await runningVersions(olds, context.signal).catch(() => {
      context.signal.throwIfAborted();
      return runningTags(kubernetes, olds.target);
    });
    const reason = refusal(olds.target.name, running, version);
    if (reason !== undefined) throw new Failure(`${reason}. Nothing has changed`);
    context.report(`${olds.target.name}: Valkey ${[...new Set(running)].sort().join(" and ")} becomes ${version}`);
    return {};
  },
};
