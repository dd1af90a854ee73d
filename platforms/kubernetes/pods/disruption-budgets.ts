/**
 * `disruptionGroups` in `operations/changes/budgets.ts` decides which pods share a budget;
 * `components/kubernetes/servers/server-objects.ts` creates the first one.
 */
import type { V1PodDisruptionBudget, V1PodDisruptionBudgetSpec } from "@kubernetes/client-node";
import type { KubernetesClient } from "../api/client";
import type { Plain } from "../api/plain";
import { POD_NAME_LABEL } from "./running-pods";

/** Until it is changed, the first budget selects all pods and allows the eviction of one. */
interface BudgetName {
  readonly namespace: string;
  readonly name: string;
}

type Budget = Plain<V1PodDisruptionBudget>;

const budgetOfGroup = (name: string, group: number): string => `${name}-group-${group + 1}`;

export function budgetNames(name: string, groups: number): string[] {
  return Array.from({ length: groups }, (_, group) => (group === 0 ? name : budgetOfGroup(name, group)));
}

/**
 * Must be called before nodes move to other shards. If it is interrupted, two budgets may select a pod, which
 * Kubernetes then does not evict.
 * @throws Failure without the permission
 */
export async function evictOneAtATime(kubernetes: KubernetesClient, budget: BudgetName): Promise<void> {
  const whole = await findBudget(kubernetes, budget);
  if (whole === undefined) return;
  await select(kubernetes, budget, { maxUnavailable: 1, selector: { matchLabels: labelsOf(whole) } });
  for (const each of await groupBudgets(kubernetes, budget, whole)) await remove(kubernetes, budget.namespace, each);
}

/**
 * If it is interrupted, two budgets may select a pod, which Kubernetes then does not evict.
 * @param groups names of pods; each is in one group
 * @throws Failure without the permission
 */
export async function evictOneOfEach(
  kubernetes: KubernetesClient,
  budget: BudgetName,
  groups: readonly (readonly string[])[],
): Promise<void> {
  const [first, ...others] = groups;
  if (first === undefined || others.length === 0) return evictOneAtATime(kubernetes, budget);
  const whole = await findBudget(kubernetes, budget);
  if (whole === undefined) return;
  const specOf = (pods: readonly string[]): Plain<V1PodDisruptionBudgetSpec> => ({
    // `maxUnavailable` is not used, because Kubernetes would compute it from all pods of the StatefulSet.
    minAvailable: pods.length - 1,
    selector: {
      matchLabels: labelsOf(whole),
      matchExpressions: [{ key: POD_NAME_LABEL, operator: "In", values: [...pods] }],
    },
  });
  const wanted = others.map((pods, index) => groupBudget(whole, budget, index + 1, specOf(pods)));
  for (const each of wanted) await apply(kubernetes, budget.namespace, each);
  const names = new Set(wanted.map(({ metadata }) => metadata?.name));
  for (const name of await groupBudgets(kubernetes, budget, whole))
    if (!names.has(name)) await remove(kubernetes, budget.namespace, name);
  await select(kubernetes, budget, specOf(first));
}

/** Deleted together with the deployment's own budget, which is its owner. */
function groupBudget(
  { metadata }: V1PodDisruptionBudget,
  { namespace, name }: BudgetName,
  group: number,
  spec: Plain<V1PodDisruptionBudgetSpec>,
): Budget {
  const kind = { apiVersion: "policy/v1", kind: "PodDisruptionBudget" };
  return {
    ...kind,
    metadata: {
      ...{ name: budgetOfGroup(name, group), namespace, labels: metadata?.labels ?? {} },
      ownerReferences: [{ ...kind, name, uid: metadata?.uid ?? "" }],
    },
    spec,
  };
}

const labelsOf = ({ spec }: V1PodDisruptionBudget): Record<string, string> => spec?.selector?.matchLabels ?? {};

function findBudget(
  kubernetes: KubernetesClient,
  { namespace, name }: BudgetName,
): Promise<V1PodDisruptionBudget | undefined> {
  return kubernetes.find(
    `reading disruption budget ${name} of namespace ${namespace}`,
    kubernetes.policy.readNamespacedPodDisruptionBudget({ namespace, name }),
  );
}

async function groupBudgets(
  kubernetes: KubernetesClient,
  { namespace }: BudgetName,
  { metadata }: V1PodDisruptionBudget,
): Promise<string[]> {
  const { items } = await kubernetes.call(
    `reading the disruption budgets of namespace ${namespace}`,
    kubernetes.policy.listNamespacedPodDisruptionBudget({ namespace }),
  );
  return items
    .filter((each) => each.metadata?.ownerReferences?.some(({ uid }) => uid === metadata?.uid))
    .map((each) => each.metadata?.name ?? "");
}

async function select(
  kubernetes: KubernetesClient,
  { namespace, name }: BudgetName,
  spec: Plain<V1PodDisruptionBudgetSpec>,
): Promise<void> {
  await kubernetes.call(
    `changing disruption budget ${name} of namespace ${namespace}`,
    kubernetes.policy.patchNamespacedPodDisruptionBudget({
      ...{ namespace, name },
      body: [{ op: "replace", path: "/spec", value: spec }],
    }),
  );
}

async function apply(kubernetes: KubernetesClient, namespace: string, body: Budget): Promise<void> {
  const name = body.metadata?.name ?? "";
  await kubernetes.call(
    `creating disruption budget ${name} of namespace ${namespace}`,
    kubernetes.policy.patchNamespacedPodDisruptionBudget(
      { namespace, name, body, fieldManager: "valkey", force: true },
      kubernetes.serverSideApply,
    ),
  );
}

async function remove(kubernetes: KubernetesClient, namespace: string, name: string): Promise<void> {
  await kubernetes.find(
    `deleting disruption budget ${name} of namespace ${namespace}`,
    kubernetes.policy.deleteNamespacedPodDisruptionBudget({ namespace, name }),
  );
}
