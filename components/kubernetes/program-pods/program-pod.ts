/**
 * A pod beside a deployment that runs a program of this package, such as the controller: its program and settings in
 * ConfigMaps, its Service for Prometheus, and its Deployment.
 */
import { gzipSync } from "node:zlib";
import * as pulumi from "@pulumi/pulumi";
import type { Bundle } from "../../../lib/bundle";
import { checksum } from "../../../lib/checksum";
import { CHECKSUM_VARIABLE } from "../../../lib/pod/settings-text";
import { METRICS_PATH } from "../../../lib/pod/text-server";
import { NODE_IMAGE } from "../../../platforms/kubernetes/default-images";
import type { Resources } from "../arguments";
import type { DeploymentContext } from "../deployment-context";
import { ENGINE_ANNOTATIONS, objectMetadata } from "../deployment-context";
import { createConfig } from "../files";
import * as k8s from "../kubernetes-sdk";
import { SECRET_DIRECTORY, TLS_DIRECTORY } from "../layout";
import { pullPolicy } from "../pods/image";
import { podBasics } from "../pods/pod-basics";
import { passwordVolume } from "../pods/pod-volumes";
import { CONTAINER_SECURITY_CONTEXT } from "../pods/security-context";

/** A program, and the differences between its pod and the pods of other programs. */
export interface ProgramPod {
  /** Name of the container, and the label `app.kubernetes.io/component` of all objects. */
  readonly component: string;
  /** Name of the Deployment, of the service account, of the Service and of the ConfigMap with the settings. */
  readonly name: string;
  /** Labels that select the pod. */
  readonly labels: Record<string, string>;
  readonly program: Bundle;
  /** Options of Node.js. */
  readonly nodeOptions: readonly string[];
  /** Text of the settings, JSON. A change of this text restarts the pod. */
  readonly settings: pulumi.Output<string>;
  /** Image with Node.js 20 or newer. @default `NODE_IMAGE` */
  readonly image?: string | undefined;
  /** Port of the metrics. */
  readonly port: number;
  readonly resources: Resources;
  /** Resources that must exist before the pod. */
  readonly dependsOn: readonly pulumi.Resource[];
  /** Whether the pod gets a token for the API server. @default true */
  readonly hasToken?: boolean;
  /** Path that answers with the status 200 when the pod is ready. @default the path of the metrics */
  readonly readyPath?: string;
  /** Time limit for the pod to stop, seconds. @default 30, as in Kubernetes */
  readonly graceSeconds?: number;
  readonly volumes?: readonly k8s.types.input.core.v1.Volume[];
  readonly volumeMounts?: readonly k8s.types.input.core.v1.VolumeMount[];
}

/**
 * Tolerations with which a new pod starts on a different machine after the old machine was away for 30 s. The default of
 * Kubernetes is five minutes.
 */
const AWAY_FOR_SECONDS = ["not-ready", "unreachable"].map((state) => ({
  ...{ key: `node.kubernetes.io/${state}`, operator: "Exists", effect: "NoExecute", tolerationSeconds: 30 },
}));
const SETTINGS_FILE = "settings.json";

const directoryOf = ({ component }: ProgramPod, part: "settings" | "program"): string => `/${component}/${part}`;
const programFile = ({ component }: ProgramPod): string => `${component}.cjs`;

/**
 * JavaScript that unpacks the program in memory and runs it. The container's file system is read-only. Two limits save
 * 10 MiB of memory: the program has only ASCII characters, and it is unpacked as one chunk.
 */
function startText(pod: ProgramPod): string {
  const file = programFile(pod);
  return [
    `const module = new (require("module"))("${pod.component}")`,
    `const packed = require("fs").readFileSync("${directoryOf(pod, "program")}/${file}.gz")`,
    'const text = require("zlib").gunzipSync(packed, { chunkSize: 2 ** 22 }).latin1Slice()',
    `module._compile(text, "${file}")`,
  ].join("; ");
}

/** Creates the ConfigMaps, the Service and the Deployment. The service account must be created by the caller. */
export function createProgramPod(context: DeploymentContext, pod: ProgramPod): void {
  const { options } = context;
  const { name, component, labels, settings, dependsOn } = pod;
  const program = createProgram(context, pod);
  const needed = [createConfig(context, name, { [SETTINGS_FILE]: settings }), program, ...dependsOn];
  createService(context, pod);
  new k8s.apps.v1.Deployment(
    name,
    {
      metadata: objectMetadata(context, name, component),
      spec: {
        replicas: 1,
        // Two pods of the program must never run at the same time.
        strategy: { type: "Recreate" },
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: podSpec(context, pod, program),
        },
      },
    },
    pulumi.mergeOptions(options, { dependsOn: needed }),
  );
}

