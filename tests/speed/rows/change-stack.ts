/** A stack with deployments on a real Kubernetes, each with a writer, and the upstream chart to compare them with. */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Stack } from "@pulumi/pulumi/automation";
import { LocalWorkspace } from "@pulumi/pulumi/automation";
import { objectNames } from "../../../components/kubernetes/names";
import { PASSWORD_FILE } from "../../../components/kubernetes/server-config";
import { Failure } from "../../../lib/errors";
import type { Endpoint } from "../../../valkey/node";
import { PulumiStack, pulumiPath } from "../../support/pulumi/pulumi-stack";
import type { TlsFiles } from "../../support/kubernetes/certificates";
import { issueCertificate, serverHosts } from "../../support/kubernetes/certificates";
import type { FloodedWrites } from "../../support/kubernetes/flood-main";
import type { ObservedWrites } from "../../support/kubernetes/observer-main";
import { ObserverPod } from "../../support/kubernetes/observer-pod";
import { isReady, KUBECONFIG, ThrowAway } from "../../support/kubernetes/throw-away";

/** Writers begin so long before a change, and go on for so long after it, milliseconds. */
const BEFORE_MS = 4000;
const AFTER_MS = 3000;
const NODES = 6;
const UPSTREAM = "upstream";
const CERTIFICATE = "certificate";

/** A deployment of the stack, by its name: a cluster, and replication without and with Sentinels. */
export type Subject = "cluster" | "replication" | "sentinels";

export interface ObservedChange {
  /** Duration of the whole `pulumi up`. */
  readonly seconds: number;
  readonly writes: ObservedWrites;
  /** Writes of clients at full speed, if there are any. */
  readonly flooded?: FloodedWrites | undefined;
}

/** Settings that the rows change. */
export interface ChangedSettings {
  readonly version: string;
  readonly maxmemory: string;
  readonly backlog: number;
  readonly passwordVersion: number;
  readonly primaries: number;
}

const SETTINGS: ChangedSettings = {
  version: "9.1.2",
  maxmemory: "256mb",
  backlog: 511,
  passwordVersion: 0,
  primaries: 3,
};

/** Why this machine cannot have such a stack; undefined where it can. */
export function whyNoStack(): string | undefined {
  if (KUBECONFIG === undefined) return "VALKEY_TEST_KUBECONFIG names no throw-away cluster";
  if (pulumiPath() === undefined) return "there is no Pulumi CLI";
  return undefined;
}

/** Directory of the upstream chart, to compare with; undefined where the environment names none. */
export const UPSTREAM_CHART = process.env["VALKEY_TEST_CHART"];

/** One line. */
export function describeChange({ seconds, writes, flooded }: ObservedChange): string {
  const { acknowledged, failed, lost, pauseMs, p999Ms, errors } = writes;
  const reasons = Object.entries(errors).map(([error, count]) => `${error} ${count}`);
  const counts = `${failed} of ${acknowledged + failed} writes failed${reasons.length > 0 ? ` (${reasons.join(", ")})` : ""}, ${lost} lost`;
  const beside =
    flooded === undefined
      ? ""
      : `; at full speed ${Math.round(flooded.acknowledged / flooded.seconds)} writes/s, ${flooded.failed} failed ${JSON.stringify(flooded.errors)}`;
  return `${seconds.toFixed(0)} s, ${counts}, pause ${(pauseMs / 1000).toFixed(2)} s, p99.9 ${p999Ms?.toFixed(0) ?? "–"} ms${beside}`;
}

/** Parts of a stack that stay while settings change. */
interface Setup {
  readonly zones: readonly string[];
  readonly subjects: readonly Subject[];
  /** The servers' certificate; undefined for plain TCP. */
  readonly certificate: TlsFiles | undefined;
}

export class ChangingStack {
  #settings: ChangedSettings;
  readonly #observers = new Map<Subject, ObserverPod<"observer-main.ts">>();
  #flood: ObserverPod<"flood-main.ts"> | undefined;

