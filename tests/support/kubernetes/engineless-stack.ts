/** A deployment of a stack in pods, brought from one configuration to the next as Pulumi's engine would, without an engine. */
import type { TopologyRecord } from "../../../valkey/verification/topology-record";
import type { KubernetesReference } from "../../../platforms/deployment-reference";
import { handler as formation } from "../../../provider/handlers/formation";
import type { RolloutOutputs } from "../../../provider/handlers/rollout";
import { handler as rollout } from "../../../provider/handlers/rollout";
import { handler as scaleIn } from "../../../provider/handlers/scale-in";
import type {
  DeploymentVerificationInputs,
  DeploymentVerificationOutputs,
} from "../../../provider/handlers/checks/deployment-verification";
import { handler as verificationHandler } from "../../../provider/handlers/checks/deployment-verification";
import { parseConfig } from "../../../stacks/config/parse";
import { deployOnKubernetes } from "../../../stacks/program/platforms/kubernetes";
import { HANDLER_CONTEXT } from "../pulumi/handler-context";
import { outputValue } from "../pulumi/pulumi-mocks";
import type { KubernetesObject } from "./kubernetes-objects";
import { renderObjects } from "./kubernetes-objects";
import type { ThrowAway } from "./throw-away";
import { KUBECONFIG } from "./throw-away";

/** The password that the mocks generate. */
export const PASSWORD = "generated";
const TIMEOUT_SECONDS = 120;
const STORAGE = { size: "1Gi", template: "data", ephemeral: false, onDestroy: "delete" } as const;

export class EnginelessStack {
  #target: KubernetesReference | undefined;
  #objects: readonly KubernetesObject[] = [];
  #checked: (DeploymentVerificationInputs & DeploymentVerificationOutputs) | undefined;

  /** @param name of the deployment, in that namespace and those zones */
  constructor(
    private readonly here: ThrowAway,
    private readonly name: string,
    private readonly zones: readonly string[],
  ) {}

  /** The deployment as it was brought up last. */
  get target(): KubernetesReference {
    if (this.#target === undefined) throw new Error("nothing is deployed");
    return this.#target;
  }

  /** @param deployment as in a stack file */
  async render(deployment: object): Promise<{ objects: KubernetesObject[]; target: KubernetesReference }> {
    const { name, zones } = this;
    const config = parseConfig(
      `stack ${name}`,
      {
        platform: {
          type: "kubernetes",
          kubeconfig: KUBECONFIG,
          namespace: this.here.namespace,
          zones: zones.slice(0, 3),
          imagePullPolicy: "IfNotPresent",
          resources: { requests: { cpu: "50m", memory: "64Mi" }, limits: { cpu: "1", memory: "256Mi" } },
          storage: { size: STORAGE.size },
        },
        deployments: { [name]: deployment },
      },
      { cores: 2, memoryBytes: 2 ** 34 },
    );
    const { platform } = config;
    if (platform.type !== "kubernetes") throw new Error("another platform was asked for");
    let deployed: ReturnType<typeof deployOnKubernetes> = [];
    const objects = await renderObjects(() => {
      deployed = deployOnKubernetes(name, platform, config);
    });
    const [first] = deployed;
    if (first === undefined) throw new Error("nothing is deployed");
    return { objects, target: (await outputValue(first.component.reference)) as KubernetesReference };
  }

  /** The objects that an update applies: without those that it made before and that custom resources have changed since. */
  managed(objects: readonly KubernetesObject[], { lead }: KubernetesReference): KubernetesObject[] {
    const known = new Set(this.#objects.map(idOf));
    const left = new Set([
      ...[`PodDisruptionBudget ${this.name}`, `ConfigMap ${lead?.configMap}`],
      ...(lead?.services ?? []).map((service) => `Service ${service}`),
    ]);
    return objects.filter((object) => !known.has(idOf(object)) || !left.has(idOf(object)));
  }

  /** Outputs of the roll-out as a refresh finds them. */
  async refreshed(): Promise<RolloutOutputs | undefined> {
    const state = { target: this.target, password: PASSWORD, revision: "", storage: STORAGE };
    return rollout.read?.("", { ...state, timeoutSeconds: TIMEOUT_SECONDS }, HANDLER_CONTEXT);
  }

  /** Does what comes before servers change. @param attempts targets of updates that failed */
  async ready(target: KubernetesReference, attempts: readonly KubernetesReference[] = []): Promise<void> {
    if (this.#target === undefined) return;
    const inputsOf = (each: KubernetesReference): Parameters<typeof scaleIn.create>[0] => ({
      target: each,
      password: PASSWORD,
      timeoutSeconds: TIMEOUT_SECONDS,
    });
    const olds = { ...inputsOf(this.#target), emptiedAt: null };
    await scaleIn.update?.("", olds, inputsOf(target), HANDLER_CONTEXT, attempts.map(inputsOf));
  }

  /** Applies objects in the engine's order, and deletes at the end those that are not wanted any more. @returns the record of the verification */
  async bringTo(deployment: object): Promise<TopologyRecord> {
    const { objects, target } = await this.render(deployment);
    const [password, timeoutSeconds] = [PASSWORD, TIMEOUT_SECONDS];
    const former = this.#target;
    await this.ready(target);
    await this.here.apply(this.managed(objects, target));
    const rolled = { password, revision: "", storage: STORAGE, timeoutSeconds };
    if (former === undefined) await rollout.create({ ...rolled, target }, HANDLER_CONTEXT);
    else await rollout.update?.("", { ...rolled, target: former }, { ...rolled, target }, HANDLER_CONTEXT);
    const formed =
      target.mode === "cluster"
        ? await formation.create({ target, password, timeoutSeconds }, HANDLER_CONTEXT)
        : undefined;
    const formationMs = formed?.outputs.milliseconds ?? null;
    const inputs = { target, password, formationMs, revision: null, timeoutSeconds, trigger: 1 };
    const outputs =
      this.#checked === undefined
        ? (await verificationHandler.create(inputs, HANDLER_CONTEXT)).outputs
        : await verificationHandler.update?.("", this.#checked, inputs, HANDLER_CONTEXT);
    if (outputs === undefined) throw new Error("nothing was checked");
    const wanted = new Set(objects.map(idOf));
    for (const object of this.#objects) if (!wanted.has(idOf(object))) await this.here.delete(object);
    [this.#target, this.#objects, this.#checked] = [target, objects, { ...inputs, ...outputs }];
    return outputs.topology;
  }
}

const idOf = ({ kind, metadata: { name } }: KubernetesObject): string => `${kind} ${name}`;
