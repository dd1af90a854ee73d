/**
 * Cutting pods off from the others of their deployment by NetworkPolicies. Policies only ever allow, and those of a pod are added up: so
 * the deployment's own is narrowed to the pods that are not cut, which may call each other alone, and a second one lets cut pods do
 * the same. Clients are let in as before. What the policy said before is kept on it, so that whoever comes later can heal it.
 */
import type { V1LabelSelector, V1NetworkPolicy, V1NetworkPolicySpec } from "@kubernetes/client-node";
import { Failure } from "../../lib/errors";
import type { KubernetesClient } from "../../platforms/kubernetes/client";
import type { Plain } from "../../platforms/kubernetes/plain";
import type { Labels } from "../../platforms/kubernetes/pods";
import { ViewParser } from "../../valkey/topology/cluster-view";

const GROUP = { group: "networking.k8s.io", version: "v1", plural: "networkpolicies" } as const;
/** On pods that are cut. */
const CUT_LABEL = "valkey-measured/cut";
/** On the policy: its spec before, JSON. */
const BEFORE = "valkey-measured/before-the-cut";

export interface PodCut {
  readonly namespace: string;
  /** The deployment's own NetworkPolicy. */
  readonly policy: string;
  /** Of all pods of the deployment. */
  readonly labels: Labels;
  readonly pods: readonly string[];
}

/** The two policies of a cut, from the deployment's own. Pure. */
export function cutPolicies(
  own: Plain<V1NetworkPolicySpec>,
  labels: Labels,
): { readonly others: Plain<V1NetworkPolicySpec>; readonly cut: Plain<V1NetworkPolicySpec> } {
  const within = (selector: Plain<V1LabelSelector>): Plain<V1NetworkPolicySpec> => ({
    ...own,
    podSelector: selector,
    egress: (own.egress ?? []).map((rule) => ({
      ...rule,
      ...(rule.to === undefined
        ? {}
        : { to: rule.to.map((peer) => (isOwn(peer.podSelector, labels) ? { ...peer, podSelector: selector } : peer)) }),
    })),
  });
  const matchLabels = { ...labels };
  return {
    others: within({ matchLabels, matchExpressions: [{ key: CUT_LABEL, operator: "DoesNotExist" }] }),
    cut: within({ matchLabels: { ...matchLabels, [CUT_LABEL]: "yes" } }),
  };
}

function isOwn(selector: Plain<V1LabelSelector> | undefined, labels: Labels): boolean {
  return (
    selector !== undefined &&
    JSON.stringify(Object.entries(selector.matchLabels ?? {}).sort()) === JSON.stringify(Object.entries(labels).sort())
  );
}

/**
 * Whether a node of a cluster is cut off from others by its own CLUSTER NODES: it holds one of them to have failed, or has no link to it. One that
 * it merely suspects (`fail?`) counts: to call it failed takes a majority, and those that are cut off may never have one. Pure.
 */
export function showsCut(clusterNodes: string): boolean {
  const { selfId, unhealthy, unlinked } = new ViewParser().parse(clusterNodes);
  const isShakingHands = (id: string): boolean =>
    unhealthy.some((each) => each.id === id && each.trouble === "handshake");
  return (
    unhealthy.some(({ id, trouble }) => id !== selfId && (trouble === "failed" || trouble === "suspected")) ||
    unlinked.some((id) => !isShakingHands(id))
  );
}

/** Also one that fails half way leaves something to heal. @throws Failure when there is no such policy, or it may not be changed */
export async function cutPods(
  kubernetes: KubernetesClient,
  { namespace, policy: name, labels, pods }: PodCut,
): Promise<void> {
  const own = await readPolicy(kubernetes, namespace, name);
  if (own?.spec === undefined) throw new Failure(`namespace ${namespace} has no NetworkPolicy ${name} to narrow`);
  const policies = cutPolicies(own.spec, labels);
  await Promise.all(pods.map((pod) => labelPod(kubernetes, namespace, pod, "yes")));
  await kubernetes.call(
    `creating NetworkPolicy ${name}-cut`,
    kubernetes.custom.createNamespacedCustomObject({
      ...GROUP,
      namespace,
      body: {
        apiVersion: "networking.k8s.io/v1",
        kind: "NetworkPolicy",
        metadata: { name: `${name}-cut`, labels },
        spec: policies.cut,
      },
    }),
  );
  await replacePolicy(kubernetes, namespace, {
    ...own,
    metadata: { ...own.metadata, annotations: { ...own.metadata?.annotations, [BEFORE]: JSON.stringify(own.spec) } },
    spec: policies.others,
  });
}

/** Also of a run that was killed; where nothing is cut, nothing changes. */
export async function healPodCut(
  kubernetes: KubernetesClient,
  { namespace, policy: name, pods }: Omit<PodCut, "labels">,
): Promise<void> {
  const own = await readPolicy(kubernetes, namespace, name);
  const before = own?.metadata?.annotations?.[BEFORE];
  if (own !== undefined && before !== undefined) {
    const annotations = Object.fromEntries(
      Object.entries(own.metadata?.annotations ?? {}).filter(([key]) => key !== BEFORE),
    );
    await replacePolicy(kubernetes, namespace, {
      ...own,
      metadata: { ...own.metadata, annotations },
      spec: JSON.parse(before) as Plain<V1NetworkPolicySpec>,
    });
  }
  await kubernetes.find(
    `deleting NetworkPolicy ${name}-cut`,
    kubernetes.custom.deleteNamespacedCustomObject({ ...GROUP, namespace, name: `${name}-cut` }),
  );
  await Promise.all(pods.map((pod) => labelPod(kubernetes, namespace, pod, null)));
}

async function readPolicy(
  kubernetes: KubernetesClient,
  namespace: string,
  name: string,
): Promise<Plain<V1NetworkPolicy> | undefined> {
  return (await kubernetes.find(
    `reading NetworkPolicy ${name}`,
    kubernetes.custom.getNamespacedCustomObject({ ...GROUP, namespace, name }),
  )) as Plain<V1NetworkPolicy> | undefined;
}

async function replacePolicy(
  kubernetes: KubernetesClient,
  namespace: string,
  policy: Plain<V1NetworkPolicy>,
): Promise<void> {
  const name = policy.metadata?.name ?? "";
  await kubernetes.call(
    `changing NetworkPolicy ${name}`,
    kubernetes.custom.replaceNamespacedCustomObject({ ...GROUP, namespace, name, body: policy }),
  );
}

/** A pod that is gone has no label to lose. */
async function labelPod(
  kubernetes: KubernetesClient,
  namespace: string,
  name: string,
  value: string | null,
): Promise<void> {
  const pod = await kubernetes.find(`reading pod ${name}`, kubernetes.core.readNamespacedPod({ namespace, name }));
  if (pod === undefined || (value === null && pod.metadata?.labels?.[CUT_LABEL] === undefined)) return;
  const path = `/metadata/labels/${CUT_LABEL.replace("/", "~1")}`;
  await kubernetes.call(
    `labelling pod ${name}`,
    kubernetes.core.patchNamespacedPod({
      namespace,
      name,
      body: [value === null ? { op: "remove", path } : { op: "add", path, value }],
    }),
  );
}
