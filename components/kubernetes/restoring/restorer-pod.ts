/** A program, and a container of the servers' image for staging servers, which load archived data. */
import type * as pulumi from "@pulumi/pulumi";
import { RESTORER_BUNDLE, STAGING_DIRECTORY_VARIABLE, STAGING_SCRIPT } from "../../../backup/restorer/bundle";
import type { RestorerSettings } from "../../../backup/restorer/pod-settings";
import type { BucketAccess } from "../archive/bucket-access";
import type { DeploymentContext } from "../deployment-context";
import type * as k8s from "../kubernetes-sdk";
import { pullPolicy, CONTAINER_SECURITY_CONTEXT } from "../pods/pod-basics";
import { RESTORER_RESOURCES } from "../pods/sidecar-resources";
import { type Program, type ProgramFiles, programPodSpec } from "../program-pods/program";

export const SCRATCH_DIRECTORY = "/scratch";
const STAGING_CPU = { request: "500m", limit: "2" };

interface RestorerSizes {
  /** Memory of the staging servers, as a Kubernetes quantity. @default the memory of a server of the deployment */
  readonly memory?: string | undefined;
  /** Disk space for the archived data, as a Kubernetes quantity. @default what the machine has */
  readonly scratchSize?: string | undefined;
}

interface Restorer {
  /** Name of the container, and the label `app.kubernetes.io/component` of all objects. */
  readonly component: string;
  readonly name: string;
  readonly labels: Record<string, string>;
  readonly serviceAccount: string;
  /** @default true */
  readonly connectsToServers?: boolean;
  readonly settings: pulumi.Output<RestorerSettings>;
  readonly access: BucketAccess;
  readonly image: string | undefined;
}

export function restorerProgram(
  { settings, access, ...restorer }: Restorer,
  { scratchSize }: RestorerSizes = {},
): Program {
  const sizeLimit = scratchSize === undefined ? {} : { sizeLimit: scratchSize };
  return {
    ...restorer,
    program: RESTORER_BUNDLE,
    nodeOptions: ["--max-semi-space-size=16"],
    settings: settings.apply((values) => JSON.stringify(values)),
    resources: RESTORER_RESOURCES,
    hasToken: false,
    volumes: [{ name: "scratch", emptyDir: sizeLimit }, ...access.volumes],
    volumeMounts: [{ name: "scratch", mountPath: SCRATCH_DIRECTORY }, ...access.volumeMounts],
  };
}

/** The container of the staging servers ends with the program. */
export function restorerPodSpec(
  context: DeploymentContext,
  program: Program,
  files: Pick<ProgramFiles, "program">,
  { memory }: RestorerSizes = {},
): k8s.types.input.core.v1.PodSpec {
  const { image, imagePullPolicy, resources } = context.args;
  const most = memory ?? resources.limits.memory;
  return {
    ...programPodSpec(context, program, files),
    restartPolicy: "Never",
    initContainers: [
      {
        name: "staging",
        image,
        imagePullPolicy: pullPolicy(image, imagePullPolicy),
        // A container with this policy runs beside the other containers, and ends after them.
        restartPolicy: "Always",
        command: ["sh", "-c", STAGING_SCRIPT],
        env: [{ name: STAGING_DIRECTORY_VARIABLE, value: SCRATCH_DIRECTORY }],
        resources: {
          requests: { cpu: STAGING_CPU.request, memory: most },
          limits: { cpu: STAGING_CPU.limit, memory: most },
        },
        securityContext: CONTAINER_SECURITY_CONTEXT,
        volumeMounts: [{ name: "scratch", mountPath: SCRATCH_DIRECTORY }],
      },
    ],
  };
}
