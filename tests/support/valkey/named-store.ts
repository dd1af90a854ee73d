/** A store in memory whose increments have their manifests in their names, as in a bucket. */
import type { PendingFile, Place } from "../../../backup/archive/store";

export class NamedStore implements Place {
  readonly label = "archive";
  readonly isRemote = true;
  readonly hasNamedIncrements = true;
  /** Names in each folder, with the bytes of files. */
  readonly #folders = new Map<string, Map<string, Buffer | undefined>>();

  create(name: string): Promise<PendingFile> {
    const pieces: Buffer[] = [];
    return Promise.resolve({
      write: (bytes) => {
        pieces.push(bytes);
        return Promise.resolve();
      },
      commit: () => this.put(name, pieces),
      discard: () => Promise.resolve(),
    });
  }

  put(name: string, pieces: readonly Buffer[]): Promise<void> {
    this.#add(name, Buffer.concat(pieces));
    return Promise.resolve();
  }

  list(folder: string, most = Infinity): Promise<string[]> {
    return Promise.resolve([...(this.#folders.get(folder)?.keys() ?? [])].sort().slice(0, most));
  }

  lease(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  removePending(): Promise<void> {
    return Promise.resolve();
  }

  // eslint-disable-next-line @typescript-eslint/require-await
  async *read(name: string): AsyncGenerator<Buffer, void, undefined> {
    const [folder, file] = divided(name);
    const bytes = this.#folders.get(folder)?.get(file);
    if (bytes === undefined) throw new Error(`there is no ${name}`);
    yield bytes;
  }

  remove(name: string): Promise<void> {
    const [folder, file] = divided(name);
    this.#folders.get(folder)?.delete(file);
    return Promise.resolve();
  }

  removeFolder(name: string): Promise<void> {
    this.#folders.delete(name);
    return this.remove(name);
  }

  #add(name: string, bytes: Buffer | undefined): void {
    const [folder, file] = divided(name);
    let files = this.#folders.get(folder);
    if (files === undefined) {
      this.#folders.set(folder, (files = new Map<string, Buffer | undefined>()));
      if (folder !== "") this.#add(folder, undefined);
    }
    files.set(file, bytes);
  }
}

function divided(path: string): [string, string] {
  const end = path.lastIndexOf("/");
  return [path.slice(0, Math.max(0, end)), path.slice(end + 1)];
}
