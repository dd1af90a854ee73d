import { randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { type FileHandle, mkdir, open, opendir, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { codeOf } from "../../lib/errors";
import { type Lease, type LeaseFile, type LeaseTimes, LEASE, takeLease } from "./lease";

export interface PendingFile {
  write(bytes: Buffer): Promise<void>;
  /** Makes the file visible as a whole. It is then on the disk. */
  commit(): Promise<void>;
  discard(): Promise<void>;
}

export interface ArchiveStore {
  /** Whether the name of an increment (a file with commands) contains its manifest, instead of a separate file. */
  readonly hasNamedIncrements: boolean;
  /** `commit` replaces an existing file. @param expectedBytes highest expected size; undefined for a small file */
  create(name: string, expectedBytes?: number): Promise<PendingFile>;
  /** Writes a file that appears as a whole, and replaces an existing file. */
  put(name: string, pieces: readonly Buffer[]): Promise<void>;
  /** Sorted; empty if there is no such folder. @param most number of first names that the caller needs */
  list(folder: string, most?: number): Promise<string[]>;
  removePending(folder: string): Promise<void>;
  /** @throws the store's error, when the first piece is read */
  read(name: string): AsyncIterable<Buffer>;
  remove(name: string): Promise<void>;
  /** @param last file to remove. @throws the signal's reason; then the last file is still there */
  removeFolder(name: string, last: string, signal: AbortSignal): Promise<void>;
}

export interface Place extends ArchiveStore {
  readonly label: string;
  /** Whether files must be copied to this machine before servers can load them. */
  readonly isRemote: boolean;
  lease(signal: AbortSignal): Promise<Lease | undefined>;
}

export function folderOf(store: ArchiveStore, folder: string): ArchiveStore {
  const inside = (name: string): string => (name === "" ? folder : `${folder}/${name}`);
  return {
    hasNamedIncrements: store.hasNamedIncrements,
    create: (name, expectedBytes) => store.create(inside(name), expectedBytes),
    put: (name, pieces) => store.put(inside(name), pieces),
    list: (name, most) => store.list(inside(name), most),
    removePending: (name) => store.removePending(inside(name)),
    read: (name) => store.read(inside(name)),
    remove: (name) => store.remove(inside(name)),
    removeFolder: (name, last, signal) => store.removeFolder(inside(name), last, signal),
  };
}

const PENDING = ".part";

export class DirectoryStore implements Place {
  readonly hasNamedIncrements = false;
  readonly isRemote = false;

  constructor(readonly path: string) {}

  get label(): string {
    return this.path;
  }

  async create(name: string): Promise<PendingFile> {
    const path = join(this.path, name);
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    return new DirectoryFile(path, await open(path + PENDING, "w", 0o600));
  }

  async put(name: string, pieces: readonly Buffer[]): Promise<void> {
    const file = await this.create(name);
    try {
      for (const piece of pieces) await file.write(piece);
      await file.commit();
    } catch (error) {
      await file.discard();
      throw error;
    }
  }

  async list(folder: string): Promise<string[]> {
    try {
      const names = await readdir(join(this.path, folder));
      return names.filter((name) => !name.endsWith(PENDING)).sort();
    } catch (error) {
      if (["ENOENT", "ENOTDIR"].includes(codeOf(error) ?? "")) return [];
      throw error;
    }
  }

  async removePending(folder: string): Promise<void> {
    const path = join(this.path, folder);
    // A folder can have so many files that no list of them is made.
    const entries = await opendir(path, { bufferSize: 1024 }).catch(unlessMissing);
    for await (const entry of entries ?? []) {
      if (entry.isDirectory()) await this.removePending(join(folder, entry.name));
      else if (entry.name.endsWith(PENDING)) await rm(join(path, entry.name), { force: true });
    }
  }

  read(name: string): AsyncIterable<Buffer> {
    return createReadStream(join(this.path, name), { highWaterMark: 1024 ** 2 });
  }

  async remove(name: string): Promise<void> {
    await rm(join(this.path, name), { force: true });
  }

  async removeFolder(name: string, last: string, signal: AbortSignal): Promise<void> {
    for (const each of await this.list(name)) {
      signal.throwIfAborted();
      if (each !== last) await rm(join(this.path, name, each), { recursive: true, force: true });
    }
    await rm(join(this.path, name), { recursive: true, force: true });
  }

  async lease(signal: AbortSignal, times?: LeaseTimes): Promise<Lease | undefined> {
    // Processes that take the lease at the same time must not write to the same draft.
    const draft = `${LEASE}.${randomUUID()}`;
    const file: LeaseFile = {
      label: this.label,
      read: async () => {
        const text = await readFile(join(this.path, LEASE), "utf8").catch(unlessMissing);
        return text === undefined ? undefined : { text, tag: undefined };
      },
      write: async (text) => {
        await this.put(draft, [Buffer.from(text)]);
        await rename(join(this.path, draft), join(this.path, LEASE));
        return { tag: undefined };
      },
      end: () => this.remove(LEASE),
    };
    return takeLease(file, signal, times);
  }
}

class DirectoryFile implements PendingFile {
  constructor(
    private readonly path: string,
    private readonly file: FileHandle,
  ) {}

  async write(bytes: Buffer): Promise<void> {
    for (let written = 0; written < bytes.length;)
      written += (await this.file.write(bytes, written, bytes.length - written)).bytesWritten;
  }

  async commit(): Promise<void> {
    await this.file.sync();
    await this.file.close();
    await rename(this.path + PENDING, this.path);
    await syncDirectory(dirname(this.path));
  }

  async discard(): Promise<void> {
    await this.file.close();
    await rm(this.path + PENDING, { force: true });
  }
}

/** Writes the entries of a directory to the disk, so that a renamed file has its new name after a power failure. */
async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

export async function pathExists(path: string): Promise<boolean> {
  return (await stat(path).catch(unlessMissing)) !== undefined;
}

function unlessMissing(error: unknown): undefined {
  if (codeOf(error) !== "ENOENT") throw error;
}
