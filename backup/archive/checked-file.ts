import { createHash } from "node:crypto";
import { Failure } from "../../lib/errors";
import type { ArchiveStore, PendingFile } from "./store";

export class CheckedFile {
  readonly #hash = createHash("sha256");
  #size = 0;
  #isWhole = true;

  private constructor(private readonly file: PendingFile) {}

  static async create(store: ArchiveStore, name: string, expectedBytes?: number): Promise<CheckedFile> {
    return new CheckedFile(await store.create(name, expectedBytes));
  }

  get size(): number {
    return this.#size;
  }

  /** If not, the file ends at an unknown place, and can only be discarded. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  async write(bytes: Buffer): Promise<void> {
    this.#isWhole = false;
    await this.file.write(bytes);
    this.#hash.update(bytes);
    this.#size += bytes.length;
    this.#isWhole = true;
  }

  async commit(): Promise<{ readonly size: number; readonly sha256: string }> {
    if (!this.#isWhole) throw new Failure("a file that was not written as a whole cannot be kept");
    this.#isWhole = false;
    await this.file.commit();
    return { size: this.#size, sha256: this.#hash.digest("hex") };
  }

  async discard(): Promise<void> {
    await this.file.discard();
  }
}

/** Readers see either the complete manifest or no manifest. */
export async function writeManifest(store: ArchiveStore, name: string, manifest: object): Promise<void> {
  await store.put(name, [Buffer.from(`${JSON.stringify(manifest)}\n`)]);
}
