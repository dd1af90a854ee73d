/**
 * Distinguishes a stuck slot migration from one in progress by the servers' counts of migration commands: every
 * migration tool sends such commands, and clients send none.
 */
import { checksum } from "../../lib/checksum";
import { withConnections } from "../connections";
import { readClusterDatabases } from "../databases";
import type { Deployment } from "../deployment";
import type { MemberState } from "../membership/member-state";
import { type Member, memberNamed, readMemberStates } from "../membership/members";
import { infoFields, parseInfo } from "../topology/replies";
import { slotsIn } from "../topology/slots";
import { runningMigrations } from "./atomic-migration";
import { openMigrations } from "./open-migrations";
import { countKeys } from "./slot-commands";

export interface OpenSlots {
  /** Slots that are marked as MIGRATING or IMPORTING, and slots of atomic migrations that are in progress. */
  readonly slots: readonly number[];
  /** Checksum of marks and of counts of migration commands: it changes while somebody migrates slots. */
  readonly work: string;
  /** Checksum of the number of keys that the sources and the targets have in the marked slots. */
  readonly keys: string;
  readonly isMigrating: boolean;
}

/** Commands that migrate slots, by their names in INFO. Verification sends none of them. */
const COMMANDS: readonly string[] = [
  "migrate",
  "restore",
  "restore-asking",
  "cluster|setslot",
  "cluster|getkeysinslot",
  "cluster|migrateslots",
  "cluster|cancelslotmigrations",
];

/** The open slots of a cluster; undefined if no slot is open. @throws Failure when a node does not answer */
export async function readOpenSlots(deployment: Deployment): Promise<OpenSlots | undefined> {
  return withConnections(deployment, async (connections) => {
    const { members, states } = await readMemberStates(connections);
    const running = (await Promise.all(members.map(runningMigrations))).flat();
    const marked = states.flatMap(({ view }) => view.openSlots.map(({ slot }) => slot));
    const slots = [...new Set([...marked, ...running.flatMap((job) => slotsIn(job.slots))])];
    if (slots.length === 0) return undefined;
    const [work, keys] = await Promise.all([readWork(members, states), readKeys(members, states)]);
    return { slots: slots.sort((a, b) => a - b), work, keys, isMigrating: running.length > 0 };
  });
}

export async function readWork(members: readonly Member[], states: readonly MemberState[]): Promise<string> {
  const seen = await Promise.all(
    members.map(async ({ node: { name }, connection }, index) => {
      const stats = parseInfo(await connection.info("commandstats"));
      const calls = COMMANDS.map((command) => infoFields(stats.get(`cmdstat_${command}`) ?? "").get("calls") ?? "0");
      return { name, id: states[index]?.view.selfId, marks: states[index]?.view.openSlots, calls };
    }),
  );
  return checksum(JSON.stringify(seen.sort((a, b) => (a.name < b.name ? -1 : 1))));
}

async function readKeys(members: readonly Member[], states: readonly MemberState[]): Promise<string> {
  const { begun } = openMigrations(states);
  const member = memberNamed(members);
  const names = [...new Set(begun.flatMap(({ from, to }) => [from, to]))].filter((name) => name !== "").sort();
  const counts = await Promise.all(
    names.map(async (name) => {
      const slots = begun.filter(({ from, to }) => from === name || to === name).map(({ slot }) => slot);
      const { connection } = member(name);
      return countKeys(connection, slots, await readClusterDatabases(connection));
    }),
  );
  return checksum(JSON.stringify([names, counts]));
}
