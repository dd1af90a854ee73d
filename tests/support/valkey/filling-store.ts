/** A disk that is full when a test says so. */
import { type PendingFile, DirectoryStore } from "../../../backup/archive/store";

export function fillingStore(directory: string, isFull: () => boolean): DirectoryStore {
  return new FillingStore(directory, isFull);
}

class FillingStore extends DirectoryStore {
  constructor(
    directory: string,
    private readonly isFull: () => boolean,
  ) {
    super(directory);
  }

  override async create(name: string): Promise<PendingFile> {
    const file = await super.create(name);
    return {
      commit: () => file.commit(),
      discard: () => file.discard(),
      write: async (content) => {
        if (!this.isFull()) return file.write(content);
        await file.write(content.subarray(0, content.length / 2));
        throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
      },
    };
  }
}
