/**
 * Atomic slot migration (CLUSTER MIGRATESLOTS, Valkey 9.0): the source sends the slots' keys to the target as to a
 * replica, then hands the slots over at once.
 */
import { Failure, messageOf } from "../../lib/errors";
import type { Connection } from "../connection";
import type { Deadline } from "../formation/deadline";
import type { Member } from "../formation/members";
import { parseFlatReply } from "../topology/info";
import type { MigrationContext } from "./migration-context";
import type { SlotTransfer } from "./slot-transfers";

/** An entry of CLUSTER GETSLOTMIGRATIONS. */
interface MigrationJob {
  readonly name: string;
  readonly operation: string;
  /** Node ID of the slots' owner when it began. */
  readonly source: string;
  readonly state: string;
  readonly message: string;
  /** Bytes that remain to be sent. */
  readonly remaining: string;
}

const ENDED = new Set(["success", "failed", "cancelled"]);

/**
 * Whether a server has CLUSTER MIGRATESLOTS. The server is asked, because forks and packages differ from their version.
 */
export async function supportsAtomicMigration(connection: Connection): Promise<boolean> {
  try {
    const [known] = await connection.command("INFO", "cluster|migrateslots");
    return known !== null && known !== undefined;
  } catch {
    return false;
  }
}

/**
 * Migrates slots at once. A source carries out one migration after the other.
 * @returns why the server failed or cancelled it, in words; the slots are where they were. Undefined when it succeeded
 * @throws Failure when the server refuses
 */
export async function migrateAtomically(
  { from: source, to, ranges }: SlotTransfer,
  context: MigrationContext,
): Promise<string | undefined> {
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
  return setbacks.length === 0
    ? undefined
    : setbacks.map(({ state, message }) => [state, message].filter(Boolean).join(", ")).join("; ");
}

/** Waits until no atomic migration is under way, as one that a killed resize began may be. */
export async function awaitMigrations(members: readonly Member[], deadline: Deadline): Promise<void> {
  await Promise.all(
    members.map(async ({ node, connection }) => {
      if (!(await supportsAtomicMigration(connection))) return;
      await deadline.pollWhileProgressing(async () => describeRunning(node.name, await readJobs(connection)));
    }),
  );
}

/**
 * Waits until a target has given up what a source failed to migrate to it. The target notices later than the source, and refuses every
 * other migration of the same slots until then ("Slot import in progress").
 */
export async function awaitImports(from: string, to: string, { member, deadline }: MigrationContext): Promise<void> {
  const { id } = member(from);
  const { connection } = member(to);
  await deadline.pollWhileProgressing(async () => {
    const jobs = await readJobs(connection);
    return describeRunning(
      to,
      jobs.filter(({ operation, source }) => operation === "IMPORT" && source === id),
    );
  });
}

function describeRunning(node: string, jobs: readonly MigrationJob[]): string | undefined {
  const [running] = jobs.filter(({ state }) => !ENDED.has(state));
  if (running === undefined) return undefined;
  const { operation, state, remaining } = running;
  return `${node} is migrating slots (${operation.toLowerCase()}: ${state}, ${remaining} bytes to send)`;
}

async function readJobs(connection: Connection): Promise<MigrationJob[]> {
  const entries = (await connection.call("CLUSTER", "GETSLOTMIGRATIONS")) as unknown[];
  return entries.map(parseFlatReply).map((fields) => ({
    name: fields.get("name") ?? "",
    operation: fields.get("operation") ?? "",
    source: fields.get("source_node") ?? "",
    state: fields.get("state") ?? "",
    message: fields.get("message") ?? "",
    remaining: fields.get("remaining_repl_size") ?? "",
  }));
}
