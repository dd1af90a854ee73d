/** A migration of a slot that a tool has begun and that nobody continues. */
import calculateSlot from "cluster-key-slot";
import { Failure } from "../../../lib/errors";
import type { ControlledPods } from "../../support/kubernetes/controlled-pods";

const KEYS = 20;
/** Fewer slots than a range has that the observer's slot begins. */
const ROOM = 1000;

/** A check after the repair. */
export type Check = () => Promise<void>;

/**
 * Opens a slot with keys, as a tool does that stops right there. In every second round, clients have written half of
 * the keys to the target before. No other client may write to this slot: the number of its keys must stay the same.
 * @param checks receives a check that no key is lost
 */
export async function abandonSlot({ pods }: ControlledPods, round: number, checks: Check[]): Promise<void> {
  const { shards } = (await pods.verified()).verdict;
  const [source, target] = [shards[round % shards.length], shards[(round + 1) % shards.length]];
  // Slots of former rounds may be ranges of their own.
  const range = source?.slots.find(({ from, to }) => to - from > ROOM);
  const slot = (range?.from ?? 0) + ROOM - round;
  const keys = keysOfSlot(slot);
  await pods.withNodes(async (at) => {
    const [from, to] = [at(source?.primary), at(target?.primary)];
    const isHalfMoved = round % 2 === 1;
    for (const key of isHalfMoved ? keys.slice(0, KEYS / 2) : keys) await from.set(key, "before");
    await to.call("CLUSTER", "SETSLOT", slot, "IMPORTING", String(await from.call("CLUSTER", "MYID")));
    await from.call("CLUSTER", "SETSLOT", slot, "MIGRATING", String(await to.call("CLUSTER", "MYID")));
    for (const key of isHalfMoved ? keys.slice(KEYS / 2) : []) {
      await to.call("ASKING");
      await to.set(key, "meanwhile");
    }
  });
  checks.push(() =>
    pods.withNodes(async (at) => {
      const owner = (await pods.verified()).verdict.shards.find(({ slots }) =>
        slots.some(({ from, to }) => from <= slot && slot <= to),
      );
      const found = await Promise.all(keys.map((key) => at(owner?.primary).exists(key)));
      const missing = found.filter((count) => count === 0).length;
      if (missing > 0) throw new Failure(`${missing} of ${KEYS} keys of slot ${slot} are gone`);
    }),
  );
}

function keysOfSlot(slot: number): string[] {
  const keys: string[] = [];
  for (let index = 0; keys.length < KEYS; index++)
    if (calculateSlot(`abandoned-${index}`) === slot) keys.push(`abandoned-${index}`);
  return keys;
}