  private constructor(
    private readonly here: ThrowAway,
    private readonly stack: PulumiStack,
    private readonly setup: Setup,
    settings: ChangedSettings,
  ) {
    this.#settings = settings;
  }

  /**
   * Deploys all subjects, and a writer to each.
   * @param rate of writes per second to each
   * @param options whether clients and servers connect by TLS
   */
  static async deploy(
    subjects: readonly Subject[],
    rate: number,
    settings: Partial<ChangedSettings>,
    options: { readonly tls: boolean },
  ): Promise<ChangingStack> {
    const here = await ThrowAway.open();
    const zones = (await here.zones()).slice(0, 3);
    const certificate = options.tls ? issueCertificate(serverHosts(here.namespace, ...subjects)) : undefined;
    const setup = { zones, subjects, certificate };
    const all = { ...SETTINGS, ...settings };
    const stack = await PulumiStack.open(configOf(here, setup, all));
    const made = new ChangingStack(here, stack, setup, all);
    try {
      await made.#giveCertificate();
      await made.stack.up();
      for (const subject of subjects) {
        const mode = subject === "cluster" ? "cluster" : "replication";
        const ca = certificate && Buffer.from(certificate["ca.crt"], "base64").toString();
        const order = { mode, endpoints: made.#endpoints(subject), ca, rate } as const;
        const pod = await ObserverPod.start(
          here,
          `observer-${subject}`,
          "observer-main.ts",
          order,
          passwordOf(subject),
        );
        made.#observers.set(subject, pod);
      }
      return made;
    } catch (error) {
      await made.destroy();
      throw error;
    }
  }

  async #giveCertificate(): Promise<void> {
    const { certificate: data } = this.setup;
    if (data === undefined) return;
    const metadata = { name: CERTIFICATE, namespace: this.here.namespace };
    const secret = { apiVersion: "v1", kind: "Secret", metadata, data };
    await this.here.apply([secret]);
  }

  /** Endpoints of all pods of a cluster as it was deployed, or of the Service of the primary. */
  #endpoints(subject: Subject): Endpoint[] {
    const { client, headless } = objectNames(subject);
    const hosts =
      subject === "cluster" ? Array.from({ length: NODES }, (_, index) => `${subject}-${index}.${headless}`) : [client];
    return hosts.map((host) => hostIn(this.here.namespace, host));
  }

  /** Starts clients that write to the cluster as fast as they are answered, during every change from now on. */
  async flood(inFlight: number): Promise<void> {
    const order = { endpoints: this.#endpoints("cluster"), inFlight };
    this.#flood = await ObserverPod.start(this.here, "flood", "flood-main.ts", order, passwordOf("cluster"));
  }

  /** One `pulumi up`, while all deployments are written to. */
  async change(settings: Partial<ChangedSettings>): Promise<Map<Subject, ObservedChange>> {
    this.#settings = { ...this.#settings, ...settings };
    this.stack.configure(configOf(this.here, this.setup, this.#settings));
    const up = this.#updateAfter(BEFORE_MS);
    const flooded = this.#flood?.during(() => up, AFTER_MS);
    flooded?.catch(() => undefined);
    const observed = [...this.#observers].map(async ([subject, pod]) => {
      const writes = await pod.during(() => up, AFTER_MS);
      return [subject, { seconds: await up, writes, flooded: await flooded }] as const;
    });
    return new Map(await Promise.all(observed));
  }

  /** @returns the seconds that the update took */
  async #updateAfter(milliseconds: number): Promise<number> {
    await sleep(milliseconds);
    const began = performance.now();
    await this.stack.up();
    return (performance.now() - began) / 1000;
  }

  /**
   * Installs the upstream chart with two replicas and its defaults, and restarts it as `kubectl rollout restart` does.
   * @param chart directory of the chart
   */
  async restartUpstream(chart: string, rate: number): Promise<ObservedWrites> {
    const { namespace } = this.here;
    const stack = await upstreamStack(chart, namespace, join(this.stack.directory, ".state"));
    try {
      await stack.up();
      const labels = { "app.kubernetes.io/instance": UPSTREAM };
      await this.here.untilReady(labels, 3, 180);
      const endpoints = [hostIn(namespace, UPSTREAM)];
      const pod = await ObserverPod.start(
        this.here,
        "observer-upstream",
        "observer-main.ts",
        { mode: "replication", endpoints, rate },
        undefined,
      );
      const before = new Set((await this.here.pods(labels)).map(({ metadata }) => metadata?.uid));
      return await pod.during(async () => {
        const template = {
          metadata: { annotations: { "kubectl.kubernetes.io/restartedAt": new Date().toISOString() } },
        };
        await this.here.apply([
          { apiVersion: "apps/v1", kind: "StatefulSet", metadata: { name: UPSTREAM, namespace }, spec: { template } },
        ]);
        await this.here.until(300, async () => {
          const old = (await this.here.pods(labels)).filter((each) => before.has(each.metadata?.uid) || !isReady(each));
          return old.length === 0 ? undefined : `${old.length} pods are to restart`;
        });
      }, AFTER_MS);
    } finally {
      await stack.destroy();
    }
  }

  async destroy(): Promise<void> {
    try {
      await this.stack.stack.destroy();
    } finally {
      await this.stack.close();
      await this.here.close();
    }
  }
}

