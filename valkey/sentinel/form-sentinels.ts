import type { Connection } from "../connection";
import { type Connections, closeConnections, openConnections } from "../connections";
import type { Deployment } from "../deployment";
import { type FormationOptions, Deadline } from "../membership/deadline";
import { announcedEndpoint, awaitSolePrimary } from "../membership/replication-primary";
import { type DeploymentNode, type Endpoint, formatEndpoint, nodeNameAt } from "../node";
import { type Sentinels, monitorCommands } from "../sentinel-config";
import { type SentinelView, failureFlags, readSentinelView } from "./sentinel-view";

/** So that functions that connect to nodes can connect to Sentinels. */
export function sentinelsAsDeployment(deployment: Deployment, { nodes }: Sentinels): Deployment {
  return { ...deployment, name: `${deployment.name}'s Sentinels`, nodes };
}

/** @returns whether any was reconfigured @throws Failure without exactly one primary, or if Sentinels do not agree */
export async function formSentinels(
  deployment: Deployment,
  sentinels: Sentinels,
  options: FormationOptions = {},
): Promise<boolean> {
  const deadline = deadlineOf(deployment, sentinels, options);
  const isRepair = options.repair !== undefined;
  return withSentinels(deployment, sentinels, isRepair ? undefined : deadline, async (connections) => {
    // The primary is read only now, because a replica may have been promoted while this function waited for Sentinels.
    const primary = await announcedEndpoint(deployment, await awaitSolePrimary(deployment, deadline));
    const reconfigured = await Promise.all(
      [...connections.values()].map((connection) => monitorPrimary(connection, deployment, primary, sentinels)),
    );
    const forgot = await forgetOneByOne(deployment, connections, deadline);
    await Promise.all(
      [...connections].map(([node, connection]) =>
        awaitWholeView(deployment, node, connection, connections.size, deadline),
      ),
    );
    return forgot || reconfigured.includes(true);
  });
}

/**
 * Otherwise Sentinels keep trying to reach them, and count missing Sentinels in votes. Only one forgets at a time, so
 * that the others can fail over. The next call completes an interrupted one.
 * @returns whether there was something to forget
 * @throws Failure when the Sentinels do not agree in time
 */
export function forgetGone(
  deployment: Deployment,
  sentinels: Sentinels,
  options: FormationOptions = {},
): Promise<boolean> {
  const deadline = deadlineOf(deployment, sentinels, options);
  return withSentinels(deployment, sentinels, deadline, (connections) =>
    forgetOneByOne(deployment, connections, deadline),
  );
}

/** A new Sentinel answers only after failed lookups of host names. @param deadline undefined: no waiting */
async function withSentinels<T>(
  deployment: Deployment,
  sentinels: Sentinels,
  deadline: Deadline | undefined,
  use: (connections: Connections) => Promise<T>,
): Promise<T> {
  const open = (): Promise<Connections> => openConnections(sentinelsAsDeployment(deployment, sentinels));
  const connections = await (deadline === undefined ? open() : deadline.find(open));
  try {
    return await use(connections);
  } finally {
    closeConnections(connections);
  }
}

function deadlineOf({ name }: Deployment, { nodes }: Sentinels, options: FormationOptions): Deadline {
  return new Deadline(`${name}'s Sentinels`, nodes.length, options);
}

async function forgetOneByOne(deployment: Deployment, connections: Connections, deadline: Deadline): Promise<boolean> {
  let forgot = false;
  for (const [node, connection] of connections) {
    const view = await readSentinelView(connection, deployment.name);
    if (view === undefined || !knowsGone(view, deployment, connections.size - 1)) continue;
    await deadline.poll(() => disagreement(deployment, connections));
    await connection.call("SENTINEL", "RESET", deployment.name);
    forgot = true;
    // While a pod stops, its replica may still run. The Sentinel then learns of the replica again, and must forget it
    // again after the replica has failed.
    const expected = await expectedView(deployment, connections.size, deadline);
    await deadline.poll(async () => {
      const known = await readSentinelView(connection, deployment.name);
      const missing = missingInView(node.name, known, expected);
      if (known === undefined || missing === undefined || !knowsFailed(known, deployment)) return missing;
      if ((await disagreement(deployment, connections)) === undefined)
        await connection.call("SENTINEL", "RESET", deployment.name);
      return missing;
    });
  }
  return forgot;
}

