/** Files of an archive that are written together with their size and checksum. */
import { createHash } from "node:crypto";
import type { ArchiveStore, PendingFile } from "./store";

export class CheckedFile {
  readonly #hash = createHash("sha256");
  #size = 0;

  private constructor(private readonly file: PendingFile) {}

  static async create(store: ArchiveStore, name: string): Promise<CheckedFile> {
    return new CheckedFile(await store.create(name));
  }

  get size(): number {
    return this.#size;
  }

  async write(bytes: Buffer): Promise<void> {
    this.#hash.update(bytes);
    this.#size += bytes.length;
    await this.file.write(bytes);
  }

  /** Makes the file visible. @returns facts for its manifest */
  async commit(): Promise<{ readonly size: number; readonly sha256: string }> {
    await this.file.commit();
    return { size: this.#size, sha256: this.#hash.digest("hex") };
  }

  async discard(): Promise<void> {
    await this.file.discard();
  }
}

/** Writes a manifest. Its file appears as a whole. */
export async function writeManifest(store: ArchiveStore, name: string, manifest: object): Promise<void> {
  const file = await store.create(name);
  await file.write(Buffer.from(`${JSON.stringify(manifest)}\n`));
  await file.commit();
}
