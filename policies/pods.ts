/** Pod templates of Kubernetes resources. */
import type { CheckedResource } from "./rule";
import { propertyAt, entriesAt, listAt } from "./rule";

/** A pod's labels and its spec. */
export interface PodTemplate {
  readonly namespace: string | undefined;
  readonly labels: Readonly<Record<string, unknown>>;
  readonly spec: unknown;
  /** Whether the resource has more than one replica. */
  readonly replicated: boolean;
}

const TEMPLATED = /^kubernetes:(apps|batch)\/v1:(Deployment|StatefulSet|DaemonSet|ReplicaSet|Job)$/;

/** The pod templates of a resource; empty if resources of its type do not create pods. */
export function podsOf({ type, props }: CheckedResource): PodTemplate[] {
  const path =
    type === "kubernetes:core/v1:Pod"
      ? []
      : type === "kubernetes:batch/v1:CronJob"
        ? ["spec", "jobTemplate", "spec", "template"]
        : TEMPLATED.test(type)
          ? ["spec", "template"]
          : undefined;
  if (path === undefined) return [];
  const namespace = propertyAt(props, "metadata", "namespace");
  return [
    {
      namespace: typeof namespace === "string" ? namespace : undefined,
      labels: Object.fromEntries(entriesAt(props, ...path, "metadata", "labels")),
      spec: propertyAt(props, ...path, "spec"),
      replicated: Number(propertyAt(props, "spec", "replicas") ?? 1) > 1,
    },
  ];
}

export function containersOf(spec: unknown): readonly unknown[] {
  return ["initContainers", "containers", "ephemeralContainers"].flatMap((kind) => listAt(spec, kind));
}
