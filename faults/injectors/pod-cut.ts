/**
 * NetworkPolicies only allow, and several on one pod add up. So the deployment's own policy is narrowed to the pods
 * that are not cut off, and a second policy lets the others call only each other; clients reach both. An annotation
 * keeps the spec, so that a later run can heal the cut.
 */
import type { V1LabelSelector, V1NetworkPolicy, V1NetworkPolicySpec } from "@kubernetes/client-node";
import { Failure } from "../../lib/errors";
import type { KubernetesClient } from "../../platforms/kubernetes/api/client";
import type { Plain } from "../../platforms/kubernetes/api/plain";
import type { Labels } from "../../platforms/kubernetes/pods/running-pods";
import { ViewParser } from "../../valkey/topology/cluster-view";

const GROUP = { group: "networking.k8s.io", version: "v1", plural: "networkpolicies" } as const;
const CUT_LABEL = "valkey-measured/cut";
const SPEC_BEFORE = "valkey-measured/before-the-cut";

export interface PodCut {
  readonly namespace: string;
  readonly policy: string;
  readonly labels: Labels;
  readonly pods: readonly string[];
}

type Spec = Plain<V1NetworkPolicySpec>;
type EgressRule = NonNullable<Spec["egress"]>[number];

/** `cut` is for the pods that are cut off, and `others` for all other pods. Everything else is as in `own`. */
export function cutPolicies(own: Spec, labels: Labels): { readonly others: Spec; readonly cut: Spec } {
  const narrowTo = (selector: Plain<V1LabelSelector>): Spec => ({
    ...own,
    podSelector: selector,
    egress: (own.egress ?? []).map((rule) => narrowRule(rule, labels, selector)),
  });
  const isNotCut = { key: CUT_LABEL, operator: "DoesNotExist" };
  return {
    others: narrowTo({ matchLabels: { ...labels }, matchExpressions: [isNotCut] }),
    cut: narrowTo({ matchLabels: { ...labels, [CUT_LABEL]: "yes" } }),
  };
}

/** Peers that select all pods of the deployment select only those of `podSelector`. */
function narrowRule(rule: EgressRule, labels: Labels, podSelector: Plain<V1LabelSelector>): EgressRule {
  if (rule.to === undefined) return rule;
  return { ...rule, to: rule.to.map((peer) => (isOwn(peer.podSelector, labels) ? { ...peer, podSelector } : peer)) };
}

function isOwn(selector: Plain<V1LabelSelector> | undefined, labels: Labels): boolean {
  const sorted = (all: Labels): string => JSON.stringify(Object.entries(all).sort());
  return selector !== undefined && sorted(selector.matchLabels ?? {}) === sorted(labels);
}

/** A node is failed, suspected (`fail?`: the cut-off nodes may have no majority), or not linked. */
export function showsCut(clusterNodes: string): boolean {
  const { selfId, unhealthy, unlinked } = new ViewParser().parse(clusterNodes);
  const isHandshaking = (id: string): boolean => unhealthy.some((each) => each.id === id && each.flag === "handshake");
  const isFailing = ({ id, flag }: (typeof unhealthy)[number]): boolean =>
    id !== selfId && (flag === "failed" || flag === "suspected");
  return unhealthy.some(isFailing) || unlinked.some((id) => !isHandshaking(id));
}

/** @throws Failure if the policy does not exist or may not be changed; `healPodCut` reverses what was done */
export async function cutPods(
  kubernetes: KubernetesClient,
  { namespace, policy: name, labels, pods }: PodCut,
): Promise<void> {
  const own = await readPolicy(kubernetes, namespace, name);
  if (own?.spec === undefined)
    throw new Failure(`namespace ${namespace} has no NetworkPolicy ${name}; a network cut needs this policy`);
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
    metadata: {
      ...own.metadata,
      annotations: { ...own.metadata?.annotations, [SPEC_BEFORE]: JSON.stringify(own.spec) },
    },
    spec: policies.others,
  });
}

/** Removes the cut of a killed run too. Without a cut, nothing changes. */
export async function healPodCut(
  kubernetes: KubernetesClient,
  { namespace, policy: name, pods }: PodCut,
): Promise<void> {
  const own = await readPolicy(kubernetes, namespace, name);
  const before = own?.metadata?.annotations?.[SPEC_BEFORE];
  if (own !== undefined && before !== undefined) {
    const annotations = Object.fromEntries(
      Object.entries(own.metadata?.annotations ?? {}).filter(([key]) => key !== SPEC_BEFORE),
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
