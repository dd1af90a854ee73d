/** The controller of a deployment: a pod that verifies and repairs it between updates. */
import { gzipSync } from "node:zlib";
import * as pulumi from "@pulumi/pulumi";
import { CONTROLLER_BUNDLE } from "../../../controller/bundle";
import { CHECKSUM_VARIABLE, CONTROLLER_PORT, LOOK_SECONDS } from "../../../controller/pod-settings";
import type { ControllerSettings } from "../../../controller/pod-settings";
import { checksum } from "../../../lib/checksum";
import { BadInput } from "../../../lib/errors";
import type { KubernetesReference } from "../../../platforms/deployment-reference";
import { NODE_IMAGE } from "../../../platforms/kubernetes/default-images";
import { nodeCount } from "../../../valkey/topology/placement";
import type { ControllerArgs } from "../arguments";
import type { DeploymentContext } from "../deployment-context";
import { ENGINE_ANNOTATIONS, objectMetadata } from "../deployment-context";
import { createConfig } from "../files";
import * as k8s from "../kubernetes-sdk";
import { SECRET_DIRECTORY, TLS_DIRECTORY } from "../layout";
import { controllerLabels } from "../names";
import { createControllerPolicy } from "../network-policy";
import { pullPolicy } from "../pods/image";
import { podBasics } from "../pods/pod-basics";
import { CONTAINER_SECURITY_CONTEXT } from "../pods/security-context";
import { CONTROLLER_RESOURCES } from "../pods/sidecar-resources";
import { passwordVolume } from "../pods/pod-volumes";
import { PASSWORD_FILE, TLS_FILES } from "../server-config";
import type { ControlledKind } from "./controller-problems";
import { controllerProblems } from "./controller-problems";
import type { ReplaceablePods } from "./rights";
import { createRights } from "./rights";

/**
 * Options of Node.js for a process that verifies deployments at intervals. The heap for new objects has 1 MiB instead
 * of 16 MiB: each verification makes much garbage, and a larger heap keeps the garbage longer. The optimizing compiler
 * is off: it needs 10 MiB of memory, and for code that runs so rarely, it needs more CPU time than it saves.
 */
export const LOOKING_OPTIONS = ["--max-semi-space-size=1", "--no-opt"] as const;
/**
 * Tolerations with which a new controller starts on a different machine after the old machine was away for 30 s. The
 * default of Kubernetes is five minutes.
 */
const AWAY_FOR_SECONDS = ["not-ready", "unreachable"].map((state) => ({
  ...{ key: `node.kubernetes.io/${state}`, operator: "Exists", effect: "NoExecute", tolerationSeconds: 30 },
}));

const SETTINGS_DIRECTORY = "/controller/settings";
const SETTINGS_FILE = "settings.json";
const PROGRAM_DIRECTORY = "/controller/program";
const PROGRAM_FILE = "controller.cjs.gz";
/**
 * Unpacks the program in memory, because the container's file system is read-only. The program has only ASCII
 * characters and is read as one chunk. A way without these two limits needs 10 MiB more memory.
 */
const START = [
  'const module = new (require("module"))("controller")',
  `const packed = require("fs").readFileSync("${PROGRAM_DIRECTORY}/${PROGRAM_FILE}")`,
  'const text = require("zlib").gunzipSync(packed, { chunkSize: 2 ** 22 }).latin1Slice()',
  'module._compile(text, "controller.cjs")',
].join("; ");

/** @throws BadInput with every problem of the controller's arguments */
export function checkController(deployment: string, args: ControllerArgs | undefined, kind: ControlledKind): void {
  const problems = args === undefined ? [] : controllerProblems(args, kind);
  if (problems.length === 0) return;
  throw new BadInput(
    deployment,
    problems.map(({ field, reason }) => `controller.${field}: ${reason}`),
  );
}

/** @param target reference to the running servers, as the provider uses it */
export function createController(
  context: DeploymentContext,
  target: pulumi.Output<KubernetesReference>,
  args: ControllerArgs,
): void {
  const { deployment, names, options } = context;
  const name = names.controller;
  const labels = controllerLabels(deployment);
  const metadata = objectMetadata(context, name, "controller");
  const { memory } = context.args.resources.limits;
  const settings = pulumi
    .all([target, memory])
    .apply(([known, memoryLimit]) => JSON.stringify({ ...settingsOf(known, args), memoryLimit }));
  const program = createProgram(context);
  const replaceable =
    args.replaceLostMachinesAfterSeconds === undefined ? undefined : target.apply((known) => podNames(known));
  const needed = [
    createConfig(context, name, { [SETTINGS_FILE]: settings }),
    program,
    ...createRights(context, args, replaceable),
  ];
  createControllerPolicy(context, CONTROLLER_PORT);
  createService(context, labels);
  new k8s.apps.v1.Deployment(
    name,
    {
      metadata,
      spec: {
        replicas: 1,
        // Two pods of the controller must never run at the same time.
        strategy: { type: "Recreate" },
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: podSpec(context, args, settings.apply(checksum), program) },
      },
    },
    pulumi.mergeOptions(options, { dependsOn: needed }),
  );
}

