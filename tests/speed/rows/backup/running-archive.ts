/** An archive of a deployment that runs in this process until it is stopped. */
import { epochMs } from "../../../../lib/clock";
import { awaitCondition } from "../../../../lib/polling";
import { archiveDeployment } from "../../../../valkey/archive/archive-deployment";
import type { Restore } from "../../../../valkey/archive/catalog";
import { chooseRestore, readCatalog, readRestore } from "../../../../valkey/archive/catalog";
import { claimArchive } from "../../../../valkey/archive/periods";
import type { ArchiveStore } from "../../../../valkey/archive/store";
import type { Deployment } from "../../../../valkey/deployment";
import { formatEndpoint } from "../../../../valkey/node";
import { Failure } from "../../../../lib/errors";

/** Longest wait until the archive has what was written, milliseconds. */
const CATCH_UP_MS = 60_000;

export class RunningArchive {
  readonly #stop = new AbortController();
  /** Time up to which each shard is in the archive, milliseconds since the epoch; 0 before its base is. */
  readonly #safe = new Map<string, number>();
  #error: unknown;
  readonly #running: Promise<void>;

  private constructor(store: ArchiveStore, deployment: Deployment, spoolDirectory: string, signal: AbortSignal) {
    this.#running = archiveDeployment({
      store,
      deployment,
      spoolDirectory,
      signal: AbortSignal.any([signal, this.#stop.signal]),
      onEvent: (event) => {
        if (event.kind === "period") for (const { name } of event.period.shards) this.#safe.set(name, 0);
        if (event.kind === "safe") this.#safe.set(event.shard, event.at);
      },
    });
    this.#running.catch((error: unknown) => (this.#error = error));
  }

  static async start(
    store: ArchiveStore,
    deployment: Deployment,
    spoolDirectory: string,
    signal: AbortSignal,
  ): Promise<RunningArchive> {
    const { name, mode, nodes } = deployment;
    const owner = { deployment: name, mode, nodes: nodes.map(({ endpoint }) => formatEndpoint(endpoint)) };
    await claimArchive(store, owner, name);
    return new RunningArchive(store, deployment, spoolDirectory, signal);
  }

  /** Waits until everything that servers have executed before this call is in the archive. */
  async caughtUp(signal: AbortSignal): Promise<void> {
    const now = epochMs();
    await awaitCondition(
      "the archive has what was written",
      () => {
        if (this.#error !== undefined) throw this.#error as Error;
        return Promise.resolve(this.#safe.size > 0 && [...this.#safe.values()].every((at) => at >= now));
      },
      { timeoutMs: CATCH_UP_MS, signal },
    );
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error("stopped"));
    await this.#running;
  }
}

/** Reads the sets that an archive restores for a time. @param at milliseconds since the epoch. @default the last time */
export async function restoreOf(store: ArchiveStore, at?: number): Promise<Restore> {
  const choice = chooseRestore(await readCatalog(store, "the archive"), at);
  if (typeof choice === "string") throw new Failure(choice);
  return readRestore(choice);
}
