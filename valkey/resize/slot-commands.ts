import { messageOf } from "../../lib/errors";
import type { Connection } from "../connection";

/** Small, because a killed resize must leave few migrations open; large enough that round trips do not dominate. */
export const SLOT_BATCH = 16;
/** SETSLOT waits for the primary's replicas. */
const REPLICAS_MS = 5000;
const MAX_ATTEMPTS = 5;

export interface DatabaseSlot {
  readonly slot: number;
  readonly database: number;
}

/** The primary first waits for its replicas. @param words after the slot: `["IMPORTING", id]`, `["STABLE"]` … */
export async function setSlots(
  connection: Connection,
  slots: readonly number[],
  ...words: readonly string[]
): Promise<void> {
  for (let start = 0; start < slots.length; start += SLOT_BATCH) {
    await setBatch(connection, slots.slice(start, start + SLOT_BATCH), words);
  }
}

async function setBatch(connection: Connection, slots: readonly number[], words: readonly string[]): Promise<void> {
  const commands = slots.map((slot) => ["CLUSTER", "SETSLOT", slot, ...words, "TIMEOUT", REPLICAS_MS]);
  for (let attempt = 1; ; attempt++) {
    try {
      await sendPipeline(connection, commands);
      return;
    } catch (error) {
      if (attempt >= MAX_ATTEMPTS || !messageOf(error).startsWith("NOREPLICAS")) throw error;
    }
  }
}

interface SlotKeys extends DatabaseSlot {
  readonly keys: number;
}

/** Database 0 must be selected before the call, and is selected again at the end. */
export async function countKeys(
  connection: Connection,
  slots: readonly number[],
  databases: number,
): Promise<SlotKeys[]> {
  const asked = Array.from({ length: databases }, (_, database) => slots.map((slot) => ({ slot, database })));
  const counts = asked.map((own) => own.map(({ slot }) => ["CLUSTER", "COUNTKEYSINSLOT", slot]));
  // A server with one database needs no SELECT.
  const commands =
    databases === 1
      ? counts.flat()
      : [...counts.flatMap((own, database) => [["SELECT", database], ...own]), ["SELECT", 0]];
  const replies = await sendPipeline(connection, commands);
  // SELECT replies with a word, COUNTKEYSINSLOT with a number.
  const found = replies.filter((reply) => typeof reply === "number");
  return asked.flat().map((each, index) => ({ ...each, keys: found[index] ?? 0 }));
}

/** Each slot with a database that contains keys of it. The arguments are those of `countKeys`. */
export async function heldSlots(
  connection: Connection,
  slots: readonly number[],
  databases: number,
): Promise<DatabaseSlot[]> {
  return (await countKeys(connection, slots, databases)).filter(({ keys }) => keys !== 0);
}

/** @throws the first error among the replies */
async function sendPipeline(
  connection: Connection,
  commands: readonly (readonly (string | number)[])[],
): Promise<unknown[]> {
  const replies = (await connection.pipeline(commands.map((command) => ["call", ...command])).exec()) ?? [];
  return replies.map(([error, value]) => {
    if (error !== null) throw error;
    return value;
  });
}
