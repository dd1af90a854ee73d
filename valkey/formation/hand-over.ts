/** Hands the primary's role over to a replica without losing a write, in replication mode without Sentinels. */
import { setTimeout as sleep } from "node:timers/promises";
import { compact } from "../../lib/compact";
import { Failure } from "../../lib/errors";
import { pause } from "../../lib/polling";
import type { Connection } from "../connection";
import { withEveryNode } from "../connections";
import type { Deployment } from "../deployment";
import type { Endpoint } from "../node";
import { hasPrimaryRole, infoFields, infoNumber, parseFlatReply, parseInfo } from "../topology/replies";
import { type FormationOptions, Deadline } from "../membership/deadline";
import { announcedEndpoint } from "../membership/replication-primary";

interface HandOverPlan {
  readonly to: string;
  /** Called when `to` has become the primary. Resolves when new connections of clients reach it. */
  readonly lead: () => Promise<void>;
}

/** Time for which the old primary refuses clients. Then it accepts writes again for a moment. */
const REFUSED_MS = 3_000;
const ACKNOWLEDGE_MS = 500;
/** Each attempt disconnects the clients. */
const ATTEMPTS = 5;
const RETRY_MS = 2_000;
const POLL_MS = 20;
/** Bytes of the stream that the new primary may lack when the old primary starts to refuse clients. */
const CLOSE_BYTES = 1_000_000;
/** Listens to the own pod only. If this program stops, `keep-replication.sh` makes the server listen to clients. */
const CLOSED = "127.0.0.1 -::1";
const OPEN = "* -::*";

/**
 * The old primary refuses clients until `lead` has led them to the new one, so no client writes to a replica. If the
 * hand-over stops, the present primary has every write.
 * @throws Failure, after which the old primary accepts writes again
 */
export function handOver(
  deployment: Deployment,
  { to, lead }: HandOverPlan,
  options: FormationOptions = {},
): Promise<void> {
  const deadline = new Deadline(deployment.name, deployment.nodes.length, options, "ready for a new primary");
  return withEveryNode(deployment, async (attempts) => {
    const connections = new Map(
      attempts.flatMap(({ node, connection }) => (connection === undefined ? [] : [[node.name, connection] as const])),
    );
    const target = deployment.nodes.find(({ name }) => name === to);
    const own = connections.get(to);
    if (target === undefined || own === undefined)
      throw new Failure(
        `${to} must become the primary, but ${to} does not answer. Nothing has changed; try again when ${to} answers`,
      );
    const endpoint = await announcedEndpoint(deployment, target);
    const untilReady = (): Promise<void> =>
      deadline.poll(async () => notReady(to, endpoint, await rolesOf(connections)));
    await untilReady();
    const [former] = await primariesAmong(connections);
    if (former === undefined) throw new Failure(`${deployment.name} has no primary any more`);
    if (former === own) return lead();
    const open = await openAddresses(former);
    // An interrupted earlier hand-over may have left the node listening to its own pod only, but the old primary must
    // be able to connect to the node.
    await own.call("CONFIG", "SET", "bind", await openAddresses(own));
    try {
      for (let attempt = 1; !(await takeOver(own, former, endpoint)); attempt++) {
        await former.call("CONFIG", "SET", "bind", open);
        if (attempt === ATTEMPTS)
          throw new Failure(`${to} has not taken over from the primary after ${ATTEMPTS} attempts`);
        await pause(RETRY_MS, options.signal);
        await untilReady();
      }
      await lead();
      // Replicas follow the host name of the Service, which led to the old primary until now. So they must connect
      // again.
      await former.call("CLIENT", "KILL", "TYPE", "replica").catch(() => undefined);
    } finally {
      // The old primary may have ended already, or it will restart next.
      await former.call("CONFIG", "SET", "bind", open).catch(() => undefined);
    }
  });
}

async function openAddresses(server: Connection): Promise<string> {
  const bind = parseFlatReply(await server.config("GET", "bind")).get("bind") ?? "";
  return bind === CLOSED ? OPEN : bind;
}

/** @returns whether the node took over; otherwise the old primary still refuses clients */
async function takeOver(own: Connection, former: Connection, { host, port }: Endpoint): Promise<boolean> {
  const isPrimary = (): Promise<boolean> =>
    readInfo(own).then(
      hasPrimaryRole,
      // The node may be busy at the moment.
      () => false,
    );
  await former.call("CONFIG", "SET", "bind", CLOSED);
  await former.call("CLIENT", "KILL", "TYPE", "normal");
  await former.call("CLIENT", "KILL", "TYPE", "pubsub");
  // FAILOVER waits until replicas report their offsets, which they do once per second. WAIT makes them report at once.
  await former.wait(infoNumber(await readInfo(former), "connected_slaves") ?? 0, ACKNOWLEDGE_MS);
  // The primary refuses this command if the node itself has already asked for the failover (keep-replication.sh).
  await former.call("FAILOVER", "TO", host, port, "TIMEOUT", REFUSED_MS).catch(() => undefined);
  const until = performance.now() + REFUSED_MS;
  while (performance.now() < until) {
    if (await isPrimary()) return true;
    await sleep(POLL_MS);
  }
  await former.call("FAILOVER", "ABORT").catch(() => undefined);
  if (!(await isPrimary()) && hasPrimaryRole(await readInfo(former))) return false;
  // The node took over after the time limit. In the meantime, no client has written to the former primary.
  await former.call("REPLICAOF", host, port);
  return true;
}

type Info = ReadonlyMap<string, string>;
type Connections = ReadonlyMap<string, Connection>;

const readInfo = async (connection: Connection): Promise<Info> => parseInfo(await connection.info("replication"));

async function rolesOf(connections: Connections): Promise<ReadonlyMap<string, Info>> {
  return new Map(
    await Promise.all([...connections].map(async ([name, each]) => [name, await readInfo(each)] as const)),
  );
}

async function primariesAmong(connections: Connections): Promise<Connection[]> {
  const roles = await rolesOf(connections);
  const names = [...roles].filter(([, info]) => hasPrimaryRole(info)).map(([name]) => name);
  return compact(names.map((name) => connections.get(name)));
}

/** @param announced endpoint by which the primary knows the node */
function notReady(name: string, announced: Endpoint, roles: ReadonlyMap<string, Info>): string | undefined {
  const primaries = [...roles].filter(([, info]) => hasPrimaryRole(info));
  const [only] = primaries;
  if (only === undefined || primaries.length > 1) return `it has ${primaries.length} primaries`;
  const [former, primary] = only;
  if (former === name) return undefined;
  const own = roles.get(name);
  if (own?.get("master_link_status") !== "up") return `${name} is not linked to its primary`;
  const lag = (infoNumber(primary, "master_repl_offset") ?? 0) - (infoNumber(own, "slave_repl_offset") ?? 0);
  // A replica reports that its link is up shortly before its primary counts it as online.
  if (!countsOnline(primary, announced)) return `${former} does not count ${name} as online yet`;
  return lag > CLOSE_BYTES ? `${name} lags behind its primary by ${lag} bytes` : undefined;
}

function countsOnline(primary: Info, { host, port }: Endpoint): boolean {
  return [...primary].some(([key, value]) => {
    if (!/^slave\d+$/.test(key)) return false;
    const fields = infoFields(value);
    return fields.get("ip") === host && fields.get("port") === String(port) && fields.get("state") === "online";
  });
}
