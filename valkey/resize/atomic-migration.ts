/** CLUSTER MIGRATESLOTS (Valkey 9.0) sends keys like a primary to a replica, then hands over all slots at once. */
import { Failure, messageOf } from "../../lib/errors";
import type { Connection } from "../connection";
import type { Deadline } from "../membership/deadline";
import type { Member } from "../membership/members";
import { type MigrationJob, hasEnded, parseMigrationJobs } from "../topology/migration-jobs";
import type { MigrationContext } from "./migration-context";
import type { SlotTransfer } from "./slot-transfers";

/** Asks the server, because version numbers of forks and packages do not always tell which commands exist. */
export async function supportsAtomicMigration(connection: Connection): Promise<boolean> {
  try {
    const [known] = await connection.command("INFO", "cluster|migrateslots");
    return known !== null && known !== undefined;
  } catch {
    return false;
  }
}

interface Setback {
  /** State of the migration and the reason for this state, in the words of the source server. */
  readonly words: string;
  /** Names of the jobs of the migration. The source and the target use the same names. */
  readonly jobs: readonly string[];
}

/** If the migration failed, `isTaken` finds out where the slots are. @throws Failure when the server refuses */
export async function migrateAtomically(
  { from: source, to, ranges }: SlotTransfer,
  context: MigrationContext,
): Promise<Setback | undefined> {
  const { connection } = context.member(source);
  const before = new Set((await readJobs(connection)).map(({ name }) => name));
  const bounds = ranges.flatMap((range) => [range.from, range.to]);
  try {
    await connection.call("CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", ...bounds, "NODE", context.member(to).id);
  } catch (error) {
    throw new Failure(`${source} cannot migrate slots to ${to}: ${messageOf(error)}`, { cause: error });
  }
  let jobs: MigrationJob[] = [];
  await context.deadline.pollWhileProgressing(async () => {
    jobs = (await readJobs(connection)).filter(({ name }) => !before.has(name));
    return describeRunning(source, jobs);
  });
  const setbacks = jobs.filter(({ state, operation }) => operation === "EXPORT" && state !== "success");
  if (setbacks.length === 0) return undefined;
  return {
    words: setbacks.map(({ state, message }) => [state, message].filter(Boolean).join(", ")).join("; "),
    jobs: setbacks.map(({ name }) => name),
  };
}

/** Such a migration continues even if the resize that started it was killed. */
export async function awaitMigrations(members: readonly Member[], deadline: Deadline): Promise<void> {
  await Promise.all(
    members.map(async (member) => {
      if (!(await supportsAtomicMigration(member.connection))) return;
      await deadline.pollWhileProgressing(async () =>
        describeRunning(member.node.name, await readJobs(member.connection)),
      );
    }),
  );
}

export async function runningMigrations({ connection }: Member): Promise<MigrationJob[]> {
  if (!(await supportsAtomicMigration(connection))) return [];
  return (await readJobs(connection)).filter((job) => !hasEnded(job));
}

/**
 * The target notices a failed migration later, and until then refuses the same slots ("Slot import in progress").
 * @returns true if it owns the slots nevertheless: a source can report a cancelled migration after the hand-over
 */
export async function isTaken(
  { from, to }: Pick<SlotTransfer, "from" | "to">,
  setback: Setback,
  { member, deadline }: MigrationContext,
): Promise<boolean> {
  const { id } = member(from);
  const { connection } = member(to);
  let imports: MigrationJob[] = [];
  await deadline.pollWhileProgressing(async () => {
    const jobs = await readJobs(connection);
    imports = jobs.filter(({ operation, source }) => operation === "IMPORT" && source === id);
    return describeRunning(to, imports);
  });
  const own = imports.filter(({ name }) => setback.jobs.includes(name));
  return own.length === setback.jobs.length && own.every(({ state }) => state === "success");
}

function describeRunning(node: string, jobs: readonly MigrationJob[]): string | undefined {
  const running = jobs.find((job) => !hasEnded(job));
  if (running === undefined) return undefined;
  const { operation, state, remaining } = running;
  return `${node} is migrating slots (${operation.toLowerCase()}: ${state}, ${remaining} bytes to send)`;
}

async function readJobs(connection: Connection): Promise<MigrationJob[]> {
  return parseMigrationJobs(await connection.call("CLUSTER", "GETSLOTMIGRATIONS"));
}
