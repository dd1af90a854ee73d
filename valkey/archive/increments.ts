/**
 * Increments of a set, as a store keeps them. A folder has two files for each increment: the commands, and the manifest
 * after them. A bucket has one object, because each object costs a request. The name of the object is its manifest, so
 * a list of names is enough to know what can be restored.
 */
import { createHash } from "node:crypto";
import { Failure } from "../../lib/errors";
import { CheckedFile, writeManifest } from "./checked-file";
import type { IncrementManifest } from "./manifests";
import { incrementFile, incrementManifestFile } from "./manifests";
import { incrementName } from "./increment-name";
import type { ArchiveStore } from "./store";

type Facts = Pick<IncrementManifest, "size" | "sha256">;

/** An increment that is being written. Nobody sees it before `commit`. */
export interface PendingIncrement {
  readonly size: number;
  write(bytes: Buffer): Promise<void>;
  /**
   * Makes the increment visible as a whole.
   * @returns the manifest that `describe` makes of its size and checksum. Undefined if a write has failed before
   */
  commit(describe: (facts: Facts) => IncrementManifest): Promise<IncrementManifest | undefined>;
}

/** Begins an increment. @param from offset before its first command */
export async function beginIncrement(store: ArchiveStore, set: string, from: number): Promise<PendingIncrement> {
  if (store.hasNamedIncrements) return new NamedIncrement(store, set);
  return new IncrementPair(store, set, await CheckedFile.create(store, `${set}/${incrementFile(from)}`));
}

/** Writes a manifest without commands. */
export async function writeMark(store: ArchiveStore, set: string, mark: IncrementManifest): Promise<void> {
  if (store.hasNamedIncrements) await store.put(`${set}/${incrementName(mark)}`, []);
  else await writeManifest(store, `${set}/${incrementManifestFile(mark.from)}`, mark);
}

/** Removes a manifest without commands after a later one has its instants. In a folder, they have the same name. */
export async function removeMark(store: ArchiveStore, set: string, mark: IncrementManifest): Promise<void> {
  if (store.hasNamedIncrements) await store.remove(`${set}/${incrementName(mark)}`);
}

class IncrementPair implements PendingIncrement {
  constructor(
    private readonly store: ArchiveStore,
    private readonly set: string,
    private readonly file: CheckedFile,
  ) {}

  get size(): number {
    return this.file.size;
  }

  async write(bytes: Buffer): Promise<void> {
    await this.file.write(bytes);
  }

  async commit(describe: (facts: Facts) => IncrementManifest): Promise<IncrementManifest | undefined> {
    if (!this.file.isWhole) {
      await this.file.discard();
      return undefined;
    }
    const manifest = describe(await this.file.commit());
    await writeManifest(this.store, `${this.set}/${incrementManifestFile(manifest.from)}`, manifest);
    return manifest;
  }
}

/** An increment in memory. Its name is known at its end. */
class NamedIncrement implements PendingIncrement {
  readonly #hash = createHash("sha256");
  readonly #pieces: Buffer[] = [];
  #size = 0;
  #isDone = false;

  constructor(
    private readonly store: ArchiveStore,
    private readonly set: string,
  ) {}

  get size(): number {
    return this.#size;
  }

  write(bytes: Buffer): Promise<void> {
    this.#pieces.push(bytes);
    this.#hash.update(bytes);
    this.#size += bytes.length;
    return Promise.resolve();
  }

  async commit(describe: (facts: Facts) => IncrementManifest): Promise<IncrementManifest> {
    if (this.#isDone) throw new Failure("an increment cannot be written twice");
    this.#isDone = true;
    const manifest = describe({ size: this.#size, sha256: this.#hash.digest("hex") });
    await this.store.put(`${this.set}/${incrementName(manifest)}`, this.#pieces);
    return manifest;
  }
}
