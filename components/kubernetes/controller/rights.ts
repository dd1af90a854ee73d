/**
 * Rights of the controller's service account. The controller cannot read Secrets. It can delete pods and their volume
 * claims only if `replaceLostMachinesAfterSeconds` is set. It can read only the ConfigMaps, and change only the Leases
 * and disruption budgets, of this deployment. It can list and create objects of any name: Kubernetes does not know the
 * names before.
 */
import * as pulumi from "@pulumi/pulumi";
import type { ControllerArgs } from "../arguments";
import type { DeploymentContext } from "../deployment-context";
import { objectMetadata } from "../deployment-context";
import * as k8s from "../kubernetes-sdk";
import { copyName } from "../../../platforms/kubernetes/volumes/statefulset-copy";
import { DATA_VOLUME } from "../layout";
import type { ObjectNames } from "../names";

/** Rule of a Role. */
interface Rule {
  readonly apiGroups: string[];
  readonly resources: string[];
  readonly verbs: string[];
  /** Names of the objects to which the rule applies. @default all objects */
  readonly resourceNames?: string[];
}

/** Names of objects of the deployment. */
export interface ControlledObjects {
  readonly servers: readonly string[];
  readonly sentinels: readonly string[];
  readonly budgets: readonly string[];
}

const rule = (group: string, resources: string[], verbs: string[], resourceNames?: readonly string[]): Rule => ({
  apiGroups: [group],
  resources,
  verbs,
  ...(resourceNames && { resourceNames: [...resourceNames] }),
});

/**
 * Rights in the deployment's namespace that the controller needs to inspect the deployment and to report its findings.
 */
const looking = ({ primary, statefulSet }: ObjectNames): Rule[] => [
  rule("", ["pods"], ["get", "list", "watch"]),
  rule("", ["configmaps"], ["get"], [primary, copyName(statefulSet)]),
  rule("apps", ["statefulsets"], ["get", "list"]),
  rule("discovery.k8s.io", ["endpointslices"], ["list"]),
  rule("", ["events"], ["create"]),
];

/** Rights in the deployment's namespace that the controller needs for repairs. */
const repairing = ({ controller }: ObjectNames, { budgets }: ControlledObjects): Rule[] => [
  rule("coordination.k8s.io", ["leases"], ["create"]),
  rule("coordination.k8s.io", ["leases"], ["get", "update"], [controller]),
  // The service account owns the Lease.
  rule("", ["serviceaccounts"], ["get"], [controller]),
  // A repair can move nodes to different shards. The disruption budgets must then allow different pods to be evicted at
  // the same time.
  rule("policy", ["poddisruptionbudgets"], ["list", "create"]),
  rule("policy", ["poddisruptionbudgets"], ["get", "patch", "delete"], budgets),
];

/** Rights in the deployment's namespace that the controller needs to replace pods of lost machines. */
const replacing = ({ servers, sentinels }: ControlledObjects): Rule[] => [
  rule("", ["pods"], ["delete"], [...servers, ...sentinels]),
  rule(
    "",
    ["persistentvolumeclaims"],
    ["get", "delete"],
    servers.map((name) => `${DATA_VOLUME}-${name}`),
  ),
];

/** Right to read machines, because the zone of a pod is a label of the pod's machine. */
const MACHINES: Rule[] = [rule("", ["nodes"], ["get"])];
/** Right to see which machines exist, and which of them are lost. */
const ALL_MACHINES: Rule[] = [rule("", ["nodes"], ["get", "list"])];
/** Right to find out which volumes are on a lost machine. */
const VOLUMES: Rule[] = [rule("", ["persistentvolumes"], ["get"])];

/**
 * Creates the controller's service account with its rights.
 * @param objects names of objects of the deployment
 * @returns resources that must exist before the controller's pod
 */
export function createRights(
  context: DeploymentContext,
  { repair = true, onLostMajority, replaceLostMachinesAfterSeconds }: ControllerArgs,
  objects: pulumi.Output<ControlledObjects>,
): pulumi.Resource[] {
  const { names, args, options } = context;
  const { rbac } = k8s;
  const name = names.controller;
  const metadata = objectMetadata(context, name, "controller");
  // These objects have no namespace, but two namespaces can each have a deployment with this name. So the namespace is
  // part of the objects' name. The colon keeps the names distinct, because neither part can contain a colon.
  const everywhere = { name: pulumi.interpolate`${args.namespace}:${name}`, labels: metadata.labels };
  const group = "rbac.authorization.k8s.io";
  const replaces = replaceLostMachinesAfterSeconds !== undefined;
  const rules = objects.apply((known) => [
    ...looking(names),
    ...(repair ? repairing(names, known) : []),
    ...(replaces ? replacing(known) : []),
  ]);
  const seesAll = replaces || onLostMajority === "takeover";
  const machines = [...(seesAll ? ALL_MACHINES : MACHINES), ...(replaces ? VOLUMES : [])];
  const subjects = [{ kind: "ServiceAccount", name, namespace: args.namespace }];
  return [
    new k8s.core.v1.ServiceAccount(name, { metadata, automountServiceAccountToken: false }, options),
    new rbac.Role(name, { metadata, rules }, options),
    new rbac.RoleBinding(name, { metadata, roleRef: { apiGroup: group, kind: "Role", name }, subjects }, options),
    new rbac.ClusterRole(name, { metadata: everywhere, rules: machines }, options),
    new rbac.ClusterRoleBinding(
      name,
      { metadata: everywhere, roleRef: { apiGroup: group, kind: "ClusterRole", name: everywhere.name }, subjects },
      options,
    ),
  ];
}
