/** Holds: files in an archive with which a restore says which sets it reads, so that these sets are not deleted. */
import { randomUUID } from "node:crypto";
import { z } from "zod";
import { BadInput, Failure, messageOf } from "../../../lib/errors";
import type { Restore } from "../catalog";
import { writeManifest } from "../checked-file";
import { MANIFEST_VERSION, readManifest } from "../manifests";
import { isDeleted } from "../sets";
import type { ArchiveStore } from "../store";

const HOLDS = "holds";
const RENEW_MS = 60_000;
/** Time without a change, by the clock of the deleting process, after which a hold has ended. */
const HOLD_MS = 600_000;

const holdSchema = z.object({
  version: z.literal(MANIFEST_VERSION),
  /** The held sets, as PERIOD/SHARD/SET. */
  sets: z.array(z.string()),
  renewals: z.int(),
});

/** If the archive cannot be written, the work runs without a hold. @throws Failure if a set was deleted before */
export async function holdingSets<T>(
  { place, period, shards }: Pick<Restore, "place" | "period" | "shards">,
  report: (line: string) => void,
  work: () => Promise<T>,
  renewMs = RENEW_MS,
): Promise<T> {
  const name = `${HOLDS}/${randomUUID()}.json`;
  const sets = shards.map((shard) => `${period.name}/${shard.name}/${shard.set.name}`);
  let renewals = 0;
  const write = (): Promise<void> => writeManifest(place, name, { version: MANIFEST_VERSION, sets, renewals });
  try {
    await write();
  } catch (error) {
    report(`the archive may delete the sets during the restore, because it cannot be written: ${messageOf(error)}`);
    return work();
  }
  let renewing = Promise.resolve();
  const timer = setInterval(() => {
    renewals++;
    renewing = renewing.then(write).catch(() => undefined);
  }, renewMs);
  timer.unref();
  try {
    for (const shard of shards)
      if (await isDeleted(shard.store, shard.set.name))
        throw new Failure(
          `set ${shard.set.name} of ${shard.name} was deleted before the restore began; start it again`,
        );
    return await work();
  } finally {
    clearInterval(timer);
    await renewing;
    await place.remove(name).catch(() => undefined);
  }
}

export class Holds {
  /** Content of each hold, and the time at which it was first seen, by `performance.now`. */
  readonly #seen = new Map<string, { readonly content: string; readonly since: number }>();

  constructor(
    private readonly store: ArchiveStore,
    private readonly holdMs = HOLD_MS,
  ) {}

  async read(): Promise<Set<string>> {
    const held = new Set<string>();
    const names = await this.store.list(HOLDS);
    for (const name of this.#seen.keys()) if (!names.includes(name)) this.#seen.delete(name);
    for (const name of names) {
      const hold = await this.#readHold(`${HOLDS}/${name}`);
      const content = JSON.stringify(hold);
      const seen = this.#seen.get(name);
      const now = performance.now();
      if (seen?.content !== content) this.#seen.set(name, { content, since: now });
      else if (now - seen.since > this.holdMs) {
        await this.store.remove(`${HOLDS}/${name}`);
        continue;
      }
      for (const set of hold?.sets ?? []) held.add(set);
    }
    return held;
  }

  async #readHold(name: string): Promise<z.infer<typeof holdSchema> | undefined> {
    try {
      return await readManifest(this.store, name, holdSchema);
    } catch (error) {
      if (error instanceof BadInput || !(await this.store.list(HOLDS)).includes(name.slice(HOLDS.length + 1)))
        return undefined;
      throw error;
    }
  }
}
