/**
 * No configuration describes the wanted state of existing servers, so the first verification that passes determines it:
 * shape, zones, and the settings that a repair changes for a short time.
 */
import type { HealedDeployment } from "../../controller/healer";
import { REPAIR_MS } from "../../controller/healer";
import type { Watched } from "../../controller/watch";
import type { RepairLock } from "../../controller/repair-lock";
import { NO_LOCK } from "../../controller/repair-lock";
import { Failure, messageOf } from "../../lib/errors";
import { findOpenSlots } from "../../provider/updates/drift";
import { repairServers } from "../../provider/updates/repair";
import type { Deployment } from "../../valkey/deployment";
import { describeLeftoverSettings, readUsualSettings } from "../../valkey/membership/temporary-settings";
import { planCluster, PlanError } from "../../valkey/topology/cluster-plan";
import type { Shape } from "../../valkey/topology/placement";
import type { Verification } from "../../valkey/verification/verify";
import { compareData, verify } from "../../valkey/verification/verify";
import type { ExternalDeployment } from "./external";

export type Healed = Watched & Pick<HealedDeployment, "lock" | "repair">;

interface WantedState {
  readonly deployment: Deployment;
  readonly shape: Shape;
}

export function healProblems({ deployment: { mode }, without }: ExternalDeployment): string[] {
  const needed = without.filter((each) => each !== "zones" || mode === "cluster");
  return needed.map((each) => `--heal cannot be used with --without ${each}, because a repair needs the ${each}`);
}

export class HealedServers implements Healed {
  #wanted: WantedState | undefined;
  #unknown = "no verification has passed yet, so it is unknown which state a repair must restore";

  constructor(private readonly servers: ExternalDeployment) {}

  get name(): string {
    return this.servers.deployment.name;
  }

  readonly lock: RepairLock = {
    ...NO_LOCK,
    begin: () => Promise.resolve(this.#wanted === undefined ? this.#unknown : undefined),
  };

  readonly inspect: Healed["inspect"] = async (_signal, former) => {
    const { deployment, without } = this.servers;
    const { verification, data } = compareData(await verify(deployment, without), former);
    if (!verification.verdict.pass)
      return { verification, data, drift: [], openSlots: await findOpenSlots(deployment, verification) };
    try {
      this.#wanted ??= await wantedState(deployment, verification);
      return { verification, data, drift: await describeLeftoverSettings(this.#wanted.deployment) };
    } catch (error) {
      this.#unknown = messageOf(error);
      return { verification, data, drift: [] };
    }
  };

  readonly repair: HealedDeployment["repair"] = async (limits, signal, report) => {
    if (this.#wanted === undefined) throw new Failure(this.#unknown);
    const { deployment, shape } = this.#wanted;
    // The zones of the primaries may have been chosen on purpose, so the repair hands over no primary.
    const order = { ...limits, handOver: false };
    const waiting = { timeoutMs: REPAIR_MS, signal, report };
    return (await repairServers(deployment, shape, order, waiting, this.servers.without)).changed;
  };
}

/** The servers are in the state that repairs must restore, because they pass verification. */
async function wantedState(deployment: Deployment, verification: Verification): Promise<WantedState> {
  const shape = shapeOf(verification);
  const zones = new Map(verification.facts.nodes.map(({ node }) => [node.name, node.zone]));
  const nodes = deployment.nodes.map((node) => ({ ...node, zone: zones.get(node.name) ?? node.zone }));
  if (deployment.mode === "cluster") refuseUnplannable(nodes, shape);
  return { deployment: { ...deployment, nodes, shape, directives: await readUsualSettings(deployment) }, shape };
}

function shapeOf({ verdict: { shards } }: Verification): Shape {
  const sizes = [...new Set(shards.map(({ replicas }) => replicas.length))];
  const [replicasPerPrimary] = sizes;
  if (sizes.length > 1 || replicasPerPrimary === undefined)
    throw new Failure(`a repair needs shards with the same number of replicas, but they have ${sizes.join(" or ")}`);
  return { primaries: shards.length, replicasPerPrimary };
}

function refuseUnplannable(nodes: Deployment["nodes"], shape: Shape): void {
  const placed = nodes.map(({ name, zone }) => ({ name, zone: zone ?? "" }));
  try {
    const { warnings } = planCluster(placed, shape);
    if (warnings.length > 0) throw new Failure(`a repair cannot place replicas: ${warnings.join("; ")}`);
  } catch (error) {
    if (error instanceof PlanError) throw new Failure(`a repair cannot place replicas: ${error.problems.join("; ")}`);
    throw error;
  }
}
