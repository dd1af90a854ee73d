/** A stack on a real Kubernetes: brought from one stack file to the next as `pulumi up` does it. */
import { objectNames } from "../../../components/kubernetes/names";
import type { KubernetesReference } from "../../../platforms/deployment-reference";
import { parseConfig } from "../../../stacks/config/parse";
import { program } from "../../../stacks/program/program";
import { type Update, SmallEngine } from "../pulumi/small-engine";
import type { KubernetesObject } from "./kubernetes-objects";
import { KUBECONFIG, ThrowAway } from "./throw-away";

/** As much as servers need on machines that share two processors. */
const RESOURCES = { requests: { cpu: "50m", memory: "64Mi" }, limits: { cpu: "1", memory: "256Mi" } };
const MACHINE = { cores: 2, memoryBytes: 2 ** 34 };

export interface Sections {
  readonly platform?: object;
  readonly deployments: Readonly<Record<string, object>>;
}

export class LiveStack {
  readonly #engine: SmallEngine;
  readonly #everywhere: KubernetesObject[] = [];
  #sections: Sections = { deployments: {} };

  private constructor(
    readonly here: ThrowAway,
    readonly zones: readonly string[],
    private readonly createNamespace: boolean,
  ) {
    this.#engine = new SmallEngine({
      apply: (object) => this.#apply(object),
      read: (object) => here.read(object),
      delete: (object) => here.delete(object),
    });
  }

  /** @param ownsNamespace whether the stack creates its namespace; otherwise there is one already */
  static async open(name: string, ownsNamespace: boolean): Promise<LiveStack> {
    const here = ownsNamespace
      ? await ThrowAway.at(`valkey-test-${name}-${process.pid}-${Date.now().toString(36)}`)
      : await ThrowAway.open();
    return new LiveStack(here, (await here.zones()).slice(0, 3), ownsNamespace);
  }

  async up(sections: Sections, killedBefore?: string): Promise<Update> {
    this.#sections = sections;
    try {
      return await this.#engine.up(this.#program(sections), killedBefore);
    } finally {
      await this.#releaseLeases();
    }
  }

  preview(sections: Sections): ReturnType<SmallEngine["preview"]> {
    return this.#engine.preview(this.#program(sections));
  }

  async repair(): Promise<Update> {
    await this.#engine.refresh();
    return this.up(this.#sections);
  }

  refresh(): Promise<void> {
    return this.#engine.refresh();
  }

  state(kind: string, name: string): Readonly<Record<string, unknown>> | undefined {
    return this.#engine.state(kind, name);
  }

  target(name: string): KubernetesReference {
    return this.#stateOf(name)["target"] as KubernetesReference;
  }

  password(name: string): string {
    return plain(this.#stateOf(name)["password"]) as string;
  }

  #stateOf(name: string): Readonly<Record<string, unknown>> {
    const state = this.state("DeploymentVerification", name);
    if (state === undefined) throw new Error(`${name} is not deployed`);
    return state;
  }

  #program({ platform = {}, deployments }: Sections): () => unknown {
    const config = parseConfig(
      "test",
      {
        platform: {
          ...{ type: "kubernetes", kubeconfig: KUBECONFIG, namespace: this.here.namespace, zones: this.zones },
          createNamespace: this.createNamespace,
          ...{ imagePullPolicy: "IfNotPresent", resources: RESOURCES, storage: { size: "1Gi" }, ...platform },
        },
        verification: { timeout: 240 },
        deployments,
      },
      MACHINE,
    );
    return () => program("test", config);
  }

  /** The process of a provider ends with its update, and so does its Lease. */
  async #releaseLeases(): Promise<void> {
    for (const name of Object.keys(this.#sections.deployments)) {
      const metadata = { name: objectNames(name).controller, namespace: this.here.namespace };
      await this.here.delete({ apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata }).catch(() => undefined);
    }
  }

  async #apply(object: KubernetesObject): Promise<KubernetesObject> {
    await this.here.apply([object]);
    if (object.metadata.namespace === undefined && object.kind !== "Namespace") this.#everywhere.push(object);
    if (object.kind === "Deployment") await this.#untilRolledOut(object);
    return (await this.here.read(object)) as KubernetesObject;
  }

  #untilRolledOut({ metadata: { name } }: KubernetesObject): Promise<void> {
    return this.here.until(120, async () => {
      const { namespace } = this.here;
      const { metadata, spec, status } = await this.here.apps.readNamespacedDeployment({ namespace, name });
      const isCurrent = status?.observedGeneration === metadata?.generation;
      const wanted = spec?.replicas ?? 1;
      return isCurrent && status?.updatedReplicas === wanted && status.readyReplicas === wanted
        ? undefined
        : `Deployment ${name} is not rolled out`;
    });
  }

  /** `pulumi destroy`. Waits until no pod and no volume is left. */
  async destroy(): Promise<void> {
    await this.#engine.destroy();
    const { core, namespace } = this.here;
    await this.here.until(60, async () => {
      const names = Object.keys(this.#sections.deployments);
      const pods = await Promise.all(names.map((name) => this.here.pods({ "app.kubernetes.io/instance": name })));
      const claims = await core.listNamespacedPersistentVolumeClaim({ namespace });
      const left = [...pods.flat(), ...claims.items].map(({ metadata }) => metadata?.name);
      return left.length === 0 ? undefined : `left: ${left.join(", ")}`;
    });
  }

  async close(): Promise<void> {
    for (const object of this.#everywhere) await this.here.delete(object).catch(() => undefined);
    // An update that failed at its beginning has not made it.
    if (await this.here.exists()) await this.here.close();
  }
}

const plain = (value: unknown): unknown =>
  typeof value === "object" && value !== null && "value" in value ? value.value : value;
