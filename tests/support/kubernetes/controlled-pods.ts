/** A deployment of pods with its controller, whose looks and metrics can be read. */
import * as pulumi from "@pulumi/pulumi";
import { createController } from "../../../components/kubernetes/controller/controller";
import type { ControllerArgs, Tls } from "../../../components/kubernetes/arguments";
import { objectNames } from "../../../components/kubernetes/names";
import { statusInError } from "../../../platforms/kubernetes/api/api-errors";
import { plainServers } from "./server-args";
import { ControllerPod } from "./controller-pod";
import type { DeployedPods } from "./deployed-pods";
import { type KubernetesObject, renderObjects } from "./kubernetes-objects";
import { isReady } from "./throw-away";

const EVERYWHERE = new Set(["ClusterRole", "ClusterRoleBinding"]);

export class ControlledPods extends ControllerPod {
  private constructor(
    readonly pods: DeployedPods,
    private readonly objects: readonly KubernetesObject[],
  ) {
    super({ here: pods.here, name: pods.target.name });
  }

  static async open(pods: DeployedPods, args: ControllerArgs, tls?: Tls): Promise<ControlledPods> {
    const { target, here } = pods;
    const { name, namespace, zones } = target;
    const context = {
      deployment: name,
      names: objectNames(name),
      args: {
        ...{ ...plainServers, namespace, imagePullPolicy: "IfNotPresent" as const, tls },
        placement: { zones, hostAntiAffinity: "preferred" as const },
      },
      options: {},
    };
    const objects = await renderObjects(() => {
      createController(context, pulumi.output({ ...target, lease: context.names.controller }), args);
    });
    await here.apply(objects);
    const controlled = new ControlledPods(pods, objects);
    await controlled.#untilCurrent();
    return controlled;
  }

  /** Waits until the only pod of the controller is ready and has the arguments that were applied last. */
  async #untilCurrent(): Promise<void> {
    const { here, target } = this.pods;
    const name = this.lease;
    await here.until(120, async () => {
      const { metadata, status } = await here.apps.readNamespacedDeployment({ namespace: target.namespace, name });
      const isCurrent = status?.observedGeneration === metadata?.generation && status?.updatedReplicas === 1;
      return isCurrent && status.replicas === 1 && status.readyReplicas === 1
        ? undefined
        : "the controller is not ready";
    });
  }

  /** Whether a process holds the Lease of the deployment, as one that repairs it does. */
  async isLeaseHeld(): Promise<boolean> {
    const { here, target } = this.pods;
    const metadata = { name: objectNames(target.name).controller, namespace: target.namespace };
    const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata };
    return here.read(lease).then(
      (found) => Boolean((found as { spec?: { holderIdentity?: string } }).spec?.holderIdentity),
      (error: unknown) => {
        if (statusInError(error)?.code === 404) return false;
        throw error;
      },
    );
  }

  async deleteDeployment(isKilled: boolean): Promise<void> {
    const { here, target } = this.pods;
    const { namespace, name } = target;
    await here.apps.deleteNamespacedDeployment({ namespace, name: objectNames(name).controller });
    if (isKilled)
      for (const { metadata } of await this.controllerPods())
        await here.core
          .deleteNamespacedPod({ namespace, name: metadata?.name ?? "", gracePeriodSeconds: 0 })
          .catch(() => undefined);
    await here.until(60, async () => {
      const pods = await this.controllerPods();
      return pods.length === 0 ? undefined : "the controller's pod is still there";
    });
  }

  async createDeployment(): Promise<void> {
    await this.pods.here.apply(this.objects.filter(({ kind }) => kind === "Deployment"));
    await this.#untilCurrent();
  }

  /** Gives the deployment a new controller that knows nothing of former repairs, which are limited to six an hour. */
  async renew(): Promise<void> {
    const { here, target } = this.pods;
    const { namespace, name } = target;
    const { controller } = objectNames(name);
    const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name: controller, namespace } };
    const before = (await this.controllerPods()).map(({ metadata }) => metadata?.uid);
    // A controller that has repaired nothing has no Lease.
    await here.delete(lease).catch((error: unknown) => {
      if (statusInError(error)?.code !== 404) throw error;
    });
    for (const { metadata } of await this.controllerPods())
      await here.core.deleteNamespacedPod({ namespace, name: metadata?.name ?? "" });
    await here.until(60, async () => {
      const pods = await this.controllerPods();
      const isNew = pods.every((pod) => !before.includes(pod.metadata?.uid) && isReady(pod));
      return isNew && pods.length === 1 ? undefined : "the new controller is not ready";
    });
  }

  async close(): Promise<void> {
    for (const object of this.objects.filter(({ kind }) => EVERYWHERE.has(kind))) await this.pods.here.delete(object);
    await this.pods.close();
  }
}
