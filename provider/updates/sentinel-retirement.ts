/** Sentinels that leave a deployment on Kubernetes: before its servers change, the Sentinels stop, and the primary is designated. */
import type { DeploymentReference, KubernetesReference } from "../../platforms/deployment-reference";
import { openKubernetesClient } from "../../platforms/deployment-reference";
import { findStatefulSet } from "../../platforms/kubernetes/volumes/statefulset-volumes";
import { scaleSet } from "../../platforms/kubernetes/pods/scale";
import { isLed, PrimaryMoves } from "./primary-moves";
import type { WaitOptions } from "../../lib/progress";

/** A change of a deployment. */
export interface SentinelChange {
  /** The deployment before the change, and as failed updates tried to make it. */
  readonly former: readonly DeploymentReference[];
  readonly target: DeploymentReference;
  readonly password: string;
}

/**
 * Sentinels that leave are stopped before servers start without them: they would elect others than the designated primary.
 * Where such a change is taken back, they run again. Where the program is killed half-way, nobody fails over until the next update, or
 * until a refresh finds that they are gone.
 * @throws Failure when Sentinels do not stop, or the servers do not have exactly one primary; the Sentinels run again then
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
  if (watched === undefined || !isLed(watched) || (await findStatefulSet(kubernetes, watched)) === undefined) return;
  try {
    await new PrimaryMoves(kubernetes, watched, password, options).designateElected(() => scale(watched, 0));
  } catch (error) {
    await scale(watched).catch(() => undefined);
    throw error;
  }
}
