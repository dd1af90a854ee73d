import type { ChainableCommander } from "ioredis";
import { messageOf } from "../../lib/errors";
import { readAllRules, userProblems } from "../access/read-users";
import type { Connection } from "../connection";
import { type ConnectionAttempt, withEveryNode } from "../connections";
import { keysInAllDatabases } from "../databases";
import type { Deployment } from "../deployment";
import { type Observation, mapObservation, observed, unobserved } from "../observation";
import { gatherSentinelFacts } from "../sentinel/facts";
import { COMPARED_DIRECTIVES } from "../settings/settings";
import { ViewParser } from "../topology/cluster-view";
import { type MigrationJob, hasEnded, parseMigrationJobs } from "../topology/migration-jobs";
import { parseFlatReply, parseInfo } from "../topology/replies";
import { ANNOUNCING_DIRECTIVES } from "./announced-endpoints";
import type { DeploymentFacts, NodeFacts, OptionalAssertion } from "./facts";
import { readAnnounced } from "./read-announced";
import { tryWrite } from "./write-trial";

/** A value that cannot be read is a reason in the facts, not an error. @param skippedAssertions not read */
export async function gatherFacts(
  deployment: Deployment,
  skippedAssertions: readonly OptionalAssertion[] = [],
): Promise<DeploymentFacts> {
  const parser = new ViewParser();
  const { name, mode, shape, directives, zones, users, sentinels, tuning, readWays } = deployment;
  const watchers = sentinels === undefined ? undefined : gatherSentinelFacts(deployment, sentinels);
  const [{ nodes, announced }, sentinelNodes, machineSettings, ways] = await Promise.all([
    withEveryNode(deployment, async (attempts) => {
      const asked = await Promise.all(attempts.map((each) => askNode(each, deployment, skippedAssertions, parser)));
      return { nodes: asked, announced: await readAnnounced(deployment, attempts, asked, (await watchers) ?? []) };
    }),
    watchers,
    tuning === undefined ? undefined : Promise.all(deployment.nodes.map((node) => observe(() => tuning.read(node)))),
    readWays === undefined ? undefined : observe(readWays),
  ]);
  const facts = {
    ...{ deployment: name, mode, shape, directives, zones, users, ways, announced, skippedAssertions },
    nodes: nodes.map((node, index) => ({ ...node, machineSettings: machineSettings?.[index] })),
    tuning: tuning?.expected,
  };
  if (sentinels === undefined || sentinelNodes === undefined) return facts;
  return { ...facts, sentinels: { settings: sentinels.settings, nodes: sentinelNodes } };
}

const INFO_SECTIONS: readonly string[] = [
  ...["server", "clients", "memory", "persistence", "stats", "replication", "commandstats", "keyspace"],
];

async function observe<T>(read: () => Promise<T>): Promise<Observation<T>> {
  try {
    return observed(await read());
  } catch (error) {
    return unobserved(messageOf(error));
  }
}

async function askNode(
  attempt: ConnectionAttempt,
  deployment: Deployment,
  skippedAssertions: readonly OptionalAssertion[],
  parser: ViewParser,
): Promise<NodeFacts> {
  const { node, connection } = attempt;
  if (connection === undefined) {
    const why = unobserved(attempt.why);
    return { node, info: why, clusterInfo: why, view: why, settings: why, keys: why };
  }
  const { users } = deployment;
  const readsSettings = !skippedAssertions.includes("settings");
  const names = [...new Set([...COMPARED_DIRECTIVES, ...deployment.directives.keys()])];
  const isCluster = deployment.mode === "cluster";
  const [someInfo, someSettings, clusterInfo, view, migrations] = await ask(connection, (pipeline) => {
    pipeline.info(...(INFO_SECTIONS as [string]));
    if (readsSettings) pipeline.config("GET", ...([...names, ...ANNOUNCING_DIRECTIVES] as [string]));
    else pipeline.echo("");
    if (isCluster) pipeline.cluster("INFO").cluster("NODES").call("CLUSTER", "GETSLOTMIGRATIONS");
  });
  // Dragonfly, and Redis before 7, accept only one section and one pattern per command. For these servers, all sections
  // and settings are requested.
  const all = takesLists(someInfo) ? undefined : await ask(connection, askForAll);
  const [info, settings] = all ?? [someInfo, someSettings];
  const notAsked = unobserved("not asked");
  const told = {
    info: mapObservation(info ?? notAsked, (text) => parseInfo(String(text))),
    view: parseView(view ?? notAsked, parser),
    migrations: migrations && runningMigrations(migrations),
  };
  const readSettings = readsSettings ? (settings ?? notAsked) : notAsked;
  return {
    node: { ...node, zone: node.zone ?? zoneOf(info) },
    ...told,
    keys: mapObservation(told.info, keysInAllDatabases),
    settings: mapObservation(readSettings, (reply) => pickSettings(reply, names)),
    announcing: mapObservation(readSettings, (reply) => pickSettings(reply, ANNOUNCING_DIRECTIVES)),
    clusterInfo: mapObservation(clusterInfo ?? notAsked, (text) => parseInfo(String(text))),
    users: users === undefined ? undefined : await observe(() => userProblems(connection, users)),
    rules: users === undefined && readsSettings ? await observe(() => readAllRules(connection)) : undefined,
    // The last step, because a paused server answers nothing after it.
    write: skippedAssertions.includes("writes") ? undefined : await tryWrite(connection, told),
  };
}

function askForAll(pipeline: ChainableCommander): void {
  pipeline.info("all").config("GET", "*");
}

function takesLists(info: Observation<unknown> | undefined): boolean {
  return info?.known !== false || !/syntax error/i.test(info.why);
}

function pickSettings(reply: unknown, names: readonly string[]): Map<string, string> {
  const values = parseFlatReply(reply);
  const present = names.filter((name) => values.has(name));
  return new Map(present.map((name) => [name, values.get(name) ?? ""]));
}

/** @returns for each command the reply, or the reason why there is no reply */
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

/** Servers before Valkey 9 do not have the command, and no migrations. */
function runningMigrations(reply: Observation<unknown>): Observation<readonly MigrationJob[]> {
  if (!reply.known && /unknown (sub)?command/i.test(reply.why)) return observed([]);
  return mapObservation(reply, (entries) => parseMigrationJobs(entries).filter((job) => !hasEnded(job)));
}

/** The zone that the server itself reports (`availability-zone`, since Valkey 8.1). */
function zoneOf(info: Observation<unknown> | undefined): string | undefined {
  const zone = info?.known === true ? parseInfo(String(info.value)).get("availability_zone") : undefined;
  return zone === "" ? undefined : zone;
}
