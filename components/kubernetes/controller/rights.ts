/**
 * Rights of the controller's service account. The controller cannot delete pods or volumes, and cannot read Secrets.
 */
import * as pulumi from "@pulumi/pulumi";
import type { ControllerArgs } from "../arguments";
import type { DeploymentContext } from "../deployment-context";
import { objectMetadata } from "../deployment-context";
import * as k8s from "../kubernetes-sdk";

/** Rule of a Role. */
interface Rule {
  readonly apiGroups: string[];
  readonly resources: string[];
  readonly verbs: string[];
}

const rule = (group: string, resources: string[], verbs: string[]): Rule => ({
  apiGroups: [group],
  resources,
  verbs,
});

/**
 * Rights in the deployment's namespace that the controller needs to inspect the deployment and to report its findings.
 */
const LOOKING: Rule[] = [
  rule("", ["pods"], ["get", "list", "watch"]),
  rule("", ["configmaps"], ["get", "list"]),
  rule("apps", ["statefulsets"], ["get", "list"]),
  rule("discovery.k8s.io", ["endpointslices"], ["list"]),
  rule("", ["events"], ["create"]),
];

/** Rights in the deployment's namespace that the controller needs for repairs. */
const REPAIRING: Rule[] = [
  rule("coordination.k8s.io", ["leases"], ["get", "create", "update"]),
  // The service account owns the Lease.
  rule("", ["serviceaccounts"], ["get"]),
  // After a repair, nodes may be in other shards, so other pods may be evicted together.
  rule("policy", ["poddisruptionbudgets"], ["get", "list", "create", "patch", "delete"]),
];

/** Right to read machines, because the zone of a pod is a label of the pod's machine. */
const MACHINES: Rule[] = [rule("", ["nodes"], ["get"])];

/** Right to see which machines exist and which of them are off. */
const ALL_MACHINES: Rule[] = [rule("", ["nodes"], ["get", "list"])];

/** Creates the service account with its rights. @returns the resources that the pod needs */
export function createRights(
  context: DeploymentContext,
  { repair = true, onLostMajority }: ControllerArgs,
): pulumi.Resource[] {
  const { names, args, options } = context;
  const { rbac } = k8s;
  const name = names.controller;
  const metadata = objectMetadata(context, name, "controller");
  // Objects of the whole Kubernetes cluster: deployments of the same name may exist in several namespaces.
  // A colon occurs in neither name, so that names of two deployments never meet.
  const everywhere = { name: pulumi.interpolate`${args.namespace}:${name}`, labels: metadata.labels };
  const group = "rbac.authorization.k8s.io";
  const subjects = [{ kind: "ServiceAccount", name, namespace: args.namespace }];
  return [
    new k8s.core.v1.ServiceAccount(name, { metadata, automountServiceAccountToken: false }, options),
    new rbac.Role(name, { metadata, rules: repair ? [...LOOKING, ...REPAIRING] : LOOKING }, options),
    new rbac.RoleBinding(name, { metadata, roleRef: { apiGroup: group, kind: "Role", name }, subjects }, options),
    new rbac.ClusterRole(
      name,
      { metadata: everywhere, rules: onLostMajority === "takeover" ? ALL_MACHINES : MACHINES },
      options,
    ),
    new rbac.ClusterRoleBinding(
      name,
      { metadata: everywhere, roleRef: { apiGroup: group, kind: "ClusterRole", name: everywhere.name }, subjects },
      options,
    ),
  ];
}
