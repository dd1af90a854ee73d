/** A disk that is full when a test says so. */
import type { ArchiveStore } from "../../../valkey/archive/store";
import { DirectoryStore } from "../../../valkey/archive/store";

/** A store whose writes fail half way when `isFull` says so. */
export function fillingStore(directory: string, isFull: () => boolean): ArchiveStore {
  const store = new DirectoryStore(directory);
  return {
    list: (folder) => store.list(folder),
    removePending: (folder) => store.removePending(folder),
    read: (name) => store.read(name),
    create: async (name) => {
      const file = await store.create(name);
      return {
        commit: () => file.commit(),
        discard: () => file.discard(),
        write: async (content) => {
          if (!isFull()) return file.write(content);
          await file.write(content.subarray(0, content.length / 2));
          throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
        },
      };
    },
  };
}
