/** The controller of a deployment: a pod that verifies and repairs it between updates. */
import * as pulumi from "@pulumi/pulumi";
import { CONTROLLER_BUNDLE } from "../../../controller/bundle";
import { CONTROLLER_PORT, LOOK_SECONDS } from "../../../controller/pod-settings";
import type { ControllerSettings } from "../../../controller/pod-settings";
import { BadInput, within } from "../../../lib/errors";
import type { KubernetesReference } from "../../../platforms/deployment-reference";
import { budgetNames } from "../../../platforms/kubernetes/pods/disruption-budgets";
import { nodeCount } from "../../../valkey/topology/placement";
import type { ControllerArgs } from "../arguments";
import type { DeploymentContext } from "../deployment-context";
import { SECRET_DIRECTORY } from "../layout";
import { controllerLabels, objectNames } from "../names";
import { createControllerPolicy } from "../network-policy";
import { CONTROLLER_RESOURCES } from "../pods/sidecar-resources";
import { createProgramPod } from "../program-pods/program-pod";
import { PASSWORD_FILE, SENTINEL_PASSWORD_FILE, TLS_FILES } from "../server-config";
import type { ControlledKind } from "./controller-problems";
import { controllerProblems } from "./controller-problems";
import type { ControlledObjects } from "./rights";
import { createRights } from "./rights";

/**
 * Options of Node.js for a process that verifies deployments at intervals. The heap for new objects has 1 MiB instead
 * of 16 MiB: each verification makes much garbage, and a larger heap keeps the garbage longer. The optimizing compiler
 * is off: it needs 10 MiB of memory, and for code that runs so rarely, it needs more CPU time than it saves.
 */
export const LOOKING_OPTIONS = ["--max-semi-space-size=1", "--no-opt"] as const;

/** @throws BadInput with every problem of the controller's arguments */
export function checkController(deployment: string, args: ControllerArgs | undefined, kind: ControlledKind): void {
  const problems = args === undefined ? [] : controllerProblems(args, kind);
  if (problems.length === 0) return;
  throw new BadInput(deployment, within("controller", problems));
}

/**
 * Creates the controller's pod, its rights and its network policy.
 * @param target reference to the running servers, as the provider uses it
 */
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

/**
 * Settings of the controller's pod. The controller does not inspect machines, because an inspection needs the right to
 * run programs in pods.
 */
function settingsOf(
  { tuning: _tuning, kubeconfig: _kubeconfig, context: _context, ...target }: KubernetesReference,
  {
    everySeconds = LOOK_SECONDS.default,
    repair = true,
    repairSettings = false,
    onLostMajority = "report",
    ...args
  }: ControllerArgs,
): ControllerSettings {
  const { replaceLostMachinesAfterSeconds } = args;
  const inside = {
    ...(target.tls && { caFile: TLS_FILES.authority }),
    ...(target.sentinel && { sentinelPasswordFile: `${SECRET_DIRECTORY}/${SENTINEL_PASSWORD_FILE}` }),
  };
  return {
    target: { ...target, inside },
    everySeconds,
    repair,
    repairSettings,
    onLostMajority,
    ...(replaceLostMachinesAfterSeconds === undefined ? {} : { replaceLostMachinesAfterSeconds }),
    passwordFile: `${SECRET_DIRECTORY}/${PASSWORD_FILE}`,
  };
}
