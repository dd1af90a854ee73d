/** Karpenter: the controller that starts and stops machines for pods. */
import * as k8s from "../../kubernetes/kubernetes-sdk";
import * as pulumi from "@pulumi/pulumi";
import type { KarpenterIdentity } from "./karpenter-identity";
import { KARPENTER_NAMESPACE, KARPENTER_SERVICE_ACCOUNT } from "./karpenter-identity";
import type { ControllerSize } from "../../../platforms/eks/scale/controller-size";
import { KARPENTER_REPLICAS } from "../../../platforms/eks/scale/controller-size";
import type { EksVersions } from "../aws/versions";

export interface KarpenterArgs {
  readonly clusterName: string;
  /** AWS region, such as `us-west-2`. */
  readonly region: string;
  /** Rights of the controller. They exist before the controller's pods start. */
  readonly identity: KarpenterIdentity;
  readonly versions: Pick<EksVersions, "karpenter">;
  /** Resources of each replica. */
  readonly size: ControllerSize;
}

const CHARTS = "oci://public.ecr.aws/karpenter";

/**
 * Karpenter's CRDs and its controller. Pulumi deletes the controller first, then the CRDs, then the rights of the
 * controller (`identity`). A resource whose machines Karpenter starts must depend on this component, so that the
 * controller outlives the last machine.
 */
export class Karpenter extends pulumi.ComponentResource {
  /**
   * @param opts `provider` is the Kubernetes provider of the cluster; `dependsOn` names the system machines, CoreDNS
   * and the Pod Identity agent
   */
  constructor(
    name: string,
    { clusterName, region, identity, versions, size }: KarpenterArgs,
    opts: pulumi.ComponentResourceOptions,
  ) {
    const definitions = { chart: `${CHARTS}/karpenter-crd`, version: versions.karpenter };
    const controller = { chart: `${CHARTS}/karpenter`, version: versions.karpenter };
    // Pulumi policies do not see the inputs of a chart, so the charts are also inputs of this component.
    super("valkey:eks:Karpenter", name, { charts: [definitions, controller] }, opts);

    const crds = new k8s.helmV4.Chart(
      `${name}-karpenter-crd`,
      { name: "karpenter-crd", ...definitions, namespace: KARPENTER_NAMESPACE },
      { parent: this },
    );
    new k8s.helmV4.Chart(
      `${name}-karpenter`,
      {
        name: "karpenter",
        ...controller,
        namespace: KARPENTER_NAMESPACE,
        skipCrds: true,
        values: {
          replicas: KARPENTER_REPLICAS,
          serviceAccount: { create: true, name: KARPENTER_SERVICE_ACCOUNT },
          settings: { clusterName, interruptionQueue: identity.queueName, eksControlPlane: true },
          controller: {
            // Without this variable the controller asks the machine's metadata service, which pods cannot reach: its
            // hop limit is 1.
            env: [{ name: "AWS_REGION", value: region }],
            resources: resourcesOf(size),
          },
        },
      },
      { parent: this, dependsOn: [crds, identity] },
    );
    this.registerOutputs({});
  }
}

function resourcesOf({ cpuMilli, memoryMiB }: ControllerSize): object {
  const memory = `${memoryMiB}Mi`;
  return { requests: { cpu: `${cpuMilli}m`, memory }, limits: { memory } };
}
