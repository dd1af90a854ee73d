/** Forms a cluster from running nodes. */
import type { DeploymentReference } from "../../platforms/deployment-reference";
import { openDeployment } from "../../platforms/deployment-reference";
import { form } from "../../valkey/formation/form";
import { tightenBudgets } from "../updates/budgets";
import { inspectDeployment } from "../updates/drift";
import type { ResourceHandler } from "../protocol/resource-handler";
import { waitOptions } from "../protocol/waiting";

export interface FormationInputs {
  readonly target: DeploymentReference;
  readonly password: string;
  /** Time when nodes were last emptied: they need a new formation. Undefined when never */
  readonly emptiedAt?: string | undefined;
  /** Time limit of the formation. */
  readonly timeoutSeconds: number;
}

export interface FormationOutputs {
  /** From running nodes to a cluster that serves. */
  readonly milliseconds: number;
  /** Problems that `pulumi refresh` found and a new formation repairs, a sentence each; empty when there are none. */
  readonly drift: readonly string[];
}

/**
 * A failure leaves a cluster that is formed in part, or slots between their former and their new primaries, all served; directives that
 * are changed meanwhile are restored, after an interruption too. The next update goes on from what the nodes say, also to the former shape.
 */
export const handler: ResourceHandler<FormationInputs, FormationOutputs> = {
  recordsAttempts: true,
  create: async ({ target, password, timeoutSeconds }, context) => {
    const options = waitOptions(target.name, timeoutSeconds, context);
    const deployment = await openDeployment(target, password, options);
    await tightenBudgets(target);
    const { milliseconds } = await form(deployment, target.shape, {
      timeoutMs: options.timeoutMs,
      signal: context.signal,
    });
    return { id: target.name, outputs: { milliseconds, drift: [] } };
  },
  read: async (_id, { target, password, milliseconds }, { signal }) => ({
    milliseconds,
    drift: (await inspectDeployment(target, password, { signal })).drift,
  }),
  drifted: ({ drift }) => drift.length > 0,
};
