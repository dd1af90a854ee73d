/**
 * Records of test restores that prove that an archive can be restored. A restore is recorded if the comparison of all
 * its keys with the archive passed.
 */
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

const FOLDER = "proofs";
const NAME = /^\d{8}T\d{9}Z\.json$/;

/** Writes the record of a restore whose comparison passed to the archive. */
export async function recordProof(store: ArchiveStore, proof: Proof): Promise<void> {
  const name = new Date(proof.provenAt).toISOString().replaceAll(/[-:.]/g, "");
  await writeManifest(store, `${FOLDER}/${name}.json`, { version: MANIFEST_VERSION, ...proof });
}

/**
 * The last proof of sets that still exist. A damaged record proves nothing. Undefined if there is no such proof.
 * @param sets the sets of the archive, as PERIOD/SHARD/SET
 */
export async function readLastProof(store: ArchiveStore, sets: ReadonlySet<string>): Promise<Proof | undefined> {
  for (const name of (await store.list(FOLDER)).toReversed()) {
    if (!NAME.test(name)) continue;
    const proof = await readProof(store, name);
    if (proof?.shards.every(({ shard, set }) => sets.has(`${proof.period}/${shard}/${set}`)) === true) return proof;
  }
  return undefined;
}

async function readProof(store: ArchiveStore, name: string): Promise<Proof | undefined> {
  try {
    return await readManifest(store, `${FOLDER}/${name}`, proofSchema);
  } catch (error) {
    if (error instanceof BadInput) return undefined;
    throw error;
  }
}
