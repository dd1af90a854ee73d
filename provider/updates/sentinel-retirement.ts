/**
 * Removal of Sentinels from a deployment on Kubernetes. Before the servers change, the Sentinels stop, and the primary
 * is designated.
 */
import type { DeploymentReference, KubernetesReference } from "../../platforms/deployment-reference";
import { openKubernetesClient } from "../../platforms/deployment-reference";
import { findStatefulSet } from "../../platforms/kubernetes/volumes/statefulset-volumes";
import { scaleSet } from "../../platforms/kubernetes/pods/scale";
import { isLed, PrimaryMoves } from "./primary-moves";
import type { WaitOptions } from "../../lib/progress";

/** A change of a deployment that may remove its Sentinels. */
export interface SentinelChange {
  /** References to the deployment: as it was before the change, and as failed updates wanted it. */
  readonly former: readonly DeploymentReference[];
  readonly target: DeploymentReference;
  readonly password: string;
}

/**
 * Stops Sentinels that are removed, before servers start without Sentinels. Sentinels that still run could elect a
 * different primary than the designated primary. If the change is undone, the Sentinels run again. If the program is
 * killed half-way, no replica takes over from a failed primary until the next update. If that update would change
 * nothing, a refresh must come first: it finds that the Sentinels do not run.
 * @throws Failure when Sentinels do not stop, or the servers do not have exactly one primary. In both cases the
 * Sentinels run again
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
  // An update that failed early may have created no StatefulSet.
  if (watched === undefined || !isLed(watched) || (await findStatefulSet(kubernetes, watched)) === undefined) return;
  try {
    await new PrimaryMoves(kubernetes, watched, password, options).designateElected(() => scale(watched, 0));
  } catch (error) {
    await scale(watched).catch(() => undefined);
    throw error;
  }
}
