import type { V1Job } from "@kubernetes/client-node";
import { compact } from "../../../lib/compact";
import type { Plain } from "../../../platforms/kubernetes/api/plain";
import { zoneAffinity, zoneSpread } from "../../../platforms/kubernetes/pods/zone-spread";
import type { TlsFiles } from "../../../valkey/node";
import { tlsArguments } from "../valkey-benchmark/arguments";
import { type JobPlan, type RunnerPlan, type RunnerTlsSecret, JOB_LABELS } from "./job-plan";
import { PLACEHOLDERS, RUNNER_SCRIPT } from "./runner-script";
import type { LoadSidecar } from "./sidecar";
import { EXCHANGE_DIRECTORY, SIDECAR_FILES_DIRECTORY, SIDECAR_SCRIPT, sidecarEnvironment } from "./sidecar";

const TLS_DIRECTORY = "/tls";
export const PASSWORD_KEY = "password";
const DEFAULT_RESOURCES: NonNullable<RunnerPlan["resources"]> = {
  requests: { cpu: "100m", memory: "64Mi" },
  limits: { memory: "1Gi" },
};
/** During the measurement, this container only waits. */
const WAITING_RESOURCES = { cpu: "50m", memory: "32Mi" };
/** Every ID except 0 (root) would work. */
const USER_ID = 10_001;

type PodSpec = NonNullable<NonNullable<Plain<V1Job>["spec"]>["template"]["spec"]>;
type Container = PodSpec["containers"][number];
type Environment = NonNullable<Container["env"]>;

/** It complies with the restricted Pod Security Standard. */
export function podSpec(plan: JobPlan): PodSpec {
  const { runner, sidecar } = plan;
  const { nodeSelector, tolerations, imagePullSecrets, tls } = runner;
  return {
    restartPolicy: "Never",
    // The script is process 1 of the container and has no handler for SIGTERM. So the signal has no effect, and a
    // longer grace period would only delay the end of the pod.
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
    ...(runner.ownMachinesIn && { topologySpreadConstraints: [zoneSpread(JOB_LABELS, runner.ownMachinesIn, true)] }),
    ...(nodeSelector && { nodeSelector: { ...nodeSelector } }),
    ...(tolerations && { tolerations: tolerations.map((each) => ({ ...each })) }),
    ...(imagePullSecrets && { imagePullSecrets: imagePullSecrets.map((name) => ({ name })) }),
    containers: compact([runnerContainer(plan), sidecar && sidecarContainer(plan, sidecar)]),
    volumes: compact([
      { name: "tmp", emptyDir: {} },
      sidecar && { name: "exchange", emptyDir: {} },
      sidecar?.files && { name: "files", configMap: { name: plan.name } },
      tls && { name: "tls", secret: { secretName: tls.secret, defaultMode: 0o440, items: filesOf(tls) } },
    ]),
  };
}

function runnerContainer(plan: JobPlan): Container {
  return {
    name: "runner",
    image: plan.image,
    command: ["sh", "-c", RUNNER_SCRIPT, "runner"],
    args: phaseArguments(plan),
    env: [...toEnvironment(runnerEnvironment(plan)), ...credentials(plan)],
    resources: plan.sidecar === undefined ? loadResources(plan) : waitingResources(plan),
    ...common(plan),
  };
}

function sidecarContainer(plan: JobPlan, sidecar: LoadSidecar): Container {
  const shared = common(plan);
  const files = sidecar.files && { name: "files", mountPath: SIDECAR_FILES_DIRECTORY, readOnly: true };
  return {
    name: "load-generator",
    image: sidecar.image,
    command: ["sh", "-c", SIDECAR_SCRIPT],
    env: [...toEnvironment(sidecarEnvironment(sidecar)), ...credentials(plan)],
    resources: loadResources(plan),
    ...shared,
    volumeMounts: compact([...(shared.volumeMounts ?? []), files]),
  };
}

function common({ runner, sidecar }: JobPlan): Partial<Container> {
  const { imagePullPolicy, tls } = runner;
  return {
    ...(imagePullPolicy && { imagePullPolicy }),
    securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"] } },
    // With this policy, the reason of a failure is in the pod's status. Reading it needs no permission to read logs.
    terminationMessagePolicy: "FallbackToLogsOnError",
    volumeMounts: compact([
      { name: "tmp", mountPath: "/tmp" },
      sidecar && { name: "exchange", mountPath: EXCHANGE_DIRECTORY },
      tls && { name: "tls", mountPath: TLS_DIRECTORY, readOnly: true },
    ]),
  };
}

