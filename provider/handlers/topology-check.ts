/** Verifies a deployment. */
import type { TopologyRecord } from "../../benchmarks/results/schema";
import { topologyOf } from "../../benchmarks/results/topology";
import { Failure } from "../../lib/errors";
import type { DeploymentReference } from "../../platforms/deployment-reference";
import { openDeployment } from "../../platforms/deployment-reference";
import { tellZones } from "../../valkey/availability-zone";
import { formatVerification } from "../../valkey/verification/format";
import { verifyUntilPass } from "../../valkey/verification/verify";
import { loosenBudgets } from "../budgets";
import { inspectDeployment } from "../drift";
import type { ResourceHandler } from "../resource-handler";
import { waitOptions } from "../waiting";

export interface TopologyCheckInputs {
  readonly target: DeploymentReference;
  readonly password: string;
  /** Duration of the formation: a new formation needs a new check. Null where the deployment forms without help. */
  readonly formationMs: number | null;
  /** Revision of the pods: another one restarts them. Null where a restart is always a replacement. */
  readonly revision: string | null;
  /** Time of the last roll-out, ISO 8601: it needs a new check. Undefined where none is known */
  readonly rolledOutAt?: string | undefined;
  /** Time limit for pods to run, and then for replicas to link and catch up. */
  readonly timeoutSeconds: number;
  /** Any number. Another one runs the check again. */
  readonly trigger: number;
}

export interface TopologyCheckOutputs {
  /** As found, with every row of the verdict. */
  readonly topology: TopologyRecord;
  /** When the deployment was verified, ISO 8601. */
  readonly verifiedAt: string;
  /** Assertions that `pulumi refresh` found to fail, a sentence each; empty when all hold. */
  readonly drift: readonly string[];
}

/** Pods are ready a little before primaries count their replicas and all views agree. */
const SETTLING_MS = 30_000;

/**
 * Changes no server. A failure leaves the record of the last verification that passed, and lets one pod of a cluster be evicted at a
 * time if nodes have moved; the next update verifies again, whatever changed.
 */
export const handler: ResourceHandler<TopologyCheckInputs, TopologyCheckOutputs> = {
  recordsAttempts: true,
  create: async ({ target, password, formationMs, timeoutSeconds }, context) => {
    const options = waitOptions(target.name, timeoutSeconds, context);
    const deployment = await openDeployment(target, password, options);
    // Before anything is judged: no file tells a server where its pod was scheduled.
    await tellZones(deployment);
    const { timeoutMs: healingMs, signal, report } = options;
    const verification = await verifyUntilPass(deployment, { settlingMs: SETTLING_MS, healingMs, signal, report });
    if (!verification.verdict.pass) {
      const rows = formatVerification(verification).join("\n");
      throw new Failure(
        `${target.name} does not pass verification\n${rows}\nNothing is rolled back. The next update verifies again.`,
      );
    }
    await loosenBudgets(target, verification.verdict.shards);
    const topology = topologyOf(verification, formationMs);
    return { id: target.name, outputs: { topology, verifiedAt: new Date().toISOString(), drift: [] } };
  },
  read: async (_id, { target, password, topology, verifiedAt, formationMs }, { signal }) => {
    const { verification, drift } = await inspectDeployment(target, password, signal);
    if (drift.length === 0 || verification === undefined) return { topology, verifiedAt, drift };
    return { topology: topologyOf(verification, formationMs), verifiedAt: new Date().toISOString(), drift };
  },
  drifted: ({ drift }) => drift.length > 0,
};
