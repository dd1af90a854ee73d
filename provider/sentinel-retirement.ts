/** Sentinels that leave a deployment on Kubernetes: before its servers change, they decide no longer, and pod 0 is the primary. */
import type { DeploymentReference, KubernetesReference } from "../platforms/deployment-reference";
import { openKubernetesClient, openRunningPart } from "../platforms/deployment-reference";
import { findSet } from "../platforms/kubernetes/volumes/set-volumes";
import { scaleSet } from "../platforms/kubernetes/pods/scale";
import { movePrimary } from "../valkey/sentinel/move-primary";
import type { WaitOptions } from "./waiting";

/** A change of a deployment. */
export interface SentinelChange {
  /** The deployment before the change, and as failed updates tried to make it. */
  readonly former: readonly DeploymentReference[];
  readonly target: DeploymentReference;
  readonly password: string;
}

/**
 * Sentinels that leave are stopped before servers start without them: they would make pod 0, which is the primary then, a replica again.
 * Where such a change is taken back, they run again. Where the program is killed half-way, nobody fails over until the next update, or
 * until a refresh finds that they are gone.
 * @throws Failure when Sentinels do not stop, or pod 0 runs and does not take over; the Sentinels run again then
 */
export async function settleSentinels(
  { former, target, password }: SentinelChange,
  options: WaitOptions,
): Promise<void> {
  if (target.platform !== "kubernetes") return;
  const kubernetes = await openKubernetesClient(target);
  const scale = ({ namespace, sentinel }: KubernetesReference, count = sentinel?.settings.count ?? 0): Promise<void> =>
    scaleSet(kubernetes, { namespace, statefulSet: sentinel?.statefulSet ?? "" }, count, options);
  const pods = former.flatMap((each) => (each.platform === "kubernetes" ? [each] : []));
  if (target.sentinel !== undefined) {
    if (pods.some(({ sentinel }) => sentinel === undefined)) await scale(target);
    return;
  }
  const watched = pods.find(({ sentinel }) => sentinel !== undefined);
  // An update that failed early may have made nothing.
  if (watched === undefined || (await findSet(kubernetes, watched)) === undefined) return;
  const { sentinel: _watching, ...servers } = watched;
  const deployment = await openRunningPart(kubernetes, servers, password);
  const first = `${watched.statefulSet}-0`;
  const stop = (): Promise<void> => scale(watched, 0);
  try {
    if (deployment.nodes.some(({ name }) => name === first)) await movePrimary(deployment, first, stop, options);
    // It copies the newest data before it serves.
    else await stop();
  } catch (error) {
    await scale(watched).catch(() => undefined);
    throw error;
  }
}
