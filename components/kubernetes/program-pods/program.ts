/** A program of this package in a container that has only Node.js, with its settings in ConfigMaps. */
import { gzipSync } from "node:zlib";
import * as pulumi from "@pulumi/pulumi";
import type { Bundle } from "../../../lib/bundle";
import { checksum } from "../../../lib/checksum";
import { CHECKSUM_VARIABLE } from "../../../lib/pod/settings-text";
import { NODE_IMAGE } from "../../../platforms/kubernetes/default-images";
import type { Placement, Resources } from "../arguments";
import { type DeploymentContext, objectMetadata } from "../deployment-context";
import { createConfig } from "../files";
import * as k8s from "../kubernetes-sdk";
import { SECRET_DIRECTORY, TLS_DIRECTORY } from "../layout";
import { podBasics, pullPolicy, CONTAINER_SECURITY_CONTEXT } from "../pods/pod-basics";
import { passwordVolume } from "../pods/pod-volumes";
import { PASSWORD_FILE, SENTINEL_PASSWORD_FILE } from "../server-config";

export interface Program {
  /** Name of the container, and the label `app.kubernetes.io/component` of all objects. */
  readonly component: string;
  /** Name of the ConfigMap with the settings, and beginning of the name of the ConfigMap with the program. */
  readonly name: string;
  readonly labels: Record<string, string>;
  readonly program: Bundle;
  readonly nodeOptions: readonly string[];
  /** A change of this text restarts the pod. */
  readonly settings: pulumi.Output<string>;
  /** Image with Node.js 20 or newer. @default `NODE_IMAGE` */
  readonly image?: string | undefined;
  readonly resources: Resources;
  /** @default the name of the program */
  readonly serviceAccount?: string;
  /** @default true */
  readonly hasToken?: boolean;
  /** Whether the pod gets the password of the deployment and, with TLS, the certificate. @default true */
  readonly connectsToServers?: boolean;
  /** Whether the pod also gets the password of the user `admin` of Sentinels. @default false */
  readonly connectsToSentinels?: boolean;
  readonly environment?: Readonly<Record<string, string>>;
  /** @default 30, as in Kubernetes */
  readonly graceSeconds?: number;
  readonly volumes?: readonly k8s.types.input.core.v1.Volume[];
  readonly volumeMounts?: readonly k8s.types.input.core.v1.VolumeMount[];
}

export interface ProgramFiles {
  readonly program: k8s.core.v1.ConfigMap;
  readonly dependsOn: readonly pulumi.Resource[];
}

const SETTINGS_FILE = "settings.json";

const directoryOf = ({ component }: Program, part: "settings" | "program"): string => `/${component}/${part}`;
const programFile = ({ component }: Program): string => `${component}.cjs`;

/** Unpacked in memory, because the file system is read-only. Only ASCII characters, and one chunk, save 10 MiB. */
function startText(pod: Program): string {
  const file = programFile(pod);
  return [
    `const module = new (require("module"))("${pod.component}")`,
    `const packed = require("fs").readFileSync("${directoryOf(pod, "program")}/${file}.gz")`,
    'const text = require("zlib").gunzipSync(packed, { chunkSize: 2 ** 22 }).latin1Slice()',
    `module._compile(text, "${file}")`,
  ].join("; ");
}

export function createProgramFiles(context: DeploymentContext, program: Program): ProgramFiles {
  const { name, settings } = program;
  const code = createCode(context, program);
  return { program: code, dependsOn: [createConfig(context, name, { [SETTINGS_FILE]: settings }), code] };
}

/** Its name changes with the program, so that a pod never starts with parts of two different programs. */
function createCode(context: DeploymentContext, pod: Program): k8s.core.v1.ConfigMap {
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

/** @param placement @default that of the servers, without their rules for machines */
export function programPodSpec(
  context: DeploymentContext,
  pod: Program,
  { program }: Pick<ProgramFiles, "program">,
  placement: Placement = programPlacement(context),
): k8s.types.input.core.v1.PodSpec & { readonly containers: [k8s.types.input.core.v1.Container] } {
  const { args } = context;
  const { image = NODE_IMAGE, hasToken = true, graceSeconds, serviceAccount = pod.name, environment = {} } = pod;
  const access = pod.connectsToServers === false ? NO_ACCESS : serverAccess(context, pod);
  const [settingsDirectory, programDirectory] = [directoryOf(pod, "settings"), directoryOf(pod, "program")];
  return {
    ...podBasics(context, {
      ...(graceSeconds === undefined ? {} : { graceSeconds }),
      labels: pod.labels,
      placement,
    }),
    serviceAccountName: serviceAccount,
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
        env: [
          { name: CHECKSUM_VARIABLE, value: pod.settings.apply(checksum) },
          ...Object.entries(environment).map(([variable, value]) => ({ name: variable, value })),
        ],
        resources: pod.resources,
        securityContext: CONTAINER_SECURITY_CONTEXT,
        volumeMounts: [
          { name: "settings", mountPath: settingsDirectory, readOnly: true },
          { name: "program", mountPath: programDirectory, readOnly: true },
          ...access.volumeMounts,
          ...(pod.volumeMounts ?? []),
        ],
      },
    ],
    volumes: [
      { name: "settings", configMap: { name: pod.name } },
      { name: "program", configMap: { name: program.metadata.name } },
      ...access.volumes,
      ...(pod.volumes ?? []),
    ],
  };
}

type Mounts = Required<Pick<Program, "volumes" | "volumeMounts">>;
const NO_ACCESS: Mounts = { volumes: [], volumeMounts: [] };

/** Passwords of servers and, if the program asks them, of Sentinels; with TLS also the certificate of the authority. */
function serverAccess(
  { names, args: { tls, sentinelPassword } }: DeploymentContext,
  { connectsToSentinels = false }: Program,
): Mounts {
  const isAdmin = connectsToSentinels && sentinelPassword !== undefined;
  const passwords = passwordVolume(names, isAdmin ? [PASSWORD_FILE, SENTINEL_PASSWORD_FILE] : [PASSWORD_FILE]);
  const password = { name: "secret", mountPath: SECRET_DIRECTORY, readOnly: true };
  if (tls === undefined) return { volumes: [passwords], volumeMounts: [password] };
  // The program does not need the servers' private key.
  const certificate = { secretName: tls.secretName, items: [{ key: "ca.crt", path: "ca.crt" }] };
  return {
    volumes: [passwords, { name: "tls", secret: certificate }],
    volumeMounts: [password, { name: "tls", mountPath: TLS_DIRECTORY, readOnly: true }],
  };
}

/** Placement of a program's pod: that of the servers, without their rules for machines. */
export function programPlacement({ args }: DeploymentContext): Placement {
  return { ...args.placement, hostAntiAffinity: "none", oneMachine: false };
}
