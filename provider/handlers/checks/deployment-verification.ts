/** Verifies a deployment. */
import type { TopologyRecord } from "../../../valkey/verification/topology-record";
import { topologyOf } from "../../../valkey/verification/topology-record";
import { Failure } from "../../../lib/errors";
import type { DeploymentReference } from "../../../platforms/deployment-reference";
import { openDeployment } from "../../../platforms/deployment-reference";
import { tellZones } from "../../../valkey/availability-zone";
import { formatVerification } from "../../../valkey/verification/format";
import type { SeenData } from "../../../valkey/verification/kept-data";
import { seenData, withKeptData } from "../../../valkey/verification/kept-data";
import { verifyUntilPass } from "../../../valkey/verification/verify";
import { loosenBudgets } from "../../updates/budgets";
import { inspectDeployment } from "../../updates/drift";
import type { HandlerContext, ResourceHandler } from "../../protocol/resource-handler";
import { FailedButSeen } from "../../protocol/resource-handler";
import { waitOptions } from "../../protocol/waiting";

export interface DeploymentVerificationInputs {
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

export interface DeploymentVerificationOutputs {
  /** As found, with every row of the verdict. */
  readonly topology: TopologyRecord;
  /** The data that the last `pulumi up` saw, which the next one compares with. */
  readonly data: SeenData;
  /** When the deployment was verified, ISO 8601. */
  readonly verifiedAt: string;
  /** Assertions that `pulumi refresh` found to fail, a sentence each; empty when all hold. */
  readonly drift: readonly string[];
}

/** Pods are ready a little before primaries count their replicas and all views agree. */
const SETTLING_MS = 30_000;

/**
 * Changes no server. A failure leaves the record of the last verification that passed, and lets one pod of a cluster be evicted at a
 * time if nodes have moved; the next update verifies again, whatever changed. Data that is gone fails one update: the state then has what
 * is there, and the next update compares with that.
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

/** Whether an update keeps the servers. Those of this machine are started anew wherever they cannot stay. */
function isSame(olds: DeploymentReference, news: DeploymentReference): boolean {
  if (olds.platform !== "kubernetes" || news.platform !== "kubernetes") return false;
  return olds.namespace === news.namespace && olds.statefulSet === news.statefulSet;
}

/** @param former data to compare with. @default data is not compared */
async function check(
  { target, password, formationMs, timeoutSeconds }: DeploymentVerificationInputs,
  former: SeenData | undefined,
  context: HandlerContext,
): Promise<DeploymentVerificationOutputs> {
  const options = waitOptions(target.name, timeoutSeconds, context);
  const deployment = await openDeployment(target, password, options);
  // Before anything is judged: no file tells a server where its pod was scheduled.
  await tellZones(deployment);
  const { timeoutMs: recoveryMs, signal, report } = options;
  const settled = await verifyUntilPass(deployment, {
    settlingMs: SETTLING_MS,
    recoveryMs,
    signal,
    report,
  });
  const verification = former === undefined ? settled : withKeptData(settled, former);
  const data = seenData(settled);
  if (!verification.verdict.pass) {
    const rows = formatVerification(verification).join("\n");
    const message = `${target.name} does not pass verification\n${rows}\nNothing is rolled back. The next update verifies again`;
    if (!settled.verdict.pass) throw new Failure(`${message}.`);
    throw new FailedButSeen(
      `${message} and accepts the data that is there now. Restore a backup first if you need what is lost.`,
      { data },
    );
  }
  await loosenBudgets(target, verification);
  return { topology: topologyOf(verification, formationMs), data, verifiedAt: new Date().toISOString(), drift: [] };
}
