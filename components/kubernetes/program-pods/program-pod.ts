/** A pod that runs a program of this package all the time, with a Service for Prometheus. */
import * as pulumi from "@pulumi/pulumi";
import { METRICS_PATH } from "../../../lib/pod/text-server";
import { type DeploymentContext, ENGINE_ANNOTATIONS, objectMetadata } from "../deployment-context";
import * as k8s from "../kubernetes-sdk";
import { type Program, type ProgramFiles, createProgramFiles, programPlacement, programPodSpec } from "./program";

/** Its Deployment and its Service have the name of the program. */
interface ProgramPod extends Program {
  readonly port: number;
  readonly dependsOn: readonly pulumi.Resource[];
  /** Path that answers with the status 200 when the pod is ready. @default the path of the metrics */
  readonly readyPath?: string;
}

/** The default of Kubernetes, until a new pod starts on a different machine, is five minutes. */
const AWAY_FOR_SECONDS = ["not-ready", "unreachable"].map((state) => ({
  ...{ key: `node.kubernetes.io/${state}`, operator: "Exists", effect: "NoExecute", tolerationSeconds: 30 },
}));

/** The service account must be created by the caller. */
export function createProgramPod(context: DeploymentContext, pod: ProgramPod): void {
  const { options } = context;
  const { name, component, labels, dependsOn } = pod;
  const files = createProgramFiles(context, pod);
  const needed = [...files.dependsOn, ...dependsOn];
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
          spec: podSpec(context, pod, files),
        },
      },
    },
    pulumi.mergeOptions(options, { dependsOn: needed }),
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

function podSpec(context: DeploymentContext, pod: ProgramPod, files: ProgramFiles): k8s.types.input.core.v1.PodSpec {
  const { readyPath = METRICS_PATH } = pod;
  const probe = (path: string): k8s.types.input.core.v1.Probe => ({
    ...{ httpGet: { path, port: "metrics" }, periodSeconds: 10, timeoutSeconds: 5 },
  });
  const placement = programPlacement(context);
  const tolerations = [...(placement.tolerations ?? []), ...AWAY_FOR_SECONDS];
  const spec = programPodSpec(context, pod, files, { ...placement, tolerations });
  const [container] = spec.containers;
  return {
    ...spec,
    containers: [
      {
        ...container,
        ports: [{ name: "metrics", containerPort: pod.port }],
        readinessProbe: probe(readyPath),
        livenessProbe: { ...probe(METRICS_PATH), failureThreshold: 6 },
      },
    ],
  };
}
