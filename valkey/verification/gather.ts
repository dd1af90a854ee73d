/** Reading the facts: every node is asked, at once, over a connection of its own. */
import type { ChainableCommander } from "ioredis";
import type { ConnectionAttempt } from "../connections";
import type { Connection } from "../connection";
import { withEveryNode } from "../connections";
import type { Deployment } from "../deployment";
import { messageOf } from "../../lib/errors";
import { gatherSentinelFacts } from "../sentinel/facts";
import { COMPARED_DIRECTIVES } from "../settings";
import { ViewParser } from "../topology/cluster-view";
import { parseInfo } from "../topology/info";
import type { Observation } from "../observation";
import type { DeploymentFacts, NodeFacts, OptionalAssertion } from "./facts";
import { observed, mapObservation, unobserved } from "../observation";

/**
 * Asks every node of a deployment. Never throws for a node: what cannot be read is in the facts as not known.
 * @param without assertions whose facts are not asked for
 */
export async function gatherFacts(
  deployment: Deployment,
  without: readonly OptionalAssertion[] = [],
): Promise<DeploymentFacts> {
  const parser = new ViewParser();
  const { name, mode, shape, directives, zones, sentinels } = deployment;
  const [nodes, watching] = await Promise.all([
    withEveryNode(deployment, (reached) =>
      Promise.all(reached.map((each) => askNode(each, deployment, without, parser))),
    ),
    sentinels === undefined ? undefined : gatherSentinelFacts(deployment, sentinels),
  ]);
  const of =
    sentinels === undefined || watching === undefined
      ? {}
      : { sentinels: { settings: sentinels.settings, nodes: watching } };
  return { deployment: name, mode, shape, directives, zones, nodes, skippedAssertions: without, ...of };
}

async function askNode(
  reached: ConnectionAttempt,
  deployment: Deployment,
  without: readonly OptionalAssertion[],
  parser: ViewParser,
): Promise<NodeFacts> {
  const { node } = reached;
  if (reached.connection === undefined) {
    const why = unobserved(reached.why);
    return { node, info: why, clusterInfo: why, view: why, settings: why, keys: why };
  }
  const wantsSettings = !without.includes("settings");
  const settingNames = [...new Set([...COMPARED_DIRECTIVES, ...deployment.directives.keys()])];
  const [askedInfo, keys, askedSettings, clusterInfo, view] = await ask(reached.connection, (pipeline) => {
    pipeline.info("server", "replication", "persistence", "memory").dbsize();
    if (wantsSettings) pipeline.config("GET", ...(settingNames as [string]));
    else pipeline.echo("");
    if (deployment.mode === "cluster") pipeline.cluster("INFO").cluster("NODES");
  });
  // Dragonfly, and Redis before 7, take one section and one pattern at a time: then all of it is asked for.
  const whole = takesLists(askedInfo)
    ? undefined
    : await ask(reached.connection, (pipeline) => {
        pipeline.info("all").config("GET", "*");
      });
  const [info, settings] = whole ?? [askedInfo, askedSettings];
  const none = unobserved("not asked");
  return {
    node: { ...node, zone: node.zone ?? zoneOf(info) },
    info: mapObservation(info ?? none, (text) => parseInfo(String(text))),
    keys: mapObservation(keys ?? none, Number),
    settings: wantsSettings
      ? mapObservation(settings ?? none, (flat) => only(pairs(flat as string[]), settingNames))
      : none,
    clusterInfo: mapObservation(clusterInfo ?? none, (text) => parseInfo(String(text))),
    view: parseView(view ?? none, parser),
  };
}

function takesLists(info: Observation<unknown> | undefined): boolean {
  return info?.known !== false || !/syntax error/i.test(info.why);
}

function only(values: ReadonlyMap<string, string>, names: readonly string[]): Map<string, string> {
  return new Map(
    names.flatMap((name): [string, string][] => {
      const value = values.get(name);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/** One round trip; each command's answer, or why there is none. */
async function ask(
  connection: Connection,
  commands: (pipeline: ChainableCommander) => void,
): Promise<Observation<unknown>[]> {
  const pipeline = connection.pipeline();
  commands(pipeline);
  try {
    const replies = (await pipeline.exec()) ?? [];
    return replies.map(([error, value]) => (error === null ? observed(value) : unobserved(messageOf(error))));
  } catch (error) {
    return Array.from({ length: pipeline.length }, () => unobserved(messageOf(error)));
  }
}

function parseView(text: Observation<unknown>, parser: ViewParser): NodeFacts["view"] {
  if (!text.known) return text;
  try {
    return observed(parser.parse(String(text.value)));
  } catch (error) {
    return unobserved(messageOf(error));
  }
}

/** A server may know its zone itself (availability-zone, Valkey 8.1 and newer). */
function zoneOf(info: Observation<unknown> | undefined): string | undefined {
  const zone = info?.known === true ? parseInfo(String(info.value)).get("availability_zone") : undefined;
  return zone === "" ? undefined : zone;
}

function pairs(flat: readonly string[]): Map<string, string> {
  return new Map(
    flat.flatMap((name, index): [string, string][] => (index % 2 === 0 ? [[name, flat[index + 1] ?? ""]] : [])),
  );
}
