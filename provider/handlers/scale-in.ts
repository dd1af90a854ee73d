/** Empties the nodes that a smaller shape removes. */
import type { DeploymentReference } from "../../platforms/deployment-reference";
import { openDeployment } from "../../platforms/deployment-reference";
import { form } from "../../valkey/formation/form";
import { nodeCount } from "../../valkey/topology/placement";
import type { ResourceHandler } from "../resource-handler";
import { waitOptions } from "../waiting";

export interface ScaleInInputs {
  readonly target: DeploymentReference;
  readonly password: string;
  /** Time limit of the change. */
  readonly timeoutSeconds: number;
}

export interface ScaleInOutputs {
  /** Time when nodes were last emptied, or perhaps were, ISO 8601: a new formation is due. Undefined when never */
  readonly emptiedAt?: string | undefined;
}

/**
 * A failure leaves slots anywhere between their former and their new primaries, all served, and emptied nodes outside the cluster. The
 * next update with fewer nodes goes on; one with the former number has `Formation` take the nodes in again.
 */
export const handler: ResourceHandler<ScaleInInputs, ScaleInOutputs> = {
  announce: ({ target: before }, { target: after = before }) => {
    const [from, to] = [nodeCount(before.shape), nodeCount(after.shape)];
    if (from === to) return [];
    const how = after.mode === "cluster" ? "slots move while clients work" : "the last replicas join or leave";
    return [`${from} nodes become ${to}: ${how}, in about a minute, longer with much data; no node restarts`];
  },
  create: ({ target }) => Promise.resolve({ id: target.name, outputs: {} }),
  recordsAttempts: true,
  update: async (_id, olds, { target, password, timeoutSeconds }, context, attempts = []) => {
    const before = nodeCount(olds.target.shape);
    const after = nodeCount(target.shape);
    const { emptiedAt } = olds;
    const now = new Date().toISOString();
    if (target.mode !== "cluster" || after >= before) return { emptiedAt: attempts.length > 0 ? now : emptiedAt };
    const options = waitOptions(target.name, timeoutSeconds, context);
    const deployment = await openDeployment(olds.target, password, options);
    // Kubernetes deletes the pods with the highest ordinals.
    const staying = { ...deployment, shape: target.shape, nodes: deployment.nodes.slice(0, after) };
    const leaving = deployment.nodes.slice(after);
    await form(staying, target.shape, { leaving, timeoutMs: options.timeoutMs, signal: context.signal });
    return { emptiedAt: now };
  },
};
