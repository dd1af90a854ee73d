/** The objects of one run of the tool by a Kubernetes Job: N runners that start together, apart from the servers. Pure. */
import type { V1ConfigMap, V1Job, V1Secret } from "@kubernetes/client-node";
import type { TlsFiles } from "../../../valkey/node";
import type { BenchmarkUser } from "../benchmark-user";
import type { BinaryFiles, LoadSidecar } from "./sidecar";
import { SIDECAR_FILES_DIRECTORY, sidecarScript, EXCHANGE_DIRECTORY } from "./sidecar";
import type { JobPhase } from "./load-generator";
import type { Labels } from "../../../platforms/kubernetes/pods";
import type { Plain } from "../../../platforms/kubernetes/plain";
import { PLACEHOLDERS, RUNNER_SCRIPT } from "./runner-script";
import type { Toleration } from "../../../platforms/kubernetes/pods";

/** Where and how runners run, the same for every Job. */
export interface RunnerPlan {
  /** How many, side by side. */
  readonly runners: number;
  /** May they share machines with servers of the deployment under test? Then every record says that it is to be given warnings. */
  readonly sharing: boolean;
  /**
   * Requests, and limits where they are given, of each runner. A CPU limit slows the load generator down (a scan wants one, CKV_K8S_11).
   * @default 100m and 64Mi, at most 1Gi
   */
  readonly resources?: { readonly requests: Labels; readonly limits?: Labels } | undefined;
  /** With the load generator in it. @default the servers' */
  readonly image?: string | undefined;
  /** Of the load generators whose programs the servers' image has not got. @default pinned ones of Node and memtier_benchmark */
  readonly images?: { readonly node?: string | undefined; readonly memtier?: string | undefined } | undefined;
  /** Of images, as for the servers'. @default Kubernetes' own */
  readonly imagePullPolicy?: "Always" | "IfNotPresent" | undefined;
  /** Which machines runners may use, such as a pool of their own. */
  readonly nodeSelector?: Labels | undefined;
  readonly tolerations?: readonly Toleration[] | undefined;
  /** Added to the pods', for a NetworkPolicy to let them in. */
  readonly labels?: Labels | undefined;
  readonly imagePullSecrets?: readonly string[] | undefined;
  /** The Secret with the files TLS takes, by key. */
  readonly tls?:
    { readonly secret: string; readonly cacert?: string; readonly cert?: string; readonly key?: string } | undefined;
}

/** One run of the tool. */
export interface JobPlan {
  readonly name: string;
  readonly namespace: string;
  readonly image: string;
  /** The servers of the deployment under test. */
  readonly servers: { readonly namespace: string; readonly labels: Labels };
  readonly runner: RunnerPlan;
  /** Prefix of the keys runners meet by. */
  readonly keys: string;
  /** The warm-up, if there is one, and the measured run. */
  readonly phases: readonly JobPhase[];
  /** What runs the load generator where the servers' image has not got it. */
  readonly sidecar?: LoadSidecar | undefined;
  /** The companion's. */
  readonly files?: BinaryFiles | undefined;
  /** Made for the run, and gone with it: the tool takes a password on its command line only, so the script finds it in its environment (CKV_K8S_35). */
  readonly user: BenchmarkUser | undefined;
  /** Options beside the files, which are the runner's own. */
  readonly tls: Pick<TlsFiles, "sni" | "insecure"> | undefined;
  /** How long a runner waits for the others, seconds. */
  readonly timeoutSeconds: number;
  /** When Kubernetes ends everything, whoever started it, seconds. */
  readonly deadlineSeconds: number;
}

export interface JobObjects {
  readonly job: Plain<V1Job>;
  /** The password of the user made for the run; the Job begins suspended and owns it. */
  readonly secret: Plain<V1Secret> | undefined;
  /** A companion's files; the Job owns them too. */
  readonly files: Plain<V1ConfigMap> | undefined;
}

const TLS_DIRECTORY = "/tls";
const PASSWORD_KEY = "password";
/** After its end, where nobody removed it: for a look at the logs. */
const TTL_SECONDS = 300;
const RESOURCES: NonNullable<RunnerPlan["resources"]> = {
  requests: { cpu: "100m", memory: "64Mi" },
  limits: { memory: "1Gi" },
};
/** Of the container that keeps a companion's appointments: it works when nothing is measured. */
const APPOINTMENTS = { cpu: "50m", memory: "32Mi" };
/** Any that is not root's. */
const USER_ID = 10_001;
/** Of every object of a run. */
export const JOB_LABELS: Labels = {
  "app.kubernetes.io/name": "valkey-benchmark",
  "app.kubernetes.io/managed-by": "valkey-measured",
};

