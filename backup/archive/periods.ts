/**
 * The folder of an archive. It belongs to one deployment. A period is a time in which each shard kept its slots. Sets
 * are deleted only by `keeping/`, and periods by nobody.
 *
 *   archive.json                  the deployment
 *   PERIOD/period.json            the shards with their slots
 *   PERIOD/ended.json             time until which the shards had these slots, if slots have moved
 *   PERIOD/SHARD/SET/             sets of a shard, see manifests.ts
 */
import { z } from "zod";
import { BadInput } from "../../lib/errors";
import type { Mode } from "../../valkey/node";
import { writeManifest } from "./checked-file";
import { MANIFEST_VERSION, readManifest } from "./manifests";
import { type ArchiveStore, folderOf } from "./store";

const version = z.literal(MANIFEST_VERSION);

const ownerSchema = z.object({
  version,
  deployment: z.string(),
  mode: z.enum(["cluster", "replication"]),
  /** Endpoints of the deployment's nodes when archiving last started. */
  nodes: z.array(z.string()),
});

const periodSchema = z.object({
  version,
  startedAt: z.number(),
  shards: z.array(
    z.object({
      name: z.string().regex(/^[\w-]+$/),
      /** Slots such as `0-5460`. Undefined in replication mode. */
      slots: z.string().optional(),
    }),
  ),
  /** Number of databases of each server. Undefined if the program's user has no right to read it. */
  databases: z.int().min(1).optional(),
});

const endSchema = z.object({ version, at: z.number() });

export type ArchiveOwner = Omit<z.infer<typeof ownerSchema>, "version">;
type PeriodManifest = z.infer<typeof periodSchema>;

export interface Period extends PeriodManifest {
  readonly name: string;
  /** Time until which the shards had their slots, milliseconds since the epoch. Undefined if no slots have moved. */
  readonly endedAt: number | undefined;
}

const OWNER = "archive.json";
const PERIOD = "period.json";
const END = "ended.json";

export async function readOwner(store: ArchiveStore): Promise<ArchiveOwner | undefined> {
  if (!(await store.list("")).includes(OWNER)) return undefined;
  return readManifest(store, OWNER, ownerSchema);
}

/** A deployment is the same if its name, its mode and at least one of its nodes are the same. */
export function ownerProblem(owner: ArchiveOwner, { deployment, mode, nodes }: ArchiveOwner): string | undefined {
  if (owner.mode === mode && owner.deployment === deployment && owner.nodes.some((each) => nodes.includes(each)))
    return undefined;
  return (
    `the folder has sets of a different deployment: ${owner.deployment}, ${owner.mode} mode, with nodes ` +
    `${owner.nodes.join(", ")}; use a different folder`
  );
}

export async function claimArchive(store: ArchiveStore, wanted: ArchiveOwner, folder: string): Promise<void> {
  const owner = await readOwner(store);
  const problem = owner === undefined ? undefined : ownerProblem(owner, wanted);
  if (problem !== undefined) throw BadInput.of(folder, "other-owner", problem);
  // Nodes may come and go, and an archive that is used goes with them.
  await writeManifest(store, OWNER, { version: MANIFEST_VERSION, ...wanted });
}

export async function listPeriods(store: ArchiveStore): Promise<Period[]> {
  const periods: Period[] = [];
  for (const name of await store.list("")) {
    const files = await store.list(name);
    if (!files.includes(PERIOD)) continue;
    const manifest = await readManifest(store, `${name}/${PERIOD}`, periodSchema);
    const end = files.includes(END) ? await readManifest(store, `${name}/${END}`, endSchema) : undefined;
    periods.push({ ...manifest, name, endedAt: end?.at });
  }
  return periods;
}

export async function listStrayPeriods(store: ArchiveStore): Promise<string[]> {
  const names: string[] = [];
  for (const name of await store.list("")) {
    if (Number.isNaN(nameTime(name))) continue;
    const files = await store.list(name);
    if (files.length > 0 && !files.includes(PERIOD)) names.push(name);
  }
  return names;
}

/** Milliseconds since the epoch; NaN for other names. */
function nameTime(name: string): number {
  const [, year, month, day, hour, minute, second, ms] =
    /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})Z/.exec(name) ?? [];
  return Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}.${ms}Z`);
}

/** Sorts after all earlier names, also after a set-back clock. @param startedAt milliseconds since the epoch */
export function nextName(earlier: readonly string[], startedAt: number): string {
  const last = Math.max(...earlier.map(nameTime).filter((time) => !Number.isNaN(time)));
  return new Date(Math.max(startedAt, last + 1)).toISOString().replaceAll(/[-:.]/g, "");
}

export async function beginPeriod(
  store: ArchiveStore,
  { startedAt, shards, databases }: Omit<PeriodManifest, "version">,
): Promise<Period> {
  const name = nextName(await store.list(""), startedAt);
  const manifest: PeriodManifest = { version: MANIFEST_VERSION, startedAt, shards, databases };
  await writeManifest(store, `${name}/${PERIOD}`, manifest);
  return { ...manifest, name, endedAt: undefined };
}

/** @param at last time at which the shards had the slots of the period, milliseconds since the epoch */
export async function endPeriod(store: ArchiveStore, { name }: Pick<Period, "name">, at: number): Promise<void> {
  await writeManifest(store, `${name}/${END}`, { version: MANIFEST_VERSION, at });
}

export function shardStore(store: ArchiveStore, { name }: Pick<Period, "name">, shard: string): ArchiveStore {
  return folderOf(store, `${name}/${shard}`);
}

export function modeOf({ shards }: Pick<Period, "shards">): Mode {
  return shards.some(({ slots }) => slots !== undefined) ? "cluster" : "replication";
}
