/**
 * Nodes that come back without their data while a roll-out goes on: in a new volume, because the former one lies in a zone that the
 * deployment leaves, or because they have no volume. A roll-out goes on to the next node when such a node has its copy again.
 */
import type { V1Pod } from "@kubernetes/client-node";
import { messageOf } from "../../lib/errors";
import type { KubernetesReference } from "../../platforms/deployment-reference";
import { openRunningPart } from "../../platforms/deployment-reference";
import type { KubernetesClient } from "../../platforms/kubernetes/api/client";
import { readPodLabels } from "../../platforms/kubernetes/pods/pods";
import type { RepairStep } from "../../platforms/kubernetes/pods/rollout";
import { isPodReady } from "../../platforms/kubernetes/pods/rollout";
import type { StrandedPod } from "../../platforms/kubernetes/pods/stranded-pods";
import { replaceStranded, strandedPods } from "../../platforms/kubernetes/pods/stranded-pods";
import type { Connection } from "../../valkey/connection";
import { withConnections, withEveryNode } from "../../valkey/connections";
import { form } from "../../valkey/formation/form";
import { readMemberStates } from "../../valkey/membership/members";
import { returnedEmpty, ownAllSlots } from "../../valkey/resize/resize-facts";
import { hasPrimaryRole, parseInfo } from "../../valkey/topology/info";
import { listNames } from "../../valkey/verification/assertion";
import type { WaitOptions } from "../protocol/waiting";

/** Between two looks, milliseconds. */
const LOOK_MS = 2_000;

export interface LostNodesPlan {
  readonly target: KubernetesReference;
  readonly password: string;
  /** Name of the StatefulSet's template of claims. */
  readonly template: string;
  /** Where the deployment ran before. */
  readonly formerZones: readonly string[];
}

/**
 * Deletes volumes in zones that the deployment leaves, and lets nodes that came back empty join, both only while other nodes hold all
 * data.
 * @param say told of each node that moves
 */
export function repairLostNodes(
  kubernetes: KubernetesClient,
  { target, password, template, formerZones }: LostNodesPlan,
  options: WaitOptions,
  say: (event: string) => void,
): RepairStep {
  const { namespace, statefulSet, container, zones } = target;
  const volumes = { namespace, statefulSet, template };
  const added = zones.some((zone) => !formerZones.includes(zone));
  const moves = added || formerZones.some((zone) => !zones.includes(zone));
  let nextLook = Date.now() + LOOK_MS;
  let waitsFor: string | undefined;

  return async (pods, run) => {
    if (Date.now() < nextLook) return waitsFor;
    try {
      waitsFor = (moves ? await replace() : undefined) ?? (run ? await rejoin(pods) : undefined);
    } catch (error) {
      // Nodes that stop or start in this moment do not answer; the next look finds more.
      options.signal.throwIfAborted();
      waitsFor = messageOf(error);
    }
    nextLook = Date.now() + LOOK_MS;
    return waitsFor;
  };

  async function replace(): Promise<string | undefined> {
    const labels = await readPodLabels(kubernetes, namespace, { statefulSet });
    const stranded = await strandedPods(kubernetes, { volumes, labels, container, zones, added });
    const [first] = stranded;
    if (first === undefined) return undefined;
    const { zone } = first;
    const names = listNames(stranded.map(({ pod }) => pod));
    const lies =
      `${names} cannot start: ` +
      (zones.includes(zone)
        ? `zone ${zone} has more nodes than others`
        : `zone ${zone} is no longer one of ${target.name}`);
    if (!(await othersHoldAllData(stranded)))
      return `${lies}, and the nodes that run do not have all of its data. Put the former zones back, or wait for a failover`;
    for (const each of stranded) await replaceStranded(kubernetes, volumes, each);
    say(`${lies}; it starts empty elsewhere, and copies its data from the others`);
    return undefined;
  }

  async function othersHoldAllData(stranded: readonly StrandedPod[]): Promise<boolean> {
    const left = new Set(stranded.map(({ pod }) => pod));
    const part = await openRunningPart(kubernetes, target, password);
    const others = { ...part, nodes: part.nodes.filter(({ name }) => !left.has(name)) };
    return withEveryNode(others, async (attempts) => {
      const reached = new Map(attempts.flatMap(({ node, connection }) => (connection ? [[node, connection]] : [])));
      return target.mode === "cluster"
        ? ownAllSlots((await readMemberStates(reached)).states)
        : hasPrimary([...reached.values()]);
    });
  }

  async function rejoin(pods: readonly V1Pod[]): Promise<string | undefined> {
    if (target.mode !== "cluster" || pods.every(isPodReady)) return undefined;
    const deployment = await openRunningPart(kubernetes, target, password);
    const { states } = await withConnections(deployment, readMemberStates);
    const empty = listNames(returnedEmpty(states));
    if (empty === "") return undefined;
    try {
      await form(deployment, target.shape, options);
      return undefined;
    } catch (error) {
      options.signal.throwIfAborted();
      // Others may look for the node that it was for a while yet: its failure is agreed on after the node timeout.
      return `${empty}: came back without data and cannot join yet (${messageOf(error)})`;
    }
  }
}

/** Whether one of the nodes is a primary with its data. Replicas copy theirs from it. */
async function hasPrimary(connections: readonly Connection[]): Promise<boolean> {
  const facts = await Promise.all(connections.map(async (connection) => parseInfo(await connection.info())));
  return facts.some((info) => hasPrimaryRole(info) && info.get("loading") === "0");
}