function loadResources({ runner }: JobPlan): NonNullable<Container["resources"]> {
  const { requests, limits } = runner.resources ?? DEFAULT_RESOURCES;
  return { requests: { ...requests }, ...(limits && { limits: { ...limits } }) };
}

/** Has a CPU limit only if the plan sets limits for the load generator. */
function waitingResources({ runner }: JobPlan): NonNullable<Container["resources"]> {
  const limits = runner.resources?.limits === undefined ? { memory: "64Mi" } : WAITING_RESOURCES;
  return { requests: WAITING_RESOURCES, limits };
}

function runnerEnvironment({ phases, keys, runner, timeoutSeconds, tls, sidecar }: JobPlan): Record<string, string> {
  const [first] = phases;
  const last = phases.at(-1);
  return {
    RECORD: "/tmp/record",
    HOST: first?.endpoint.host ?? "",
    PORT: String(first?.endpoint.port ?? ""),
    TLS_OPTIONS: tlsArguments(runnerTls(tls, runner)).join(" "),
    KEY_PREFIX: keys,
    RUNNERS: String(runner.runners),
    PHASES: String(phases.length),
    REQUESTS: String(last?.requests ?? 0),
    RATE: String(last?.rate ?? 0),
    SEEDS: phases.map(({ seed }) => seed).join(" "),
    TIMEOUT_SECONDS: String(timeoutSeconds),
    EXCHANGE: sidecar === undefined ? "" : EXCHANGE_DIRECTORY,
  };
}

function toEnvironment(values: Readonly<Record<string, string>>): Environment {
  return Object.entries(values).map(([name, value]) => ({ name, value }));
}

function credentials({ name, user }: JobPlan): Environment {
  if (user === undefined) return [];
  return [
    { name: "TOOL_USER", value: user.username },
    { name: "TOOL_PASSWORD", valueFrom: { secretKeyRef: { name, key: PASSWORD_KEY } } },
  ];
}

/** If sharing is allowed, both rules are preferences. */
function affinity({ servers, runner }: JobPlan): NonNullable<PodSpec["affinity"]> {
  const topologyKey = "kubernetes.io/hostname";
  const fromServers = {
    topologyKey,
    namespaces: [servers.namespace],
    labelSelector: { matchLabels: { ...servers.labels } },
  };
  const fromRunners = { topologyKey, labelSelector: { matchLabels: { ...JOB_LABELS } } };
  const { ownMachinesIn } = runner;
  if (ownMachinesIn !== undefined)
    return {
      nodeAffinity: zoneAffinity(ownMachinesIn, true),
      podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [fromServers, fromRunners] },
    };
  const preferOthers = { weight: 10, podAffinityTerm: fromRunners };
  const preferred = runner.sharing ? [{ weight: 100, podAffinityTerm: fromServers }, preferOthers] : [preferOthers];
  return {
    podAntiAffinity: {
      ...(!runner.sharing && { requiredDuringSchedulingIgnoredDuringExecution: [fromServers] }),
      preferredDuringSchedulingIgnoredDuringExecution: preferred,
    },
  };
}

function phaseArguments({ phases }: JobPlan): string[] {
  return phases.flatMap(({ arguments: words }, index) =>
    compact([index === 0 ? undefined : PLACEHOLDERS.then, ...words]),
  );
}

/** The Secret also contains the servers' private key, which is not mounted. */
function filesOf({ cacert, cert, key }: RunnerTlsSecret): { readonly key: string; readonly path: string }[] {
  return compact([cacert, cert, key]).map((name) => ({ key: name, path: name }));
}

export function runnerTls(
  tls: Pick<TlsFiles, "sni"> | undefined,
  { tls: files }: Pick<RunnerPlan, "tls">,
): TlsFiles | undefined {
  if (tls === undefined) return undefined;
  const path = (key: string | undefined): string | undefined => key && `${TLS_DIRECTORY}/${key}`;
  const mounted = { cacert: path(files?.cacert), cert: path(files?.cert), key: path(files?.key) };
  // A runner can verify the servers' certificates only if the CA certificate is mounted in its pod.
  return { sni: tls.sni, insecure: files?.cacert === undefined, ...mounted };
}
