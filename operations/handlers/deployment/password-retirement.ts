/** Waits until pods and clients had time to switch to the new password, then revokes the former one. */
import { messageOf } from "../../../lib/errors";
import { pause } from "../../../lib/polling";
import { type DeploymentReference, openKubernetesClient } from "../../../platforms/deployment-reference";
import { overlapExists, reloadExporter, removeOverlap } from "../../../platforms/kubernetes/access/overlap-secret";
import { acceptsOtherPasswords, retireOtherPasswords } from "../../../valkey/access/apply-access";
import { type Credentials, passwordsDiffer } from "../../../valkey/access/users";
import type { Deployment } from "../../../valkey/deployment";
import { openForDeletion } from "../../protocol/deletion";
import type { HandlerContext, ResourceHandler } from "../../protocol/resource-handler";
import { openForUpdate } from "../../protocol/opening";

export interface PasswordRetirementInputs extends Credentials {
  readonly target: DeploymentReference;
  /** Time when `Access` last set users and passwords on the nodes, ISO 8601. @default the passwords do not change */
  readonly changedAt?: string | undefined;
  /** Seconds for which former passwords stay valid after the new passwords are published. @default 0 */
  readonly overlapSeconds?: number | undefined;
  /** Port of the servers' metrics exporters. @default no exporters */
  readonly exporterPort?: number | undefined;
  readonly timeoutSeconds: number;
}

/** Otherwise an exporter reads its password only when it starts. */
async function reloadExporters(
  { target, exporterPort }: PasswordRetirementInputs,
  { nodes }: Deployment,
  { report }: HandlerContext,
): Promise<void> {
  if (target.platform !== "kubernetes" || exporterPort === undefined) return;
  const kubernetes = await openKubernetesClient(target);
  const { namespace } = target;
  const tell = async (pod: string): Promise<void> => {
    try {
      await reloadExporter(kubernetes, { namespace, pod, port: exporterPort });
    } catch (error) {
      report(`${pod}: the exporter keeps the former password until the exporter restarts (${messageOf(error)})`);
    }
  };
  await Promise.all(nodes.map(({ name }) => tell(name)));
}

/** In the Secret of the overlap, or on servers that accept it. */
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
  const { deployment } = await openForUpdate(news, context, olds.password);
  return acceptsOtherPasswords(deployment, news);
}

/**
 * Waits for the overlap and then revokes former passwords. After a failure or an interruption, some or all servers
 * still accept former passwords, and the Secret of the overlap may still exist. The next update waits for the whole
 * overlap again if the Secret exists or if a server accepts a password other than the wanted password.
 */
export const handler: ResourceHandler<PasswordRetirementInputs, object> = {
  create: ({ target }) => Promise.resolve({ id: target.name, outputs: {} }),
  update: async (_id, olds, news, context) => {
    const { target, overlapSeconds = 0, changedAt } = news;
    if (changedAt === undefined) return {};
    if (!passwordsDiffer(olds, news) && news.changedAt === olds.changedAt) return {};
    // The inputs do not suffice for a decision: a new password may have been published and undone since the last
    // success.
    const overlaps = passwordsDiffer(olds, news) || (await isOverlapping(olds, news, context));
    if (overlaps) {
      context.report(
        `${target.name}: the new password is valid, and the former password stays valid for ${overlapSeconds} s`,
      );
      await pause(overlapSeconds * 1000, context.signal);
    }
    const { deployment } = await openForUpdate(news, context, olds.password);
    if (overlaps) await reloadExporters(news, deployment, context);
    if (target.platform === "kubernetes")
      await removeOverlap(await openKubernetesClient(target), target.namespace, target.name);
    await retireOtherPasswords(deployment, news);
    return {};
  },
  // An interrupted overlap may have left its Secret.
  delete: async (_id, { target }, context) => {
    if (target.platform !== "kubernetes") return;
    const kubernetes = await openForDeletion(target, `passwords of ${target.name}`, context);
    if (kubernetes !== undefined) await removeOverlap(kubernetes, target.namespace, target.name);
  },
};