export function benchmarkJob(plan: JobPlan): JobObjects {
  const { name, namespace, runner, user, files } = plan;
  const labels = { ...JOB_LABELS };
  return {
    job: {
      apiVersion: "batch/v1",
      kind: "Job",
      metadata: { name, namespace, labels },
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
    secret:
      user === undefined
        ? undefined
        : {
            apiVersion: "v1",
            kind: "Secret",
            metadata: { name, namespace, labels },
            immutable: true,
            stringData: { [PASSWORD_KEY]: user.password },
          },
    files:
      files === undefined
        ? undefined
        : {
            apiVersion: "v1",
            kind: "ConfigMap",
            metadata: { name, namespace, labels },
            immutable: true,
            binaryData: Object.fromEntries(
              Object.entries(files).map(([file, content]) => [file, content.toString("base64")]),
            ),
          },
  };
}

type PodSpec = NonNullable<NonNullable<Plain<V1Job>["spec"]>["template"]["spec"]>;
type Container = PodSpec["containers"][number];

function podSpec(plan: JobPlan): PodSpec {
  const { image, runner, sidecar, files } = plan;
  const { resources = RESOURCES, tls } = runner;
  const pull = runner.imagePullPolicy === undefined ? {} : { imagePullPolicy: runner.imagePullPolicy };
  const own = {
    requests: { ...resources.requests },
    ...(resources.limits === undefined ? {} : { limits: { ...resources.limits } }),
  };
  const common: Pick<Container, "securityContext" | "terminationMessagePolicy" | "volumeMounts"> = {
    securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"] } },
    // Why it failed stands in the pod's status, where it can be read without the right to read logs.
    terminationMessagePolicy: "FallbackToLogsOnError",
    volumeMounts: [
      { name: "tmp", mountPath: "/tmp" },
      ...(sidecar === undefined ? [] : [{ name: "exchange", mountPath: EXCHANGE_DIRECTORY }]),
      ...(tls === undefined ? [] : [{ name: "tls", mountPath: TLS_DIRECTORY, readOnly: true }]),
    ],
  };
  return {
    restartPolicy: "Never",
    // The script is the container's first process, which no signal ends that it does not handle.
    terminationGracePeriodSeconds: 1,
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    securityContext: {
      runAsNonRoot: true,
      runAsUser: USER_ID,
      runAsGroup: USER_ID,
      fsGroup: USER_ID,
      seccompProfile: { type: "RuntimeDefault" },
    },
    affinity: affinity(plan),
    ...(runner.nodeSelector === undefined ? {} : { nodeSelector: { ...runner.nodeSelector } }),
    ...(runner.tolerations === undefined ? {} : { tolerations: runner.tolerations.map((each) => ({ ...each })) }),
    ...(runner.imagePullSecrets === undefined
      ? {}
      : { imagePullSecrets: runner.imagePullSecrets.map((secret) => ({ name: secret })) }),
    containers: [
      {
        name: "runner",
        image,
        ...pull,
        command: ["sh", "-c", RUNNER_SCRIPT, "runner"],
        args: phaseArguments(plan),
        env: environment(plan),
        resources:
          sidecar === undefined
            ? own
            : {
                requests: APPOINTMENTS,
                limits: runner.resources?.limits === undefined ? { memory: "64Mi" } : APPOINTMENTS,
              },
        ...common,
      },
      ...(sidecar === undefined
        ? []
        : [
            {
              name: "load-generator",
              image: sidecar.image,
              ...pull,
              command: ["sh", "-c", sidecarScript(sidecar)],
              env: [{ name: "EXCHANGE", value: EXCHANGE_DIRECTORY }, ...credentials(plan)],
              resources: own,
              ...common,
              volumeMounts: [
                ...(common.volumeMounts ?? []),
                ...(files === undefined ? [] : [{ name: "files", mountPath: SIDECAR_FILES_DIRECTORY, readOnly: true }]),
              ],
            },
          ]),
    ],
    volumes: [
      { name: "tmp", emptyDir: {} },
      ...(sidecar === undefined ? [] : [{ name: "exchange", emptyDir: {} }]),
      ...(files === undefined ? [] : [{ name: "files", configMap: { name: plan.name } }]),
      ...(tls === undefined ? [] : [{ name: "tls", secret: { secretName: tls.secret, defaultMode: 0o440 } }]),
    ],
  };
}

function environment(plan: JobPlan): NonNullable<Container["env"]> {
  const { phases } = plan;
  const [first] = phases;
  const last = phases.at(-1);
  const values: Record<string, string> = {
    RECORD: "/tmp/record",
    HOST: first?.endpoint.host ?? "",
    PORT: String(first?.endpoint.port ?? ""),
    KEYS: plan.keys,
    RUNNERS: String(plan.runner.runners),
    PHASES: String(phases.length),
    REQUESTS: String(last?.requests ?? 0),
    RATE: String(last?.rate ?? 0),
    SEEDS: phases.map(({ seed }) => seed).join(" "),
    PATIENCE: String(plan.timeoutSeconds),
    TLS: tlsOptions(plan),
    EXCHANGE: plan.sidecar === undefined ? "" : EXCHANGE_DIRECTORY,
  };
  return [...Object.entries(values).map(([key, value]) => ({ name: key, value })), ...credentials(plan)];
}

function credentials({ name, user }: JobPlan): NonNullable<Container["env"]> {
  return user === undefined
    ? []
    : [
        { name: "TOOL_USER", value: user.username },
        { name: "TOOL_PASSWORD", valueFrom: { secretKeyRef: { name, key: PASSWORD_KEY } } },
      ];
}

/** No runner on a machine with a server of the deployment, and runners apart from each other where there is room. */
function affinity({ servers, runner }: JobPlan): NonNullable<PodSpec["affinity"]> {
  const topologyKey = "kubernetes.io/hostname";
  const fromServers = {
    topologyKey,
    namespaces: [servers.namespace],
    labelSelector: { matchLabels: { ...servers.labels } },
  };
  const fromRunners = {
    weight: 10,
    podAffinityTerm: { topologyKey, labelSelector: { matchLabels: { ...JOB_LABELS } } },
  };
  return {
    podAntiAffinity: runner.sharing
      ? {
          preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, podAffinityTerm: fromServers }, fromRunners],
        }
      : {
          requiredDuringSchedulingIgnoredDuringExecution: [fromServers],
          preferredDuringSchedulingIgnoredDuringExecution: [fromRunners],
        },
  };
}

