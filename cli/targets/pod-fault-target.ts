import type { FaultSubject } from "../../faults/scenarios/scenario-run";
import { unmetPodPrecondition } from "../../faults/injectors/preconditions";
import { PodFaultInjector } from "../../faults/injectors/pod-injector";
import { Failure } from "../../lib/errors";
import type { KubernetesClient } from "../../platforms/kubernetes/api/client";
import type { KubernetesReference } from "../../platforms/deployment-reference";
import { openKubernetesClient, openPodDeployment } from "../../platforms/deployment-reference";
import { verify } from "../../valkey/verification/verify";
import { objectNames } from "../../components/kubernetes/names";
import { PASSWORD_FILE } from "../../components/kubernetes/server-config";
import type { FaultTarget, FaultTargetListener } from "./fault-targets";
import { type SubjectPlan, type PlannedScenarioRun, podSubjectPlans } from "../../stacks/plan/scenario-runs";
import { type PodPlatform, podTarget } from "../../stacks/plan/pod-settings";
import type { DeploymentConfig } from "../../stacks/config/schema/deployments";
import type { StackConfig } from "../../stacks/config/schema/stack";
import { COMMAND } from "../../lib/system/package";

const WAIT_SECONDS = 60;

export class PodFaultTarget implements FaultTarget {
  readonly title = "Find the pods, and verify";
  readonly unmetPrecondition = unmetPodPrecondition;
  readonly plans: readonly SubjectPlan[];
  readonly #subjects = new Map<string, FaultSubject & { readonly injector: PodFaultInjector }>();

  constructor(
    private readonly platform: PodPlatform,
    private readonly config: StackConfig,
    private readonly interruption: AbortSignal,
  ) {
    this.plans = podSubjectPlans(platform, config);
  }

  readonly subject = (deployment: string): FaultSubject | undefined => this.#subjects.get(deployment);

  readonly open = async (possible: readonly PlannedScenarioRun[], opened: FaultTargetListener): Promise<string> => {
    const plans = this.plans.filter(({ name }) => possible.some(({ deployment }) => deployment === name));
    await Promise.all(plans.map(({ name }) => this.#openOne(name, opened)));
    return `Found and verified ${plans.map(({ name }) => name).join(" and ")} in namespace ${this.platform.namespace}`;
  };

  readonly stop = async (): Promise<void> => {
    const left = await Promise.all(
      [...this.#subjects.values()].map(async ({ injector }) => {
        injector.close();
        return (await injector.restore()).map(
          (why) => `the network of ${injector.deployment.name} may still be cut: ${why}`,
        );
      }),
    );
    if (left.flat().length > 0)
      throw new Failure(
        `${left.flat().join("; ")}. The next run of ${COMMAND} break on this stack restores the network`,
      );
  };

  async #openOne(name: string, opened: FaultTargetListener): Promise<void> {
    const deployment = this.config.deployments[name];
    if (deployment === undefined) return;
    const target = targetOf(name, deployment, this.platform);
    const kubernetes = await openKubernetesClient(target);
    const pods = await openPodDeployment(kubernetes, target, await passwordOf(kubernetes, target), {
      timeoutMs: WAIT_SECONDS * 1000,
    });
    const injector = new PodFaultInjector(pods, {
      kubernetes,
      container: target.container,
      networkPolicy: objectNames(name).networkPolicy,
      signal: this.interruption,
    });
    await injector.healLeftoverCut();
    const verification = await verify(pods);
    opened.onVerified(verification, null);
    this.#subjects.set(name, {
      injector,
      shape: target.shape,
      hasAutomaticFailover: target.mode === "cluster" || target.sentinel !== undefined,
      initialPrimaries: verification.verdict.shards.flatMap(({ primary }) => primary ?? []),
    });
  }
}

function targetOf(name: string, deployment: DeploymentConfig, platform: PodPlatform): KubernetesReference {
  const access = platform.type === "kubernetes" ? { kubeconfig: platform.kubeconfig, context: platform.context } : {};
  return { ...podTarget(name, deployment, platform), ...access };
}

async function passwordOf(
  kubernetes: KubernetesClient,
  { statefulSet, namespace }: KubernetesReference,
): Promise<string> {
  const { secret } = objectNames(statefulSet);
  const found = await kubernetes.find(
    `reading Secret ${secret}`,
    kubernetes.core.readNamespacedSecret({ namespace, name: secret }),
  );
  const text = found?.data?.[PASSWORD_FILE];
  if (text === undefined)
    throw new Failure(
      `namespace ${namespace} has no Secret ${secret} with a password: deploy the stack first (pulumi up)`,
    );
  return Buffer.from(text, "base64").toString("utf8");
}
