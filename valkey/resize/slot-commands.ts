/** Commands about many slots, sent a number at a time. */
import type { Connection } from "../connection";
import { messageOf } from "../../lib/errors";

/** Slots that go one way at once: few enough for a killed run to leave little open, and that most of their time is not spent on messages. */
export const SLOT_BATCH = 16;
/** Milliseconds a SETSLOT waits for its node's replicas. */
const REPLICAS_MS = 5000;
const ATTEMPTS = 5;

/** A primary tells its replicas first and waits for them. */
export async function setSlots(
  connection: Connection,
  slots: readonly number[],
  ...what: readonly string[]
): Promise<void> {
  for (let start = 0; start < slots.length; start += SLOT_BATCH)
    await setSome(connection, slots.slice(start, start + SLOT_BATCH), what);
}

async function setSome(connection: Connection, slots: readonly number[], what: readonly string[]): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await sendPipeline(
        connection,
        slots.map((slot) => ["CLUSTER", "SETSLOT", slot, ...what, "TIMEOUT", REPLICAS_MS]),
      );
      return;
    } catch (error) {
      if (attempt >= ATTEMPTS || !messageOf(error).startsWith("NOREPLICAS")) throw error;
    }
  }
}

/** Sends commands at once. @throws the first error among their replies */
export async function sendPipeline(
  connection: Connection,
  commands: readonly (readonly (string | number)[])[],
): Promise<unknown[]> {
  const answers = (await connection.pipeline(commands.map((command) => ["call", ...command])).exec()) ?? [];
  return answers.map(([error, value]) => {
    if (error !== null) throw error;
    return value;
  });
}