/** The tool's arguments with what each runner fills in for itself, phases one after the other. */
function phaseArguments(plan: JobPlan): string[] {
  return plan.phases.flatMap(({ arguments: words }, index) => [...(index === 0 ? [] : [PLACEHOLDERS.then]), ...words]);
}

/** TLS as a runner has it. */
export function runnerTls(
  tls: Pick<TlsFiles, "sni" | "insecure"> | undefined,
  runner: RunnerPlan,
): TlsFiles | undefined {
  return tls === undefined ? undefined : { sni: tls.sni, insecure: tls.insecure, ...mounted(runner.tls) };
}

function mounted(tls: RunnerPlan["tls"]): Partial<Omit<TlsFiles, "sni" | "insecure">> {
  const path = (key: string | undefined): string | undefined =>
    key === undefined ? undefined : `${TLS_DIRECTORY}/${key}`;
  return { cacert: path(tls?.cacert), cert: path(tls?.cert), key: path(tls?.key) };
}

/** For valkey-cli, which names them as valkey-benchmark does. */
function tlsOptions({ tls, runner }: JobPlan): string {
  if (tls === undefined) return "";
  const { cacert, cert, key } = mounted(runner.tls);
  const named = Object.entries({ cacert, cert, key, sni: tls.sni }).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, value],
  );
  return ["--tls", ...(tls.insecure ? ["--insecure"] : []), ...named].join(" ");
}

/** A Job that says by its pod's end what the tool in the image can do. */
export function featuresJob(plan: Pick<JobPlan, "name" | "namespace" | "image" | "servers" | "runner">): Plain<V1Job> {
  const whole = {
    ...plan,
    runner: { ...plan.runner, runners: 1 },
    keys: "",
    phases: [],
    user: undefined,
    tls: undefined,
    timeoutSeconds: 0,
    deadlineSeconds: TTL_SECONDS,
  };
  const { job } = benchmarkJob(whole);
  const spec = podSpec(whole);
  const containers = spec.containers.map((container) => ({
    ...container,
    command: ["sh", "-c", FEATURES_SCRIPT],
    args: [],
    env: [],
  }));
  return { ...job, spec: { ...job.spec, template: { ...job.spec?.template, spec: { ...spec, containers } } } };
}

/** A message of a container's has room for 4096 bytes: the whole help has not. */
const FEATURES_SCRIPT = `valkey-benchmark --help | grep '^ *--' > /dev/termination-log`;
