/** Takes former passwords away, once everybody had the time to use the new ones. */
import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "../../lib/errors";
import type { DeploymentReference } from "../../platforms/deployment-reference";
import { openDeployment, openKubernetesClient } from "../../platforms/deployment-reference";
import { reloadExporter, removeOverlap } from "../../platforms/kubernetes/access/password-overlap";
import { retireOtherPasswords } from "../../valkey/access/apply-access";
import type { Credentials } from "../../valkey/access/users";
import { passwordsDiffer } from "../../valkey/access/users";
import type { Deployment } from "../../valkey/deployment";
import type { HandlerContext, ResourceHandler } from "../resource-handler";
import { waitOptions } from "../waiting";

export interface PasswordRetirementInputs extends Credentials {
  readonly target: DeploymentReference;
  /** When nodes were last told of users and passwords: see `Access`. */
  readonly changedAt: string;
  /** How long former passwords stay valid after the new ones are published. */
  readonly overlapSeconds: number;
  /** Of the exporters of metrics beside the servers; null without them. */
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

export const handler: ResourceHandler<PasswordRetirementInputs, object> = {
  create: ({ target }) => Promise.resolve({ id: target.name, outputs: {} }),
  update: async (_id, olds, news, context) => {
    const { target, password, overlapSeconds, timeoutSeconds } = news;
    const differ = passwordsDiffer(olds, news);
    if (!differ && news.changedAt === olds.changedAt) return {};
    if (differ) {
      context.report(`${target.name}: the former and the new password are valid for ${overlapSeconds} s from now`);
      await sleep(overlapSeconds * 1000, undefined, { signal: context.signal });
    }
    const options = waitOptions(target.name, timeoutSeconds, context);
    const deployment = await openDeployment(target, password, options, olds.password);
    if (differ) await reloadExporters(news, deployment, context);
    if (target.platform === "kubernetes")
      await removeOverlap(await openKubernetesClient(target), target.namespace, target.name);
    await retireOtherPasswords(deployment, news);
    return {};
  },
  // An overlap that was interrupted leaves it.
  delete: async (_id, { target }) => {
    if (target.platform !== "kubernetes") return;
    await removeOverlap(await openKubernetesClient(target), target.namespace, target.name);
  },
};