function knowsGone({ replicas, otherSentinels }: SentinelView, { nodes }: Deployment, others: number): boolean {
  const isGone = ({ host, port }: Endpoint): boolean => nodeNameAt(nodes, host, port) === undefined;
  return replicas.some(({ endpoint }) => isGone(endpoint)) || otherSentinels.length > others;
}

/** Also for a replica that no longer exists: the Sentinel must have noticed that it does not reply. */
function knowsFailed({ replicas }: SentinelView, { nodes }: Deployment): boolean {
  return replicas.some(
    ({ endpoint: { host, port }, flags }) => nodeNameAt(nodes, host, port) === undefined && flags.includes("s_down"),
  );
}

/** Undefined if all Sentinels name the same primary and report no failure. */
async function disagreement({ name, nodes }: Deployment, connections: Connections): Promise<string | undefined> {
  const primaries = new Set<string>();
  for (const [node, connection] of connections) {
    const view = await readSentinelView(connection, name);
    const primary = view && nodeNameAt(nodes, view.primary.host, view.primary.port);
    if (view === undefined || primary === undefined) return `${node.name} monitors no primary`;
    const flags = failureFlags(view.flags);
    if (flags.length > 0) return `${node.name} reports the primary as ${flags.join(", ")}`;
    primaries.add(primary);
  }
  return primaries.size > 1 ? `the Sentinels monitor different primaries: ${[...primaries].join(" and ")}` : undefined;
}

async function awaitWholeView(
  deployment: Deployment,
  node: DeploymentNode,
  connection: Connection,
  count: number,
  deadline: Deadline,
): Promise<void> {
  const expected = await expectedView(deployment, count, deadline);
  await deadline.poll(async () =>
    missingInView(node.name, await readSentinelView(connection, deployment.name), expected),
  );
}

async function expectedView(deployment: Deployment, count: number, deadline: Deadline): Promise<ExpectedView> {
  const { nodes } = deployment;
  const primary = await awaitSolePrimary(deployment, deadline);
  return { nodes, primary: primary.name, replicas: nodes.length - 1, others: count - 1 };
}

/** @returns whether the Sentinel was reconfigured */
async function monitorPrimary(
  connection: Connection,
  { name, access }: Deployment,
  primary: Endpoint,
  { settings }: Sentinels,
): Promise<boolean> {
  const view = await readSentinelView(connection, name);
  if (view !== undefined && formatEndpoint(view.primary) === formatEndpoint(primary)) return false;
  if (view !== undefined) await connection.call("SENTINEL", "REMOVE", name);
  for (const [command = "", ...words] of monitorCommands(name, primary, settings, access.password)) {
    await connection.call(command, ...words);
  }
  return true;
}

interface ExpectedView {
  readonly nodes: readonly DeploymentNode[];
  readonly primary: string;
  readonly replicas: number;
  readonly others: number;
}

function missingInView(name: string, view: SentinelView | undefined, expected: ExpectedView): string | undefined {
  if (view === undefined) return `${name} monitors no primary`;
  const flags = failureFlags(view.flags);
  if (flags.length > 0) return `${name} reports the primary as ${flags.join(", ")}`;
  if (nodeNameAt(expected.nodes, view.primary.host, view.primary.port) !== expected.primary) {
    return `${name} monitors ${formatEndpoint(view.primary)}, not the primary ${expected.primary}`;
  }
  const isHealthy = (each: { readonly flags: readonly string[] }): boolean => failureFlags(each.flags).length === 0;
  const replicas = view.replicas.filter((replica) => replica.linkUp && isHealthy(replica)).length;
  if (replicas !== expected.replicas || view.replicas.length !== expected.replicas) {
    return `${name} knows ${replicas} of ${expected.replicas} replicas as healthy`;
  }
  const others = view.otherSentinels.filter(isHealthy).length;
  if (others !== expected.others) return `${name} knows ${others} of ${expected.others} other Sentinels as healthy`;
  return view.reachesQuorum === true ? undefined : `${name}: ${view.reachesQuorum}`;
}
