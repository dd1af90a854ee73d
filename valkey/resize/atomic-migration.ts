/** Atomic slot migration (Valkey 9.0): the source sends the slots' keys as it would to a replica, then hands them over at once. */
import type { Connection } from "../connection";
import { Failure, messageOf } from "../../lib/errors";
import type { SlotTransfer } from "./slot-transfers";
import { countSlots } from "../topology/slots";
import type { Deadline } from "../formation/deadline";
import type { Member } from "../formation/members";
import type { MigrationContext } from "./migration-context";

/** An entry of CLUSTER GETSLOTMIGRATIONS, as far as it is needed. */
interface Job {
  readonly name: string;
  readonly operation: string;
  readonly state: string;
  readonly message: string;
  /** Bytes yet to be sent. */
  readonly remaining: string;
}

const ENDED = new Set(["success", "failed", "cancelled"]);

/** Whether a server has the command: by asking for it, for forks and packagers differ in what a version has. */
export async function supportsAtomicMigration(connection: Connection): Promise<boolean> {
  try {
    const [known] = await connection.command("INFO", "cluster|migrateslots");
    return known !== null && known !== undefined;
  } catch {
    return false;
  }
}

/**
 * Moves slots away from one node, a transfer after the other (the server sends one at a time too).
 * @param moved told of slots that have changed their owner
 * @returns what the server says of migrations that it gave up, which leave everything as it was
 */
export async function migrateAtomically(
  source: string,
  transfers: readonly SlotTransfer[],
  moving: MigrationContext,
  moved: (slots: number) => void,
): Promise<string[]> {
  const { connection } = moving.member(source);
  const setbacks: string[] = [];
  for (const { to, ranges } of transfers) {
    moving.signal?.throwIfAborted();
    const before = new Set((await readJobs(connection)).map(({ name }) => name));
    try {
      await connection.call(
        "CLUSTER",
        "MIGRATESLOTS",
        "SLOTSRANGE",
        ...ranges.flatMap((range) => [range.from, range.to]),
        "NODE",
        moving.member(to).id,
      );
    } catch (error) {
      throw new Failure(`${source} does not move slots to ${to}: ${messageOf(error)}`, { cause: error });
    }
    let jobs: Job[] = [];
    await moving.deadline.pollWhileProgressing(async () => {
      jobs = (await readJobs(connection)).filter(({ name }) => !before.has(name));
      return describeRunning(source, jobs);
    });
    const failed = jobs.filter(({ state, operation }) => operation === "EXPORT" && state !== "success");
    if (failed.length === 0) moved(countSlots(ranges));
    setbacks.push(...failed.map(({ state, message }) => `${source} to ${to}: ${state}, ${message}`));
  }
  return setbacks;
}

/** Waits for migrations that somebody began, or a run that was killed. */
export async function awaitMigrations(members: readonly Member[], awaiting: Deadline): Promise<void> {
  await Promise.all(
    members.map(async ({ node, connection }) => {
      if (await supportsAtomicMigration(connection))
        await awaiting.pollWhileProgressing(async () => describeRunning(node.name, await readJobs(connection)));
    }),
  );
}

function describeRunning(node: string, jobs: readonly Job[]): string | undefined {
  const [running] = jobs.filter(({ state }) => !ENDED.has(state));
  if (running === undefined) return undefined;
  return `${node} is moving slots (${running.operation.toLowerCase()}: ${running.state}, ${running.remaining} bytes to be sent)`;
}

async function readJobs(connection: Connection): Promise<Job[]> {
  const entries = (await connection.call("CLUSTER", "GETSLOTMIGRATIONS")) as (string | number)[][];
  return entries.map((flat) => {
    const value = (name: string): string => String(flat[flat.indexOf(name) + 1] ?? "");
    return {
      name: value("name"),
      operation: value("operation"),
      state: value("state"),
      message: value("message"),
      remaining: value("remaining_repl_size"),
    };
  });
}