const passwordOf = (name: string): { secret: string; key: string } => ({
  secret: objectNames(name).secret,
  key: PASSWORD_FILE,
});

const hostIn = (namespace: string, name: string): Endpoint => ({
  host: `${name}.${namespace}.svc.cluster.local`,
  port: 6379,
});

function configOf(
  { namespace }: ThrowAway,
  { zones, subjects, certificate }: Setup,
  { version, maxmemory, backlog, passwordVersion, primaries }: ChangedSettings,
): Record<string, unknown> {
  const password = passwordVersion === 0 ? {} : { passwordVersion };
  const settings = { maxmemory, save: "", "tcp-backlog": backlog };
  const deployments = {
    cluster: { mode: "cluster", primaries, ...password, settings: { ...settings, "cluster-node-timeout": 5000 } },
    replication: { mode: "replication", replicas: 2, sentinel: false, ...password, settings },
    sentinels: { mode: "replication", replicas: 2, sentinel: {}, ...password, settings },
  };
  return {
    platform: {
      type: "kubernetes",
      kubeconfig: KUBECONFIG,
      namespace,
      createNamespace: false,
      zones,
      image: `docker.io/valkey/valkey:${version}`,
      imagePullPolicy: "IfNotPresent",
      resources: { requests: { cpu: "50m", memory: "64Mi" }, limits: { cpu: "2", memory: "512Mi" } },
      storage: { size: "1Gi" },
      clients: { shareMachines: true },
      ...(certificate === undefined ? {} : { tls: { secretName: CERTIFICATE } }),
    },
    verification: { timeout: 180 },
    deployments: Object.fromEntries(subjects.map((subject) => [subject, deployments[subject]])),
  };
}

async function upstreamStack(chart: string, namespace: string, state: string): Promise<Stack> {
  const k8s = await import("@pulumi/kubernetes");
  if (KUBECONFIG === undefined) throw new Failure("there is no cluster");
  const program = (): Promise<void> => {
    const provider = new k8s.Provider("here", { kubeconfig: KUBECONFIG });
    const values = {
      fullnameOverride: UPSTREAM,
      image: { registry: "docker.io", tag: SETTINGS.version, pullPolicy: "IfNotPresent" },
      replica: { enabled: true, replicas: 2, persistence: { size: "1Gi" } },
    };
    new k8s.helm.v4.Chart(UPSTREAM, { name: UPSTREAM, namespace, chart, values }, { provider });
    return Promise.resolve();
  };
  return LocalWorkspace.createOrSelectStack(
    { stackName: UPSTREAM, projectName: UPSTREAM, program },
    {
      envVars: {
        PULUMI_BACKEND_URL: `file://${state}`,
        PULUMI_CONFIG_PASSPHRASE: "trial",
        PULUMI_SKIP_UPDATE_CHECK: "true",
      },
    },
  );
}
