/** The controller of a deployment: a pod that verifies and repairs it between updates. */
import * as pulumi from "@pulumi/pulumi";
import { CONTROLLER_BUNDLE } from "../../../operations/controller/bundle";
import { CONTROLLER_DEFAULTS, CONTROLLER_FIELDS } from "../../../model/deployment";
import { pickFields } from "../../../model/fields";
import { CONTROLLER_PORT, type ControllerSettings } from "../../../operations/controller/pod-settings";
import type { KubernetesReference } from "../../../platforms/deployment-reference";
import { budgetNames } from "../../../platforms/kubernetes/pods/disruption-budgets";
import { nodeCount } from "../../../valkey/topology/placement";
import type { ControllerArgs } from "../arguments";
import { type DeploymentContext, objectMetadata } from "../deployment-context";
import { SECRET_DIRECTORY, DATA_VOLUME } from "../layout";
import { type ObjectNames, controllerLabels, objectNames } from "../names";
import { createControllerPolicy } from "../network-policy";
import { CONTROLLER_RESOURCES } from "../pods/sidecar-resources";
import { createProgramPod } from "../program-pods/program-pod";
import { PASSWORD_FILE, SENTINEL_PASSWORD_FILE, TLS_FILES } from "../server-config";
import * as k8s from "../kubernetes-sdk";
import { copyName } from "../../../platforms/kubernetes/volumes/statefulset-copy";

const rule = (group: string, resources: string[], verbs: string[], resourceNames?: readonly string[]): Rule => ({
  apiGroups: [group],
  resources,
  verbs,
  ...(resourceNames && { resourceNames: [...resourceNames] }),
});

/**
 * Rights in the deployment's namespace that the controller needs to inspect the deployment and to report its findings.
 */
const looking = ({ primary, statefulSet }: ObjectNames, { servers }: ControlledObjects): Rule[] => [
  rule("", ["pods"], ["get", "list", "watch"]),
  // A server that waits for others before it starts says so in its log.
  rule("", ["pods/log"], ["get"], servers),
  rule("", ["configmaps"], ["get"], [primary, copyName(statefulSet)]),
  rule("apps", ["statefulsets"], ["get", "list"]),
  rule("discovery.k8s.io", ["endpointslices"], ["list"]),
  rule("", ["events"], ["create"]),
];

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
const ALL_MACHINES: Rule[] = [rule("", ["nodes"], ["get", "list"])];
const VOLUMES: Rule[] = [rule("", ["persistentvolumes"], ["get"])];

/**
 * Each verification makes much garbage, which a larger heap for new objects (16 MiB) keeps longer. The optimizing
 * compiler needs 10 MiB, and more CPU time than it saves for code that runs so rarely.
 */
export const LOOKING_OPTIONS = ["--max-semi-space-size=1", "--no-opt"] as const;

/** @param target reference to the running servers, as the provider uses it */
export function createController(
  context: DeploymentContext,
  target: pulumi.Output<KubernetesReference>,
  args: ControllerArgs,
): void {
  const { deployment, names } = context;
  const { memory } = context.args.resources.limits;
  const settings = pulumi
    .all([target, memory])
    .apply(([known, memoryLimit]) => JSON.stringify({ ...settingsOf(known, args), memoryLimit }));
  createControllerPolicy(context, CONTROLLER_PORT);
  createProgramPod(context, {
    component: "controller",
    name: names.controller,
    labels: controllerLabels(deployment),
    program: CONTROLLER_BUNDLE,
    nodeOptions: LOOKING_OPTIONS,
    connectsToSentinels: true,
    settings,
    image: args.image,
    port: CONTROLLER_PORT,
    resources: CONTROLLER_RESOURCES,
    dependsOn: createRights(context, args, target.apply(objectsOf)),
  });
}

function objectsOf({ name, statefulSet, sentinel, shape }: KubernetesReference): ControlledObjects {
  const namesOf = (set: string, count: number): string[] => Array.from({ length: count }, (_, i) => `${set}-${i}`);
  return {
    servers: namesOf(statefulSet, nodeCount(shape)),
    sentinels: sentinel === undefined ? [] : namesOf(sentinel.statefulSet, sentinel.settings.count),
    budgets: budgetNames(objectNames(name).disruptionBudget, shape.primaries),
  };
}

/** Without `tuning`: inspecting machines needs the right to run programs in pods. */
function settingsOf(
  { tuning: _tuning, kubeconfig: _kubeconfig, context: _context, ...target }: KubernetesReference,
  args: ControllerArgs,
): ControllerSettings {
  const inside = {
    ...(target.tls && { caFile: TLS_FILES.authority }),
    ...(target.sentinel && { sentinelPasswordFile: `${SECRET_DIRECTORY}/${SENTINEL_PASSWORD_FILE}` }),
  };
  return {
    target: { ...target, inside },
    ...CONTROLLER_DEFAULTS,
    ...pickFields(CONTROLLER_FIELDS, args),
    passwordFile: `${SECRET_DIRECTORY}/${PASSWORD_FILE}`,
  };
}

interface Rule {
  readonly apiGroups: string[];
  readonly resources: string[];
  readonly verbs: string[];
  /** @default all objects */
  readonly resourceNames?: string[];
}

interface ControlledObjects {
  readonly servers: readonly string[];
  readonly sentinels: readonly string[];
  readonly budgets: readonly string[];
}

/**
 * No Secrets. Pods and claims are deleted only with `replaceLostMachinesAfterSeconds`. ConfigMaps, Leases and budgets
 * only of this deployment; objects whose names Kubernetes does not know before, of any name.
 */
function createRights(
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
    ...looking(names, known),
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