/** Names of the pods of servers and Sentinels. */
function podNames({ statefulSet, sentinel, shape }: KubernetesReference): ReplaceablePods {
  const namesOf = (set: string, count: number): string[] => Array.from({ length: count }, (_, i) => `${set}-${i}`);
  return {
    servers: namesOf(statefulSet, nodeCount(shape)),
    sentinels: sentinel === undefined ? [] : namesOf(sentinel.statefulSet, sentinel.settings.count),
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
  const inside = target.tls === undefined ? {} : { caFile: TLS_FILES.authority };
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

/**
 * Creates the ConfigMap with the program. The name of the ConfigMap changes with the program, so that a pod never
 * starts with parts of two different programs.
 */
function createProgram(context: DeploymentContext): k8s.core.v1.ConfigMap {
  const { names, options } = context;
  const text = pulumi.output(CONTROLLER_BUNDLE.text());
  const name = pulumi.interpolate`${names.controller}-${text.apply((each) => checksum(each).slice(0, 10))}`;
  return new k8s.core.v1.ConfigMap(
    `${names.controller}-program`,
    {
      metadata: { ...objectMetadata(context, names.controller, "controller"), name },
      immutable: true,
      binaryData: text.apply((each) => ({ [PROGRAM_FILE]: gzipSync(each, { level: 9 }).toString("base64") })),
    },
    options,
  );
}

/** Creates the Service by which Prometheus finds the metrics and, if `serviceMonitor` is set, a ServiceMonitor. */
function createService(context: DeploymentContext, selector: Record<string, string>): void {
  const { names, args, options } = context;
  const metadata = objectMetadata(context, names.controller, "controller");
  const ports = [{ name: "metrics", port: CONTROLLER_PORT, targetPort: "metrics" }];
  // Only Prometheus uses the Service, so Pulumi need not wait until the Service routes to the pod.
  const annotated = { ...metadata, annotations: ENGINE_ANNOTATIONS };
  new k8s.core.v1.Service(names.controller, { metadata: annotated, spec: { selector, ports } }, options);
  if (args.metrics?.serviceMonitor !== true) return;
  new k8s.apiextensions.CustomResource(
    names.controller,
    {
      apiVersion: "monitoring.coreos.com/v1",
      kind: "ServiceMonitor",
      metadata,
      spec: {
        selector: { matchLabels: metadata.labels },
        endpoints: [{ port: "metrics", interval: "30s" }],
      },
    },
    options,
  );
}

function podSpec(
  context: DeploymentContext,
  { image = NODE_IMAGE }: ControllerArgs,
  settings: pulumi.Output<string>,
  program: k8s.core.v1.ConfigMap,
): k8s.types.input.core.v1.PodSpec {
  const { deployment, names, args } = context;
  const probe = { httpGet: { path: "/metrics", port: "metrics" }, periodSeconds: 10, timeoutSeconds: 5 };
  const { tls } = args;
  return {
    ...podBasics(context, {
      labels: controllerLabels(deployment),
      placement: {
        ...{ ...args.placement, hostAntiAffinity: "none" as const, oneMachine: false },
        tolerations: [...(args.placement.tolerations ?? []), ...AWAY_FOR_SECONDS],
      },
    }),
    serviceAccountName: names.controller,
    automountServiceAccountToken: true,
    containers: [
      {
        name: "controller",
        image,
        imagePullPolicy: pullPolicy(image, args.imagePullPolicy),
        command: [
          "node",
          "--no-deprecation",
          ...LOOKING_OPTIONS,
          "-e",
          START,
          `${SETTINGS_DIRECTORY}/${SETTINGS_FILE}`,
        ],
        env: [{ name: CHECKSUM_VARIABLE, value: settings }],
        ports: [{ name: "metrics", containerPort: CONTROLLER_PORT }],
        resources: CONTROLLER_RESOURCES,
        securityContext: CONTAINER_SECURITY_CONTEXT,
        readinessProbe: probe,
        livenessProbe: { ...probe, failureThreshold: 6 },
        volumeMounts: [
          { name: "settings", mountPath: SETTINGS_DIRECTORY, readOnly: true },
          { name: "program", mountPath: PROGRAM_DIRECTORY, readOnly: true },
          { name: "secret", mountPath: SECRET_DIRECTORY, readOnly: true },
          ...(tls === undefined ? [] : [{ name: "tls", mountPath: TLS_DIRECTORY, readOnly: true }]),
        ],
      },
    ],
    volumes: [
      { name: "settings", configMap: { name: names.controller } },
      { name: "program", configMap: { name: program.metadata.name } },
      passwordVolume(names),
      // The controller needs the authority's certificate, but not the servers' private key.
      ...(tls === undefined
        ? []
        : [{ name: "tls", secret: { secretName: tls.secretName, items: [{ key: "ca.crt", path: "ca.crt" }] } }]),
    ],
  };
}
