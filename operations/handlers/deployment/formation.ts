/** The formation of a cluster, and the end of former passwords, for which pods and clients need the longest. */
import { inParts } from "../../protocol/in-parts";
import { type PasswordRetirementInputs, handler as passwords } from "./password-retirement";
import type { DeploymentReference } from "../../../platforms/deployment-reference";
import { form } from "../../../valkey/formation/form";
import { tightenBudgets } from "../../changes/budgets";
import { inspectDeployment } from "../../inspection/drift";
import type { ResourceHandler } from "../../protocol/resource-handler";
import { openForUpdate } from "../../protocol/opening";

interface ClusterFormationInputs {
  readonly target: DeploymentReference;
  readonly password: string;
  /** ISO 8601, null if no nodes gave away all their slots. A cluster with emptied nodes needs a new formation. */
  readonly emptiedAt?: string | null | undefined;
  readonly timeoutSeconds: number;
}

interface ClusterFormationOutputs {
  /** Milliseconds between the time when all nodes run and the time when the cluster serves; null in replication mode. */
  readonly milliseconds: number | null;
  /** Problems that `pulumi refresh` found, which a new formation repairs. */
  readonly drift: readonly string[];
}

/**
 * Forms a cluster; in replication mode there is nothing to form. A failure in a new cluster leaves a cluster that is formed in part. A failure in an existing
 * cluster leaves some slots at their former primaries and some at their new primaries, but all slots are served.
 * Directives that the formation changes for a time are restored, also after an interruption. The next update continues
 * from the state that the nodes report, even if it goes back to the former shape.
 */
const cluster: ResourceHandler<ClusterFormationInputs, ClusterFormationOutputs> = {
  recordsAttempts: true,
  create: async ({ target, password, timeoutSeconds }, context) => {
    if (target.mode !== "cluster") return { id: target.name, outputs: { milliseconds: null, drift: [] } };
    const { deployment, options } = await openForUpdate({ target, password, timeoutSeconds }, context);
    // While shards change, Kubernetes may evict one pod at a time. A new deployment has this budget already.
    await tightenBudgets(target);
    const { timeoutMs } = options;
    const { milliseconds } = await form(deployment, target.shape, { timeoutMs, signal: context.signal });
    return { id: target.name, outputs: { milliseconds, drift: [] } };
  },
  read: async (_id, { target, password, milliseconds }, { signal }) => ({
    milliseconds,
    drift: target.mode === "cluster" ? (await inspectDeployment(target, password, { signal })).drift : [],
  }),
  drifted: ({ drift }) => drift.length > 0,
};

export type FormationInputs = ClusterFormationInputs & PasswordRetirementInputs;

export interface FormationOutputs {
  readonly cluster: ClusterFormationOutputs;
  readonly passwords: object;
}

export const handler = inParts<FormationInputs, FormationOutputs>({ cluster, passwords });
