import { connect } from "../../valkey/connection";
import { infoNumber, parseInfo } from "../../valkey/topology/replies";
import type { ReplicaLink, StreamSource } from "./replica-link";
import { withConnection } from "../../valkey/connections";

/** Interval between checks of a replica's link, and time after which a broken link counts as lost, milliseconds. */
const LINK_MS = 5_000;

export interface Session {
  readonly link: ReplicaLink;
  readonly source: StreamSource;
  /** Offset from which commands arrive as soon as the server executes them; undefined if not known yet. */
  knownFrom: number | undefined;
  /** Number of bytes of the stream that have been received and belong to whole commands and transactions. */
  offset: number;
  hasBegun: boolean;
  tickedAt: number;
  lookedAt: number;
  /** Whether the server is a replica that no longer receives the commands of its primary. */
  isCutOff: boolean;
}

export const isKnown = ({ knownFrom }: Session, offset: number): boolean =>
  knownFrom !== undefined && offset >= knownFrom;

/** Later commands arrive as soon as the server executes them, if it has begun to send commands or has none to send. */
export function learnOffset(session: Session): void {
  offsetOf(session.source).then(
    (offset) => {
      if (session.hasBegun || offset === session.offset) session.knownFrom ??= offset;
    },
    // A later tick tries again.
    () => undefined,
  );
}

/** Such a replica is quiet, although its primary executes commands. */
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
  const opening = connect(source.name, source.endpoint, source.access);
  return parseInfo(await withConnection(opening, (connection) => connection.info(section)));
}

export async function versionOf(source: StreamSource): Promise<string> {
  const info = await infoOf(source, "server");
  return info.get("valkey_version") ?? info.get("redis_version") ?? "unknown";
}

async function offsetOf(source: StreamSource): Promise<number | undefined> {
  return infoNumber(await infoOf(source, "replication"), "master_repl_offset");
}
