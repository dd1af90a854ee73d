/** An archive that follows a server during a test. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ArchiveWriter, resumePoint } from "../../../backup/archive/archive-writer";
import type { ArchiveSet } from "../../../backup/archive/manifests";
import { listSets, readSet } from "../../../backup/archive/sets";
import { type ArchiveStore, DirectoryStore } from "../../../backup/archive/store";
import { type StreamEvent, followStream } from "../../../backup/replication-stream/follow";
import type { StreamSource } from "../../../backup/replication-stream/replica-link";
import { eventually } from "./real";

export interface FollowedServer {
  readonly store: ArchiveStore;
  /** Kinds of the events so far, without commands and pieces. */
  readonly kinds: string[];
  /** Waits until the archive has the commands up to an offset, and an instant for them. */
  readonly reached: (offset: number) => Promise<void>;
  readonly newestSet: () => Promise<ArchiveSet>;
  /** Ends the archive as a stop does, with its last increment. */
  readonly stop: () => Promise<void>;
}

export function followServer(directory: string, source: () => StreamSource, resume?: ArchiveSet): FollowedServer {
  const spoolDirectory = join(directory, "spool");
  mkdirSync(spoolDirectory, { recursive: true });
  const store = new DirectoryStore(join(directory, "archive"));
  const controller = new AbortController();
  const kinds: StreamEvent["kind"][] = [];
  let error: unknown;
  const following = (async () => {
    const writer = new ArchiveWriter(store, { incrementMs: 100 }, resume);
    const options = { source, spoolDirectory, spoolLimit: 64 * 1024 ** 2, signal: controller.signal };
    try {
      const point = resume === undefined ? undefined : resumePoint(resume).position;
      for await (const item of followStream({ ...options, resume: point })) {
        if (["base", "base-end", "continued"].includes(item.event.kind)) kinds.push(item.event.kind);
        await writer.write(item);
      }
    } catch (caught) {
      if (!controller.signal.aborted) error = caught;
    } finally {
      await writer.close();
    }
  })();
  const newestSet = async (): Promise<ArchiveSet> => readSet(store, (await listSets(store)).at(-1) ?? "none");
  return {
    store,
    kinds,
    newestSet,
    reached: async (offset) => {
      await eventually(`the archive has reached ${offset}`, async () => {
        if (error !== undefined) throw error as Error;
        const set = await newestSet().catch(() => undefined);
        return set?.increments.some(({ instants }) => instants.some((instant) => instant[1] >= offset)) ?? false;
      });
      // A later instant than the one of the last command.
      await sleep(300);
    },
    stop: async () => {
      controller.abort(new Error("stopped"));
      await following;
      if (error !== undefined) throw error as Error;
    },
  };
}
