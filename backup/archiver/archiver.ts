/** Copies the data and all later writes of one deployment to its archive, until a signal stops it. */
import { mkdir, rm } from "node:fs/promises";
import { BadInput, Failure, isCausedBy, messageOf } from "../../lib/errors";
import { pause } from "../../lib/polling";
import type { ArchiveEvent } from "../archive/archive-shard";
import { readLastFailedDrill } from "../archive/keeping/proofs";
import type { Tidied } from "../archive/keeping/retention";
import type { Place } from "../archive/store";
import { SpoolFailed, SpoolFull } from "../replication-stream/spool";
import type { Deployment } from "../../valkey/deployment";
import { type ErrorKind, ArchiveMetrics } from "./metrics";
import { type OpenArchive, runArchive } from "./run-archive";

/** Interval at which the list of servers and the password are read, milliseconds. */
const REFRESH_MS = 5_000;
const RETRY_MS = { min: 1_000, max: 30_000 };
/** Time without an interruption after which the next wait is short again, milliseconds. */
const CALM_MS = 60_000;

interface RefreshedDeployment extends Deployment {
  readonly refresh: () => Promise<void>;
}

interface ArchiverOptions {
  readonly deployment: RefreshedDeployment;
  /** @throws BadInput if it cannot be used, Failure if it does not answer */
  readonly open: (signal: AbortSignal) => Promise<OpenArchive>;
  readonly spoolDirectory: string;
  readonly spoolBytes: number;
  readonly baseEveryMs: number;
  /** Time for which the archive keeps sets that have ended, milliseconds. */
  readonly keepMs: number;
  readonly log: (line: string) => void;
}

export class Archiver {
  readonly metrics: ArchiveMetrics;
  #wasOpen = false;
  readonly #safeAt = new Map<string, number>();
  /** Shards for which the newest archived time is not known yet. */
  readonly #unknown = new Set<string>();
  readonly #spools = new Map<string, () => number>();
  #openedAt = performance.now();

  constructor(private readonly options: ArchiverOptions) {
    this.metrics = new ArchiveMetrics(options.deployment.name, () => ({
      safeAt: this.#safeAt,
      spooledBytes: [...this.#spools.values()].reduce((sum, waiting) => sum + waiting(), 0),
    }));
  }

  /** Whether the archive could be opened at least once. */
  get isReady(): boolean {
    return this.#wasOpen;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { log } = this.options;
    const isOver = (): boolean => signal.aborted;
    let waitMs = RETRY_MS.min;
    let last = "";
    while (!isOver()) {
      this.#openedAt = performance.now();
      try {
        await this.#archive(signal);
        last = "";
        if (isOver()) log("stopped; all commands that arrived are in the archive");
      } catch (error) {
        const message = messageOf(error);
        if (isOver()) {
          log(`stopped with an error: ${message}`);
          return;
        }
        this.metrics.countError(kindOf(error));
        // The same error comes again as long as its cause is there.
        if (message !== last) log(`interrupted: ${message}`);
        last = message;
      }
      if (performance.now() - this.#openedAt > CALM_MS) waitMs = RETRY_MS.min;
      await pause(waitMs, signal).catch(() => undefined);
      waitMs = Math.min(waitMs * 2, RETRY_MS.max);
    }
  }

  async #archive(signal: AbortSignal): Promise<void> {
    const { deployment, open, spoolDirectory, spoolBytes, baseEveryMs, keepMs, log } = this.options;
    await deployment.refresh();
    const archive = await open(signal);
    this.#wasOpen = true;
    const timer = setInterval(() => {
      // The former list stays until DNS answers.
      deployment.refresh().catch(() => undefined);
    }, REFRESH_MS);
    try {
      await runArchive(archive, {
        ...{ deployment, spoolBytes, baseEveryMs, keepMs, signal, log },
        openSpool: async () => {
          await rm(spoolDirectory, { recursive: true, force: true });
          await mkdir(spoolDirectory, { recursive: true, mode: 0o700 });
          return spoolDirectory;
        },
        onEvent: (event) => {
          this.#onEvent(event);
        },
        onTidied: (tidied) => this.#onTidied(archive.place, tidied),
        onTidyError: () => {
          this.metrics.countError("place");
        },
      });
    } finally {
      clearInterval(timer);
      this.#spools.clear();
    }
  }

  async #onTidied(place: Place, { proof, sets, startedAt }: Tidied): Promise<void> {
    const failedDrill = await readLastFailedDrill(place);
    this.metrics.setTime("proven", proof?.provenAt);
    this.metrics.setTime("failedDrill", failedDrill?.failedAt);
    this.metrics.setTime("started", startedAt);
    this.metrics.set("sets", sets);
  }

  #onEvent(event: ArchiveEvent): void {
    switch (event.kind) {
      case "period": {
        this.#spools.clear();
        const names = new Set(event.period.shards.map((shard) => shard.name));
        for (const shard of this.#safeAt.keys()) if (!names.has(shard)) this.#safeAt.delete(shard);
        // A shard without data in the archive is as old as the attempt to archive it.
        for (const shard of names)
          if (!this.#safeAt.has(shard)) {
            this.#safeAt.set(shard, Date.now());
            this.#unknown.add(shard);
          }
        this.metrics.forgetBases();
        return;
      }
      case "written":
        this.metrics.countBytes(event.shard, event.file.bytes);
        if (event.file.keys !== undefined) this.metrics.setBase(event.shard, Date.now());
        return;
      case "safe":
        if (!this.#unknown.delete(event.shard) && event.at < (this.#safeAt.get(event.shard) ?? 0)) return;
        // What waited in the spool while the clock was set back has times that are still to come.
        this.#safeAt.set(event.shard, Math.min(event.at, Date.now()));
        return;
      case "spool":
        this.#spools.set(event.directory, event.waiting);
        return;
      case "postponed":
        this.metrics.countError("servers");
        return;
      case "clock":
        for (const [shard, at] of this.#safeAt) this.#safeAt.set(shard, at + event.stepMs);
        return;
      case "connect":
      case "continued":
      case "waiting":
      case "moved":
    }
  }
}

function kindOf(error: unknown): ErrorKind {
  if (isCausedBy(error, BadInput)) return "input";
  if (isCausedBy(error, SpoolFull) || isCausedBy(error, SpoolFailed)) return "spool";
  // Errors of servers are Failures; a store throws the errors of its library.
  return error instanceof Failure && !(error.cause instanceof Error && !(error.cause instanceof Failure))
    ? "servers"
    : "place";
}
