/** One connection to the server whose replication stream is followed, and facts about this server. */
import { connect } from "../connection";
import { infoNumber, parseInfo } from "../topology/replies";
import type { ReplicaLink, StreamSource } from "./replica-link";

/**
 * Interval between checks of a replica's link to its primary, and time after which a broken link counts as lost,
 * milliseconds.
 */
const LINK_MS = 5_000;

/** A connection to the followed server, and the state of this connection. */
export interface Session {
  readonly link: ReplicaLink;
  readonly source: StreamSource;
  /**
   * Offset in the stream from which commands arrive as soon as the server executes them. Undefined if the offset is not
   * known yet.
   */
  knownFrom: number | undefined;
  /** Number of bytes of the stream that have been received and belong to whole commands and transactions. */
  offset: number;
  /** Whether the server has begun to send commands. */
  hasBegun: boolean;
  /** Time of the last regular acknowledgement, by `performance.now`. */
  tickedAt: number;
  /** Time of the last check of the server's link to its primary, by `performance.now`. */
  lookedAt: number;
  /** Whether the server is a replica that no longer receives the commands of its primary. */
  isCutOff: boolean;
}

/** Whether commands at this offset arrive as soon as the server executes them. */
export const isKnown = ({ knownFrom }: Session, offset: number): boolean =>
  knownFrom !== undefined && offset >= knownFrom;

/**
 * Asks the server how many bytes of the stream it has now. Later commands arrive as soon as the server executes them,
 * if the server has begun to send commands or has none to send.
 */
export function learnOffset(session: Session): void {
  offsetOf(session.source).then(
    (offset) => {
      if (session.hasBegun || offset === session.offset) session.knownFrom ??= offset;
    },
    // A later tick tries again.
    () => undefined,
  );
}

/**
 * Checks whether a followed replica has lost its primary. Such a replica is quiet, although its primary executes
 * commands.
 */
export function checkLink(session: Session): void {
  if (performance.now() - session.lookedAt < LINK_MS) return;
  session.lookedAt = performance.now();
  infoOf(session.source, "replication").then(
    (info) => {
      const downSeconds = infoNumber(info, "master_link_down_since_seconds") ?? 0;
      session.isCutOff = info.get("master_link_status") === "down" && downSeconds * 1000 >= LINK_MS;
    },
    // A later tick tries again.
    () => undefined,
  );
}

async function infoOf(source: StreamSource, section: string): Promise<Map<string, string>> {
  const connection = await connect(source.name, source.endpoint, source.access);
  try {
    return parseInfo(await connection.info(section));
  } finally {
    connection.disconnect();
  }
}

/** Version of the server. `unknown` if the server does not say it. */
export async function versionOf(source: StreamSource): Promise<string> {
  const info = await infoOf(source, "server");
  return info.get("valkey_version") ?? info.get("redis_version") ?? "unknown";
}

/** Number of bytes of the stream that the server has. */
async function offsetOf(source: StreamSource): Promise<number | undefined> {
  return infoNumber(await infoOf(source, "replication"), "master_repl_offset");
}
