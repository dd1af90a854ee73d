import { Failure } from "../../benchmarks/errors";
import { openTarget } from "../../benchmarks/target";
import { formatVerification } from "../../benchmarks/verification/format";
import { verifySettled } from "../../benchmarks/verification/verify";
import { topologyOf } from "../../benchmarks/results/topology";
import type { Handler } from "../handled";
import type { TopologyCheckInputs, TopologyCheckOutputs } from "../topology-check";

/** Pods are ready a little before replicas are counted and views agree. */
const SETTLING_MS = 30_000;

const handler: Handler<TopologyCheckInputs, TopologyCheckOutputs> = {
  create: async ({ target, password, formationMs, timeoutSeconds }) => {
    const verification = await verifySettled(await openTarget(target, password, timeoutSeconds), SETTLING_MS);
    if (!verification.verdict.pass) throw new Failure(`${target.name} does not pass verification\n${formatVerification(verification).join("\n")}\nEverything is left in place to look at; the next update tries again.`);
    return { id: target.name, outputs: { topology: topologyOf(verification, formationMs) } };
  },
};
export default handler;
