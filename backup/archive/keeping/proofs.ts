import { z } from "zod";
import { BadInput } from "../../../lib/errors";
import { writeManifest } from "../checked-file";
import { MANIFEST_VERSION, readManifest } from "../manifests";
import type { ArchiveStore } from "../store";

const proofSchema = z.object({
  version: z.literal(MANIFEST_VERSION),
  /** Time at which the comparison passed, milliseconds since the epoch. */
  provenAt: z.number(),
  period: z.string(),
  keys: z.int().min(0),
  /** The restored sets, with the time as of which each set was restored, milliseconds since the epoch. */
  shards: z.array(z.object({ shard: z.string(), set: z.string(), instant: z.number() })),
});

export type Proof = Omit<z.infer<typeof proofSchema>, "version">;

const failedDrillSchema = z.object({
  version: z.literal(MANIFEST_VERSION),
  /** Time at which the drill failed, milliseconds since the epoch. */
  failedAt: z.number(),
  reason: z.string(),
});

export type FailedDrill = Omit<z.infer<typeof failedDrillSchema>, "version">;

const PROOFS = "proofs";
const FAILED_DRILLS = "failed-drills";
const NAME = /^\d{8}T\d{9}Z\.json$/;

export async function recordProof(store: ArchiveStore, proof: Proof): Promise<void> {
  await writeManifest(store, nameIn(PROOFS, proof.provenAt), { version: MANIFEST_VERSION, ...proof });
}

export async function recordFailedDrill(store: ArchiveStore, failed: FailedDrill): Promise<void> {
  await writeManifest(store, nameIn(FAILED_DRILLS, failed.failedAt), { version: MANIFEST_VERSION, ...failed });
}

export async function readLastFailedDrill(store: ArchiveStore): Promise<FailedDrill | undefined> {
  for (const name of (await store.list(FAILED_DRILLS)).toReversed()) {
    const failed = NAME.test(name) ? await readRecord(store, `${FAILED_DRILLS}/${name}`, failedDrillSchema) : undefined;
    if (failed !== undefined) return failed;
  }
  return undefined;
}

/** A damaged record proves nothing. @param sets the sets of the archive, as PERIOD/SHARD/SET */
export async function readLastProof(store: ArchiveStore, sets: ReadonlySet<string>): Promise<Proof | undefined> {
  for (const name of (await store.list(PROOFS)).toReversed()) {
    if (!NAME.test(name)) continue;
    const proof = await readRecord(store, `${PROOFS}/${name}`, proofSchema);
    if (proof?.shards.every(({ shard, set }) => sets.has(`${proof.period}/${shard}/${set}`)) === true) return proof;
  }
  return undefined;
}

/** Name of a record, which begins with its time so that the last record has the last name. */
function nameIn(folder: string, at: number): string {
  return `${folder}/${new Date(at).toISOString().replaceAll(/[-:.]/g, "")}.json`;
}

async function readRecord<T>(store: ArchiveStore, name: string, schema: z.ZodType<T>): Promise<T | undefined> {
  try {
    return await readManifest(store, name, schema);
  } catch (error) {
    if (error instanceof BadInput) return undefined;
    throw error;
  }
}
