/** Rules for pods: servers spread over zones by a hard constraint, and the restricted Pod Security Standard. */
import { type CheckedResource, type Rule, propertyAt, entriesAt, listAt, textAt } from "./rule";
import { compact } from "../lib/compact";

/** Namespaces whose pods come from charts and add-ons of other projects. */
const NOT_OURS = ["kube-system"];

const VOLUMES = [
  "configMap",
  "csi",
  "downwardAPI",
  "emptyDir",
  "ephemeral",
  "persistentVolumeClaim",
  "projected",
  "secret",
];
const SYSCTLS = [
  "kernel.shm_rmid_forced",
  "net.ipv4.ip_local_port_range",
  "net.ipv4.ip_unprivileged_port_start",
  "net.ipv4.tcp_syncookies",
  "net.ipv4.ping_group_range",
  "net.ipv4.ip_local_reserved_ports",
  "net.ipv4.tcp_keepalive_time",
  "net.ipv4.tcp_fin_timeout",
  "net.ipv4.tcp_keepalive_intvl",
  "net.ipv4.tcp_keepalive_probes",
];
const PROFILES = ["RuntimeDefault", "Localhost"];

export const restrictedPods: Rule = {
  name: "restricted-pod-security",
  description:
    "Pods meet the restricted Pod Security Standard of Kubernetes: no root, privileges, capabilities or host access.",
  check: (resource) =>
    podsOf(resource)
      .filter(({ namespace }) => !NOT_OURS.includes(namespace ?? ""))
      .flatMap((pod) => [...inPod(pod), ...containersOf(pod.spec).flatMap((container) => inContainer(container, pod))]),
};

const ZONE_KEY = "topology.kubernetes.io/zone";

export const hardZoneSpread: Rule = {
  name: "hard-zone-spread",
  description:
    "Replicated Valkey pods are spread over zones by a hard constraint. A soft constraint puts a primary and its replica " +
    "into one zone when a zone is full.",
  check: (resource) =>
    podsOf(resource).flatMap(({ labels, spec, replicated }) => {
      if (!replicated || labels["app.kubernetes.io/name"] !== "valkey") return [];
      const spread = listAt(spec, "topologySpreadConstraints").some(
        (each) => textAt(each, "topologyKey") === ZONE_KEY && textAt(each, "whenUnsatisfiable") === "DoNotSchedule",
      );
      return spread || isBoundToZone(spec)
        ? []
        : [`no topologySpreadConstraint on ${ZONE_KEY} with whenUnsatisfiable DoNotSchedule, and no fixed zone`];
    }),
};

interface PodTemplate {
  readonly namespace: string | undefined;
  readonly labels: Readonly<Record<string, unknown>>;
  readonly spec: unknown;
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

function isBoundToZone(spec: unknown): boolean {
  if (entriesAt(spec, "nodeSelector").some(([key]) => key === ZONE_KEY)) return true;
  const terms = listAt(
    spec,
    "affinity",
    "nodeAffinity",
    "requiredDuringSchedulingIgnoredDuringExecution",
    "nodeSelectorTerms",
  );
  // Terms are alternatives, so each term must name the zone.
  return (
    terms.length > 0 &&
    terms.every((term) =>
      listAt(term, "matchExpressions").some(
        (each) =>
          propertyAt(each, "key") === ZONE_KEY &&
          textAt(each, "operator") === "In" &&
          listAt(each, "values").length === 1,
      ),
    )
  );
}

function inPod({ spec }: PodTemplate): string[] {
  return [
    ...["hostNetwork", "hostPID", "hostIPC"]
      .filter((key) => textAt(spec, key) === "true")
      .map((key) => `${key} is not allowed`),
    ...listAt(spec, "volumes").flatMap((volume) =>
      entriesAt(volume)
        .filter(([kind]) => kind !== "name" && !VOLUMES.includes(kind))
        .map(([kind]) => `the volume ${textAt(volume, "name") ?? ""} is a ${kind}, which is not allowed`),
    ),
    ...listAt(spec, "securityContext", "sysctls")
      .filter((each) => !SYSCTLS.includes(textAt(each, "name") ?? ""))
      .map((each) => `the sysctl ${textAt(each, "name") ?? ""} is not allowed`),
  ];
}

function inContainer(container: unknown, { spec }: PodTemplate): string[] {
  const name = textAt(container, "name") ?? "a container";
  /** From the container's `securityContext` or, if it does not set the value, from that of the pod. */
  const either = (...path: readonly string[]): string | undefined =>
    textAt(container, "securityContext", ...path) ?? textAt(spec, "securityContext", ...path);
  const added = listAt(container, "securityContext", "capabilities", "add")
    .map(String)
    .filter((each) => each !== "NET_BIND_SERVICE");
  const wrong = [
    textAt(container, "securityContext", "privileged") === "true" ? "is privileged" : undefined,
    textAt(container, "securityContext", "allowPrivilegeEscalation") !== "false"
      ? "allowPrivilegeEscalation is not false"
      : undefined,
    listAt(container, "securityContext", "capabilities", "drop").includes("ALL")
      ? undefined
      : "capabilities.drop does not contain ALL",
    added.length > 0 ? `adds ${added.join(", ")}` : undefined,
    either("runAsNonRoot") === "true" ? undefined : "runAsNonRoot is not true",
    either("runAsUser") === "0" ? "runs as root" : undefined,
    PROFILES.includes(either("seccompProfile", "type") ?? "")
      ? undefined
      : "seccompProfile is neither RuntimeDefault nor Localhost",
    listAt(container, "ports").some((port) => propertyAt(port, "hostPort") !== undefined)
      ? "uses a port of the machine (hostPort)"
      : undefined,
  ];
  return compact(wrong).map((each) => `${name}: ${each}`);
}
