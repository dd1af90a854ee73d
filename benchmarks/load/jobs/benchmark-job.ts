import type { V1ConfigMap, V1Job, V1Secret } from "@kubernetes/client-node";
import type { Plain } from "../../../platforms/kubernetes/api/plain";
import { type JobPlan, JOB_LABELS } from "./job-plan";
import { PASSWORD_KEY, podSpec } from "./runner-pod";
import type { BinaryFiles } from "./sidecar";

export interface JobObjects {
  readonly job: Plain<V1Job>;
  /** The Job owns this Secret, so the Job starts suspended and waits until the Secret exists. */
  readonly secret: Plain<V1Secret> | undefined;
  readonly files: Plain<V1ConfigMap> | undefined;
}

/** Seconds that Kubernetes keeps a finished Job, and its logs, if this program does not delete it. */
const TTL_SECONDS = 300;

export function benchmarkJob(plan: JobPlan): JobObjects {
  const { name, namespace, runner, user, sidecar } = plan;
  const files = sidecar?.files;
  const labels = { ...JOB_LABELS };
  const metadata = { name, namespace, labels };
  return {
    job: {
      apiVersion: "batch/v1",
      kind: "Job",
      metadata,
      spec: {
        completionMode: "Indexed",
        completions: runner.runners,
        parallelism: runner.runners,
        backoffLimit: 0,
        suspend: user !== undefined || files !== undefined,
        activeDeadlineSeconds: plan.deadlineSeconds,
        ttlSecondsAfterFinished: TTL_SECONDS,
        template: { metadata: { labels: { ...runner.labels, ...labels } }, spec: podSpec(plan) },
      },
    },
    secret: user && {
      apiVersion: "v1",
      kind: "Secret",
      metadata,
      immutable: true,
      stringData: { [PASSWORD_KEY]: user.password },
    },
    files: files && { apiVersion: "v1", kind: "ConfigMap", metadata, immutable: true, binaryData: base64(files) },
  };
}

function base64(files: BinaryFiles): Record<string, string> {
  return Object.fromEntries(Object.entries(files).map(([file, content]) => [file, content.toString("base64")]));
}

/** Only the options: the help text does not fit into a termination message, which holds 4096 bytes. */
const FEATURES_SCRIPT = `valkey-benchmark --help | grep '^ *--' > /dev/termination-log`;

/** The pod's termination message lists the options that valkey-benchmark has in the runners' image. */
export function featuresJob(plan: Pick<JobPlan, "name" | "namespace" | "image" | "servers" | "runner">): Plain<V1Job> {
  const complete: JobPlan = {
    ...plan,
    runner: { ...plan.runner, runners: 1 },
    keys: "",
    phases: [],
    user: undefined,
    tls: undefined,
    timeoutSeconds: 0,
    deadlineSeconds: TTL_SECONDS,
  };
  const { job } = benchmarkJob(complete);
  const spec = podSpec(complete);
  const script = { command: ["sh", "-c", FEATURES_SCRIPT], args: [], env: [] };
  const containers = spec.containers.map((container) => ({ ...container, ...script }));
  return { ...job, spec: { ...job.spec, template: { ...job.spec?.template, spec: { ...spec, containers } } } };
}
