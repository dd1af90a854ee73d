import { Failure } from "../../lib/errors";
import { openDeployment } from "../../platforms/deployment-reference";
import { formatVerification } from "../../valkey/verification/format";
import { verifyUntilPass } from "../../valkey/verification/verify";
import { topologyOf } from "../../benchmarks/results/topology";
import type { ResourceHandler } from "../dynamic-resource";
import type { TopologyCheckInputs, TopologyCheckOutputs } from "../resources/topology-check";

/** Pods are ready a little before replicas are counted and views agree. */
const SETTLING_MS = 30_000;

const handler: ResourceHandler<TopologyCheckInputs, TopologyCheckOutputs> = {
  create: async ({ target, password, formationMs, timeoutSeconds }) => {
    const verification = await verifyUntilPass(await openDeployment(target, password, timeoutSeconds), SETTLING_MS);
    if (!verification.verdict.pass)
      throw new Failure(
        `${target.name} does not pass verification\n${formatVerification(verification).join("\n")}\nEverything is left in place to look at; the next update tries again.`,
      );
    return { id: target.name, outputs: { topology: topologyOf(verification, formationMs) } };
  },
};
export default handler;
