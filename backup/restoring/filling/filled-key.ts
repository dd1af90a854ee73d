/**
 * The key with which a fill records its success in the filled deployment itself: a killed fill that starts again finds
 * it, and does not bring back keys that clients have deleted since.
 */
import calculateSlot from "cluster-key-slot";
import * as z from "zod";
import type { Connection } from "../../../valkey/connection";
import type { Deployment } from "../../../valkey/deployment";
import { ownersOf } from "../slot-owners";
import { type RestoreResult, restoreResultSchema } from "./fill-result";
import { withConnection } from "../../../valkey/connections";

const KEY = "valkey-measured:restored";
const REPLICA_MS = 5_000;

const schema = z.strictObject({
  /** Time for `continues` of the fill, milliseconds since the epoch. It names the fill. */
  time: z.number(),
  result: restoreResultSchema,
});

/** @returns undefined if the fill with this time for `continues` has not ended @throws Failure */
export async function readFilled(target: Deployment, time: number): Promise<RestoreResult | undefined> {
  const text = await withOwner(target, (connection) => connection.get(KEY).catch(() => null));
  const read = schema.safeParse(parseJson(text ?? undefined));
  return read.success && read.data.time === time ? read.data.result : undefined;
}

/** Records that a fill has ended, and waits until a replica has the record. @throws Failure */
export async function writeFilled(target: Deployment, time: number, result: RestoreResult): Promise<void> {
  await withOwner(target, async (connection, hasReplica) => {
    await connection.set(KEY, JSON.stringify({ time, result }));
    if (hasReplica) await connection.wait(1, REPLICA_MS);
  });
}

export async function removeFilled(target: Deployment): Promise<void> {
  await withOwner(target, async (connection, hasReplica) => {
    if ((await connection.del(KEY)) > 0 && hasReplica) await connection.wait(1, REPLICA_MS);
  });
}

async function withOwner<T>(
  target: Deployment,
  work: (connection: Connection, hasReplica: boolean) => Promise<T>,
): Promise<T | undefined> {
  const owner = (await ownersOf(target))[calculateSlot(KEY)];
  if (owner === undefined) return undefined;
  return withConnection(target.connect(owner.node), (connection) => work(connection, owner.hasReplica));
}

function parseJson(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
