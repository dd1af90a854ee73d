/** A stack with a deployment of each mode on a real Kubernetes, and the upstream chart as it comes, each with a writer. */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Stack } from "@pulumi/pulumi/automation";
import { LocalWorkspace } from "@pulumi/pulumi/automation";
import { objectNames } from "../../../components/kubernetes/names";
import { PASSWORD_FILE } from "../../../components/kubernetes/server-config";
import { Failure } from "../../../lib/errors";
import type { Mode } from "../../../valkey/node";
import { PulumiStack } from "../../support/pulumi/pulumi-stack";
import type { ObservedWrites } from "../../support/kubernetes/observer-main";
import { ObserverPod } from "../../support/kubernetes/observer-pod";
import { isReady, KUBECONFIG, ThrowAway } from "../../support/kubernetes/throw-away";

/** Writes per second to each deployment. */
const RATE = 2000;
/** Writers begin so long before a change, and go on for so long after it, milliseconds. */
const BEFORE_MS = 4000;
const AFTER_MS = 3000;
const NODES = 6;
const UPSTREAM = "upstream";

export interface ObservedChange {
  /** Of the whole `pulumi up`. */
  readonly seconds: number;
  readonly writes: ObservedWrites;
}

/** What changes of a stack change. */
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

export class ChangingStack {
  #settings: ChangedSettings;
  readonly #observers = new Map<Mode, ObserverPod>();

  private constructor(
    private readonly here: ThrowAway,
    private readonly zones: readonly string[],
    private readonly stack: PulumiStack,
    settings: ChangedSettings,
  ) {
    this.#settings = settings;
  }

  static async deploy(settings: Partial<ChangedSettings>): Promise<ChangingStack> {
    const here = await ThrowAway.at(`valkey-change-${process.pid}`);
    const zones = (await here.zones()).slice(0, 3);
    const all = { ...SETTINGS, ...settings };
    const made = new ChangingStack(here, zones, await PulumiStack.open(configOf(here, zones, all)), all);
    try {
      await made.stack.up();
      const { namespace } = here;
      const cluster = objectNames("cluster");
      const endpoints = Array.from({ length: NODES }, (_, index) =>
        hostIn(namespace, `cluster-${index}.${cluster.headless}`),
      );
      await made.#observe("cluster", "cluster", endpoints, cluster.secret);
      const replication = objectNames("replication");
      await made.#observe("replication", "replication", [hostIn(namespace, replication.client)], replication.secret);
      return made;
    } catch (error) {
      await made.destroy();
      throw error;
    }
  }

  async #observe(
    mode: Mode,
    name: string,
    endpoints: readonly { host: string; port: number }[],
    secret: string,
  ): Promise<void> {
    const pod = await ObserverPod.start(
      this.here,
      `observer-${name}`,
      { mode, endpoints, rate: RATE },
      { secret, key: PASSWORD_FILE },
    );
    this.#observers.set(mode, pod);
  }

  /** One `pulumi up`, while both deployments are written to. */
  async change(settings: Partial<ChangedSettings>): Promise<Map<Mode, ObservedChange>> {
    this.#settings = { ...this.#settings, ...settings };
    this.stack.configure(configOf(this.here, this.zones, this.#settings));
    const up = this.#updateAfter(BEFORE_MS);
    const observed = [...this.#observers].map(async ([mode, pod]) => {
      const writes = await pod.during(() => up, AFTER_MS);
      return [mode, { seconds: await up, writes }] as const;
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

  /** Installs the upstream chart with two replicas and its defaults, and restarts it as `kubectl rollout restart` does. */
  async restartUpstream(): Promise<ObservedWrites> {
    const { namespace } = this.here;
    const stack = await upstreamStack(namespace, join(this.stack.directory, ".state"));
    try {
      await stack.up();
      const labels = { "app.kubernetes.io/instance": UPSTREAM };
      await this.here.untilReady(labels, 3, 180);
      const endpoints = [hostIn(namespace, UPSTREAM)];
      const pod = await ObserverPod.start(
        this.here,
        "observer-upstream",
        { mode: "replication", endpoints, rate: RATE },
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
    }
  }
}

const hostIn = (namespace: string, name: string): { host: string; port: number } => ({
  host: `${name}.${namespace}.svc.cluster.local`,
  port: 6379,
});

function configOf(
  { namespace }: ThrowAway,
  zones: readonly string[],
  { version, maxmemory, backlog, passwordVersion, primaries }: ChangedSettings,
): Record<string, unknown> {
  const password = passwordVersion === 0 ? {} : { passwordVersion };
  const settings = { maxmemory, save: "", other: { "tcp-backlog": backlog } };
  return {
    platform: {
      type: "kubernetes",
      kubeconfig: KUBECONFIG,
      namespace,
      zones,
      image: `docker.io/valkey/valkey:${version}`,
      imagePullPolicy: "IfNotPresent",
      resources: { requests: { cpu: "50m", memory: "64Mi" }, limits: { cpu: "2", memory: "512Mi" } },
      storage: { size: "1Gi" },
      clients: { shareMachines: true },
      chart: { from: "path", path: process.env["VALKEY_TEST_CHART"] },
    },
    verification: { timeout: 180 },
    deployments: {
      cluster: { mode: "cluster", primaries, ...password, settings: { ...settings, "cluster-node-timeout": 5000 } },
      replication: { mode: "replication", replicas: 2, ...password, settings },
    },
  };
}

async function upstreamStack(namespace: string, state: string): Promise<Stack> {
  const k8s = await import("@pulumi/kubernetes");
  const path = process.env["VALKEY_TEST_CHART"];
  if (path === undefined || KUBECONFIG === undefined) throw new Failure("there is no chart, or no cluster");
  const program = (): Promise<void> => {
    const provider = new k8s.Provider("here", { kubeconfig: KUBECONFIG });
    const values = {
      fullnameOverride: UPSTREAM,
      image: { registry: "docker.io", tag: SETTINGS.version, pullPolicy: "IfNotPresent" },
      replica: { enabled: true, replicas: 2, persistence: { size: "1Gi" } },
    };
    new k8s.helm.v4.Chart(UPSTREAM, { name: UPSTREAM, namespace, chart: path, values }, { provider });
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
