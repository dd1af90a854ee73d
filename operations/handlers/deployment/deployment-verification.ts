import { type TopologyRecord, topologyOf } from "../../../valkey/verification/topology-record";
import { Failure } from "../../../lib/errors";
import type { DeploymentReference } from "../../../platforms/deployment-reference";
import { tellZones } from "../../../valkey/availability-zone";
import { formatVerification } from "../../../valkey/verification/format";
import type { SeenData } from "../../../valkey/verification/facts";
import { seenData } from "../../../valkey/verification/kept-data";
import { compareData, verifyUntilPass } from "../../../valkey/verification/verify";
import { loosenBudgets } from "../../changes/budgets";
import { inspectDeployment } from "../../inspection/drift";
import { type HandlerContext, type ResourceHandler, FailedButSeen } from "../../protocol/resource-handler";
import { openForUpdate } from "../../protocol/opening";

export interface DeploymentVerificationInputs {
  readonly target: DeploymentReference;
  readonly password: string;
  /** Milliseconds; null without a formation step. A new formation changes it, so the deployment is verified again. */
  readonly formationMs: number | null;
  /** A changed revision of the pods verifies again; null if servers are replaced instead of restarted. */
  readonly revision: string | null;
  /** ISO 8601. A new roll-out changes it, so the deployment is verified again. */
  readonly rolledOutAt?: string | undefined;
  /** After that, replicas have the same time again to link and catch up. */
  readonly timeoutSeconds: number;
  /** Change this number to run the check again. */
  readonly trigger: number;
}

export interface DeploymentVerificationOutputs {
  /** Topology that the verification found, with every assertion of the verdict. */
  readonly topology: TopologyRecord;
  /** Data that the last `pulumi up` found, with which the next one compares. */
  readonly data: SeenData;
  /** Time when the deployment was verified, ISO 8601. */
  readonly verifiedAt: string;
  /** Assertions that failed at `pulumi refresh`, one sentence for each; empty if no assertion failed. */
  readonly drift: readonly string[];
}

/** Pods are ready a little before primaries count their replicas and all nodes agree. */
const SETTLING_MS = 30_000;

/**
 * Verifies the deployment. The handler only tells each server its zone, and adapts the disruption budgets. After a
 * failure, the state keeps the last verification that passed. If nodes of a cluster had moved to other shards,
 * Kubernetes evicts only one pod at a time until a verification passes. The next update always verifies again. If data
 * is gone, the update fails once. The state then describes the data that still exists, and the next update compares
 * with this data.
 */
export const handler: ResourceHandler<DeploymentVerificationInputs, DeploymentVerificationOutputs> = {
  recordsAttempts: true,
  create: async (inputs, context) => ({ id: inputs.target.name, outputs: await check(inputs, undefined, context) }),
  update: (_id, { target, data }, inputs, context) =>
    check(inputs, isSame(target, inputs.target) ? data : undefined, context),
  read: async (_id, { target, password, topology, data, verifiedAt, formationMs }, { signal }) => {
    const { verification, drift } = await inspectDeployment(target, password, { former: data, signal });
    if (drift.length === 0 || verification === undefined) return { topology, data, verifiedAt, drift };
    const found = topologyOf(verification, formationMs);
    return { topology: found, data, verifiedAt: new Date().toISOString(), drift };
  },
  drifted: ({ drift }) => drift.length > 0,
};

/** False for servers on this machine: what running servers cannot accept starts new ones. */
function isSame(olds: DeploymentReference, news: DeploymentReference): boolean {
  if (olds.platform !== "kubernetes" || news.platform !== "kubernetes") return false;
  return olds.namespace === news.namespace && olds.statefulSet === news.statefulSet;
}

/** @param former data that the last update found. @default data is not compared */
async function check(
  { target, password, formationMs, timeoutSeconds }: DeploymentVerificationInputs,
  former: SeenData | undefined,
  context: HandlerContext,
): Promise<DeploymentVerificationOutputs> {
  const { deployment, options } = await openForUpdate({ target, password, timeoutSeconds }, context);
  // Zones are set before the verification. A pod's files cannot contain its zone, because the scheduler chooses it
  // later.
  await tellZones(deployment);
  const { timeoutMs: recoveryMs, signal, report } = options;
  const settled = await verifyUntilPass(deployment, {
    settlingMs: SETTLING_MS,
    recoveryMs,
    signal,
    report,
  });
  const { verification } = compareData(settled, former);
  const data = seenData(settled);
  if (!verification.verdict.pass) {
    const rows = formatVerification(verification).join("\n");
    const message = `${target.name} does not pass verification\n${rows}\nNothing is rolled back. The next update verifies again`;
    if (!settled.verdict.pass) throw new Failure(`${message}.`);
    throw new FailedButSeen(
      `${message} and accepts the data that the servers have then. If you need the lost data, restore a backup first.`,
      { data },
    );
  }
  await loosenBudgets(target, verification);
  return { topology: topologyOf(verification, formationMs), data, verifiedAt: new Date().toISOString(), drift: [] };
}
