/** Pods that Pulumi has made, found to be broken: the API server is asked for their addresses and their password. */
import type { Sufferer } from "../../faults/break-all";
import { podObstacle } from "../../faults/obstacles";
import { PodBreaker } from "../../faults/pod-breaker";
import { Failure } from "../../lib/errors";
import type { Kubernetes } from "../../platforms/kubernetes/access";
import type { KubernetesTarget } from "../../platforms/target";
import { openKubernetes, openPods } from "../../platforms/target";
import { verify } from "../../valkey/verification/verify";
import { objectNames } from "../../components/kubernetes/names";
import { PASSWORD_FILE } from "../../components/kubernetes/server-config";
import type { Ground, Opened } from "./fault-targets";
import type { BrokenPlan, Pairing } from "../../stacks/plan/failure-plans";
import { podPlans } from "../../stacks/plan/failure-plans";
import type { PodPlatform } from "../../stacks/plan/pods";
import { podTarget, sentinelTarget } from "../../stacks/plan/pods";
import type { DeploymentConfig, StackConfig } from "../../stacks/config/schema/stack";

/** Pods that are to be broken run already: for one that is on its way. */
const WAIT_SECONDS = 60;

export class PodGround implements Ground {
  readonly title = "Find the pods, and verify";
  readonly obstacle = podObstacle;
  /** Nobody watches: pods that end are made anew. */
  readonly died = undefined;
  readonly plans: readonly BrokenPlan[];
  readonly #sufferers = new Map<string, Sufferer & { readonly breaker: PodBreaker }>();

  constructor(
    private readonly platform: PodPlatform,
    private readonly config: StackConfig,
    private readonly interruption: AbortSignal,
  ) {
    this.plans = podPlans(platform, config);
  }

  readonly sufferer = (deployment: string): Sufferer | undefined => this.#sufferers.get(deployment);

  readonly open = async (possible: readonly Pairing[], opened: Opened): Promise<string> => {
    const plans = this.plans.filter(({ name }) => possible.some(({ deployment }) => deployment === name));
    await Promise.all(plans.map(({ name }) => this.#openOne(name, opened)));
    return `Found and verified ${plans.map(({ name }) => name).join(" and ")} in namespace ${this.platform.namespace}`;
  };

  readonly stop = async (): Promise<void> => {
    const left = await Promise.all(
      [...this.#sufferers.values()].map(async ({ breaker }) => {
        breaker.close();
        return (await breaker.restore()).map((why) => `${breaker.deployment.name} may still be cut: ${why}`);
      }),
    );
    if (left.flat().length > 0) throw new Failure(`${left.flat().join("; ")}. The next npm start -- break of this stack heals it`);
  };

  async #openOne(name: string, opened: Opened): Promise<void> {
    const deployment = this.config.deployments[name];
    if (deployment === undefined) return;
    const target = targetOf(name, deployment, this.platform);
    const kubernetes = await openKubernetes(target);
    const pods = await openPods(kubernetes, target, await passwordOf(kubernetes, target), WAIT_SECONDS);
    const breaker = new PodBreaker(pods, { kubernetes, port: target.port, container: target.container, networkPolicy: objectNames(name).networkPolicy, signal: this.interruption });
    await breaker.healOld();
    const verification = await verify(pods);
    opened.verified(verification, null);
    this.#sufferers.set(name, { breaker, shape: target.shape, failsOver: target.mode === "cluster" || target.sentinel !== undefined, primaries: verification.verdict.shards.flatMap(({ primary }) => primary ?? []) });
  }
}

function targetOf(name: string, deployment: DeploymentConfig, platform: PodPlatform): KubernetesTarget {
  const access = platform.type === "kubernetes" ? { kubeconfig: platform.kubeconfig, context: platform.context } : {};
  return { ...podTarget(name, deployment, platform), ...access, ...sentinelTarget(name, deployment) };
}

/** From the Secret that the pods themselves have it from. @throws Failure when there is none, or it may not be read */
async function passwordOf(kubernetes: Kubernetes, { name, namespace }: KubernetesTarget): Promise<string> {
  const { secret } = objectNames(name);
  const found = await kubernetes.find(`reading Secret ${secret}`, kubernetes.core.readNamespacedSecret({ namespace, name: secret }));
  const text = found?.data?.[PASSWORD_FILE];
  if (text === undefined) throw new Failure(`namespace ${namespace} has no Secret ${secret} with a password: deploy the stack first (pulumi up)`);
  return Buffer.from(text, "base64").toString("utf8");
}
