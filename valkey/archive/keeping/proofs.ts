/** Proofs that sets of an archive could be restored: a restore whose comparison passed. */
import { z } from "zod";
import { writeManifest } from "../checked-file";
import { MANIFEST_VERSION, readManifest } from "../manifests";
import type { ArchiveStore } from "../store";

const proofSchema = z.object({
  version: z.literal(MANIFEST_VERSION),
  /** Time of the comparison, milliseconds since the epoch. */
  provenAt: z.number(),
  period: z.string(),
  keys: z.int().min(0),
  /** The sets, with the instant to which each was restored. */
  shards: z.array(z.object({ shard: z.string(), set: z.string(), instant: z.number() })),
});

export type Proof = Omit<z.infer<typeof proofSchema>, "version">;

const FOLDER = "proofs";
const NAME = /^\d{8}T\d{9}Z\.json$/;

/** Records a proof. */
export async function recordProof(store: ArchiveStore, proof: Proof): Promise<void> {
  const name = new Date(proof.provenAt).toISOString().replaceAll(/[-:.]/g, "");
  await writeManifest(store, `${FOLDER}/${name}.json`, { version: MANIFEST_VERSION, ...proof });
}

/** The last proof. Undefined if there is none. @throws BadInput for a damaged record */
export async function readLastProof(store: ArchiveStore): Promise<Proof | undefined> {
  const last = (await store.list(FOLDER)).findLast((name) => NAME.test(name));
  return last === undefined ? undefined : readManifest(store, `${FOLDER}/${last}`, proofSchema);
}