/**
 * Creates the ConfigMap with the program. The name of the ConfigMap changes with the program, so that a pod never
 * starts with parts of two different programs.
 */
function createProgram(context: DeploymentContext, pod: ProgramPod): k8s.core.v1.ConfigMap {
  const { options } = context;
  const text = pulumi.output(pod.program.text());
  const name = pulumi.interpolate`${pod.name}-${text.apply((each) => checksum(each).slice(0, 10))}`;
  return new k8s.core.v1.ConfigMap(
    `${pod.name}-program`,
    {
      metadata: { ...objectMetadata(context, pod.name, pod.component), name },
      immutable: true,
      binaryData: text.apply((each) => ({
        [`${programFile(pod)}.gz`]: gzipSync(each, { level: 9 }).toString("base64"),
      })),
    },
    options,
  );
}

/** Creates the Service by which Prometheus finds the metrics and, if `serviceMonitor` is set, a ServiceMonitor. */
function createService(context: DeploymentContext, { name, component, labels: selector, port }: ProgramPod): void {
  const { args, options } = context;
  const metadata = objectMetadata(context, name, component);
  const ports = [{ name: "metrics", port, targetPort: "metrics" }];
  // Only Prometheus uses the Service, so Pulumi need not wait until the Service routes to the pod.
  const annotated = { ...metadata, annotations: ENGINE_ANNOTATIONS };
  new k8s.core.v1.Service(name, { metadata: annotated, spec: { selector, ports } }, options);
  if (args.metrics?.serviceMonitor !== true) return;
  new k8s.apiextensions.CustomResource(
    name,
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
  pod: ProgramPod,
  program: k8s.core.v1.ConfigMap,
): k8s.types.input.core.v1.PodSpec {
  const { names, args } = context;
  const { image = NODE_IMAGE, hasToken = true, readyPath = METRICS_PATH, graceSeconds } = pod;
  const probe = (path: string): k8s.types.input.core.v1.Probe => ({
    ...{ httpGet: { path, port: "metrics" }, periodSeconds: 10, timeoutSeconds: 5 },
  });
  const { tls } = args;
  const [settingsDirectory, programDirectory] = [directoryOf(pod, "settings"), directoryOf(pod, "program")];
  return {
    ...podBasics(context, {
      ...(graceSeconds === undefined ? {} : { graceSeconds }),
      labels: pod.labels,
      placement: {
        ...{ ...args.placement, hostAntiAffinity: "none" as const, oneMachine: false },
        tolerations: [...(args.placement.tolerations ?? []), ...AWAY_FOR_SECONDS],
      },
    }),
    serviceAccountName: pod.name,
    automountServiceAccountToken: hasToken,
    containers: [
      {
        name: pod.component,
        image,
        imagePullPolicy: pullPolicy(image, args.imagePullPolicy),
        command: [
          "node",
          "--no-deprecation",
          ...pod.nodeOptions,
          "-e",
          startText(pod),
          `${settingsDirectory}/${SETTINGS_FILE}`,
        ],
        env: [{ name: CHECKSUM_VARIABLE, value: pod.settings.apply(checksum) }],
        ports: [{ name: "metrics", containerPort: pod.port }],
        resources: pod.resources,
        securityContext: CONTAINER_SECURITY_CONTEXT,
        readinessProbe: probe(readyPath),
        livenessProbe: { ...probe(METRICS_PATH), failureThreshold: 6 },
        volumeMounts: [
          { name: "settings", mountPath: settingsDirectory, readOnly: true },
          { name: "program", mountPath: programDirectory, readOnly: true },
          { name: "secret", mountPath: SECRET_DIRECTORY, readOnly: true },
          ...(tls === undefined ? [] : [{ name: "tls", mountPath: TLS_DIRECTORY, readOnly: true }]),
          ...(pod.volumeMounts ?? []),
        ],
      },
    ],
    volumes: [
      { name: "settings", configMap: { name: pod.name } },
      { name: "program", configMap: { name: program.metadata.name } },
      passwordVolume(names),
      // The program needs the authority's certificate, but not the servers' private key.
      ...(tls === undefined
        ? []
        : [{ name: "tls", secret: { secretName: tls.secretName, items: [{ key: "ca.crt", path: "ca.crt" }] } }]),
      ...(pod.volumes ?? []),
    ],
  };
}
