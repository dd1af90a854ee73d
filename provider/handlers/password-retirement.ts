/** Takes former passwords away, once everybody had the time to use the new ones. */
import { messageOf } from "../../lib/errors";
import { pause } from "../../lib/polling";
import type { DeploymentReference } from "../../platforms/deployment-reference";
import { openDeployment, openKubernetesClient } from "../../platforms/deployment-reference";
import { overlapExists, reloadExporter, removeOverlap } from "../../platforms/kubernetes/access/password-overlap";
import { acceptsOtherPasswords, retireOtherPasswords } from "../../valkey/access/apply-access";
import type { Credentials } from "../../valkey/access/users";
import { passwordsDiffer } from "../../valkey/access/users";
import type { Deployment } from "../../valkey/deployment";
import { openForDeletion } from "../protocol/deletion";
import type { HandlerContext, ResourceHandler } from "../protocol/resource-handler";
import { waitOptions } from "../protocol/waiting";

export interface PasswordRetirementInputs extends Credentials {
  readonly target: DeploymentReference;
  /** When nodes were last told of users and passwords: see `Access`. */
  readonly changedAt: string;
  /** How long former passwords stay valid after the new ones are published. */
  readonly overlapSeconds: number;
  /** Port of the metrics exporters beside the servers; null without them. */
  readonly exporterPort: number | null;
  /** Time limit for nodes to answer. */
  readonly timeoutSeconds: number;
}

/** Exporters read their password when they start, and when they are told to. */
async function reloadExporters(
  { target, exporterPort }: PasswordRetirementInputs,
  { nodes }: Deployment,
  { report }: HandlerContext,
): Promise<void> {
  if (target.platform !== "kubernetes" || exporterPort === null) return;
  const kubernetes = await openKubernetesClient(target);
  const { namespace } = target;
  const tell = async (pod: string): Promise<void> => {
    try {
      await reloadExporter(kubernetes, { namespace, pod, port: exporterPort });
    } catch (error) {
      report(`${pod}: its exporter keeps the former password until it restarts (${messageOf(error)})`);
    }
  };
  await Promise.all(nodes.map(({ name }) => tell(name)));
}

function openNodes(
  olds: PasswordRetirementInputs,
  { target, password, timeoutSeconds }: PasswordRetirementInputs,
  context: HandlerContext,
): Promise<Deployment> {
  return openDeployment(target, password, waitOptions(target.name, timeoutSeconds, context), olds.password);
}

/** Whether pods and clients may still read another password than the one that stays, and servers accept it. */
async function isOverlapping(
  olds: PasswordRetirementInputs,
  news: PasswordRetirementInputs,
  context: HandlerContext,
): Promise<boolean> {
  const { target } = news;
  if (
    target.platform === "kubernetes" &&
    (await overlapExists(await openKubernetesClient(target), target.namespace, target.name))
  )
    return true;
  return acceptsOtherPasswords(await openNodes(olds, news, context), news);
}

/**
 * A failure or an interruption leaves former passwords valid, on some servers or on all, and perhaps the Secret of the overlap. The
 * next update begins the overlap anew while a server accepts a further password or the Secret exists.
 */
export const handler: ResourceHandler<PasswordRetirementInputs, object> = {
  create: ({ target }) => Promise.resolve({ id: target.name, outputs: {} }),
  update: async (_id, olds, news, context) => {
    const { target, overlapSeconds } = news;
    if (!passwordsDiffer(olds, news) && news.changedAt === olds.changedAt) return {};
    // Not what this resource has seen counts, but what is published: a new password may have been taken back.
    const overlaps = passwordsDiffer(olds, news) || (await isOverlapping(olds, news, context));
    if (overlaps) {
      context.report(`${target.name}: the former and the new password are valid for ${overlapSeconds} s from now`);
      await pause(overlapSeconds * 1000, context.signal);
    }
    const deployment = await openNodes(olds, news, context);
    if (overlaps) await reloadExporters(news, deployment, context);
    if (target.platform === "kubernetes")
      await removeOverlap(await openKubernetesClient(target), target.namespace, target.name);
    await retireOtherPasswords(deployment, news);
    return {};
  },
  // An overlap that was interrupted leaves it.
  delete: async (_id, { target }, context) => {
    if (target.platform !== "kubernetes") return;
    const kubernetes = await openForDeletion(target, `passwords of ${target.name}`, context);
    if (kubernetes !== undefined) await removeOverlap(kubernetes, target.namespace, target.name);
  },
};
