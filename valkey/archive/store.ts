/** A place for the files of archives: a directory now, a bucket later. */
import { createReadStream } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { codeOf } from "../../lib/errors";

/** A file that is being written. Nobody sees it before `commit`. */
export interface PendingFile {
  write(bytes: Buffer): Promise<void>;
  /** Makes the file visible as a whole. It is then on the disk. */
  commit(): Promise<void>;
  /** Removes what was written. */
  discard(): Promise<void>;
}

export interface ArchiveStore {
  /** Begins a file. @param name relative path with `/`. An existing file is replaced by `commit` */
  create(name: string): Promise<PendingFile>;
  /** Names of the visible files and folders in a folder. Empty if there is no such folder. */
  list(folder: string): Promise<string[]>;
  /** Removes what earlier processes have left of files that they did not finish, in a folder and in its folders. */
  removePending(folder: string): Promise<void>;
  /** Bytes of a visible file. @throws the store's error, when the first piece is read */
  read(name: string): AsyncIterable<Buffer>;
}

/** A folder of a store, as a store of its own. */
export function folderOf(store: ArchiveStore, folder: string): ArchiveStore {
  const inside = (name: string): string => (name === "" ? folder : `${folder}/${name}`);
  return {
    create: (name) => store.create(inside(name)),
    list: (name) => store.list(inside(name)),
    removePending: (name) => store.removePending(inside(name)),
    read: (name) => store.read(inside(name)),
  };
}

/** End of the names of files that are being written. */
const PENDING = ".part";

export class DirectoryStore implements ArchiveStore {
  /** @param path the directory. It is made when the first file is written */
  constructor(readonly path: string) {}

  async create(name: string): Promise<PendingFile> {
    const path = join(this.path, name);
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    return new DirectoryFile(path, await open(path + PENDING, "w", 0o600));
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
    if (!(await pathExists(path))) return;
    const names = await readdir(path, { recursive: true });
    for (const name of names.filter((each) => each.endsWith(PENDING))) await rm(join(path, name), { force: true });
  }

  read(name: string): AsyncIterable<Buffer> {
    return createReadStream(join(this.path, name), { highWaterMark: 1024 ** 2 });
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

/** Whether a path exists. */
export async function pathExists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error: unknown) => {
      if (codeOf(error) === "ENOENT") return false;
      throw error;
    },
  );
}
