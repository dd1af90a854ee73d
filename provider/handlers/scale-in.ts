/** Empties the nodes that a smaller shape removes, and refuses changes that would delete volumes with data. */
import { compact } from "../../lib/compact";
import type { DeploymentReference, KubernetesReference } from "../../platforms/deployment-reference";
import { openDeployment, openKubernetesClient } from "../../platforms/deployment-reference";
import { boundClaims } from "../../platforms/kubernetes/volumes";
import { form } from "../../valkey/formation/form";
import { nodeCount } from "../../valkey/topology/placement";
import type { InputProblem, ResourceHandler } from "../resource-handler";
import { waitOptions } from "../waiting";

export interface ScaleInInputs {
  readonly target: DeploymentReference;
  readonly password: string;
  /** Time limit of the change. */
  readonly timeoutSeconds: number;
  /** Volume of each node. */
  readonly storage: VolumeRequest;
}

export interface VolumeRequest {
  /** @default the cluster's default class */
  readonly className?: string | undefined;
  readonly size: string;
}

const describe = ({ size, className }: VolumeRequest): string =>
  `${size} of ${className === undefined ? "the default class" : `class ${className}`}`;

/** Changes that Kubernetes makes only by another StatefulSet, which deletes all pods and their volumes. */
function replacements(
  olds: ScaleInInputs,
  before: KubernetesReference,
  after: KubernetesReference,
  storage: VolumeRequest,
): InputProblem[] {
  const [from, to] = [describe(olds.storage), describe(storage)];
  const { name, namespace } = before;
  return compact([
    from === to ? undefined : { property: "storage", reason: `volumes of ${from} cannot become ${to}` },
    after.namespace === namespace
      ? undefined
      : { property: "target.namespace", reason: `${name} cannot move from ${namespace} to ${after.namespace}` },
  ]);
}

/** @returns why volumes that hold data keep the change from being made */
async function refusals(olds: ScaleInInputs, { target, storage }: Partial<ScaleInInputs>): Promise<InputProblem[]> {
  const before = olds.target;
  if (before.platform !== "kubernetes" || target?.platform !== "kubernetes" || storage === undefined) return [];
  const changes = replacements(olds, before, target, storage);
  if (changes.length === 0) return [];
  const claims = await boundClaims(await openKubernetesClient(before), before.namespace, before.statefulSet);
  const [first] = claims;
  if (first === undefined) return [];
  const why =
    `the ${claims.length} volumes of ${before.name} (${first} …) hold its data, and new volumes start empty. ` +
    "Undo the change; or deploy a second stack and move the data; or destroy this stack first, with its data";
  return changes.map(({ property, reason }) => ({ property, reason: `${reason}: ${why}` }));
}

export const handler: ResourceHandler<ScaleInInputs, object> = {
  check: async (olds, news) => (olds === undefined ? [] : refusals(olds, news)),
  announce: ({ target: before }, { target: after = before }) => {
    const [from, to] = [nodeCount(before.shape), nodeCount(after.shape)];
    if (from === to) return [];
    const how = after.mode === "cluster" ? "slots move while clients work" : "the last replicas join or leave";
    return [`${from} nodes become ${to}: ${how}; no node restarts`];
  },
  create: ({ target }) => Promise.resolve({ id: target.name, outputs: {} }),
  update: async (_id, olds, { target, password, timeoutSeconds }, context) => {
    const before = nodeCount(olds.target.shape);
    const after = nodeCount(target.shape);
    if (target.mode !== "cluster" || after >= before) return {};
    const options = waitOptions(target.name, timeoutSeconds, context);
    const deployment = await openDeployment(olds.target, password, options);
    // Kubernetes deletes the pods with the highest ordinals.
    const staying = { ...deployment, shape: target.shape, nodes: deployment.nodes.slice(0, after) };
    const leaving = deployment.nodes.slice(after);
    await form(staying, target.shape, { leaving, timeoutMs: options.timeoutMs });
    return {};
  },
};
