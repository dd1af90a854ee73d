/** Services for clients outside the Kubernetes cluster. */
import type { types } from "@pulumi/kubernetes";
import { POD_NAME_LABEL } from "../../../platforms/kubernetes/pods/running-pods";
import { type Problem, problem } from "../../../lib/errors";
import { type DeploymentContext, type DeploymentKind, ENGINE_ANNOTATIONS, objectMetadata } from "../deployment-context";
import { externalProblems } from "../external-problems";
import * as k8s from "../kubernetes-sdk";
import { CLIENT_PORT } from "../layout";
import { leadToPrimary } from "./server-objects";
import { objectNames, selectorLabels } from "../names";
import type { ExternalReach } from "../../../model/deployment";
import type { ServerArgs } from "../arguments";
import { nodeCount } from "../../../valkey/topology/placement";

const LONGEST = 63;

/** One for each node in the order of the pods; in replication mode for the primary, then for all nodes. */
export function externalServices(
  deployment: string,
  { mode, shape }: Pick<DeploymentKind, "mode" | "shape">,
): readonly string[] {
  const { statefulSet, external, externalRead } = objectNames(deployment);
  if (mode === "replication") return [external, externalRead];
  return Array.from({ length: nodeCount(shape) }, (_, index) => `${statefulSet}-${index}-external`);
}

/** Problems of the settings for clients outside the Kubernetes cluster, and of the names of their Services. */
export function reachProblems(deployment: string, kind: DeploymentKind, external: ExternalReach): Problem[] {
  const tooLong = externalServices(deployment, kind).find((name) => name.length > LONGEST);
  const limit = `a Service would be named ${tooLong}; its name may have at most ${LONGEST} characters`;
  return [...externalProblems(external), ...(tooLong === undefined ? [] : [problem("name-too-long", "", limit)])];
}

/** Routes to its node even while that is not ready, because other nodes send clients to the Service. */
export function createNodeServices(context: DeploymentContext, nodes: number): void {
  const { deployment, names } = context;
  const shape = { primaries: nodes, replicasPerPrimary: 0 };
  for (const [index, name] of externalServices(deployment, { mode: "cluster", shape }).entries())
    createExternalService(context, name, {
      publishNotReadyAddresses: true,
      selector: { ...selectorLabels(deployment), [POD_NAME_LABEL]: `${names.statefulSet}-${index}` },
    });
}

/** @param proxies proxies in front of the primary. @default no proxies */
export function createReplicationServices(context: DeploymentContext, proxies?: k8s.apps.v1.Deployment): void {
  const { deployment, names } = context;
  const { selector, options } = leadToPrimary(context, proxies);
  createExternalService(context, names.external, { selector }, options);
  createExternalService(context, names.externalRead, { selector: selectorLabels(deployment) });
}

/** Creates a Service for clients outside the Kubernetes cluster; does nothing without `external`. */
function createExternalService(
  context: DeploymentContext,
  name: string,
  spec: Pick<types.input.core.v1.ServiceSpec, "selector" | "publishNotReadyAddresses">,
  options = context.options,
): void {
  const { external }: ServerArgs = context.args;
  if (external === undefined) return;
  const { type, annotations, sourceRanges } = external;
  new k8s.core.v1.Service(
    name,
    {
      metadata: {
        ...objectMetadata(context, name, "external"),
        // Pulumi does not wait for an address. `Rollout` does, and reports why there is none.
        annotations: { ...annotations, ...ENGINE_ANNOTATIONS },
      },
      spec: {
        type,
        ...spec,
        ports: [{ name: "valkey", port: CLIENT_PORT, targetPort: CLIENT_PORT }],
        ...(sourceRanges === undefined ? {} : { loadBalancerSourceRanges: [...sourceRanges] }),
      },
    },
    options,
  );
}
