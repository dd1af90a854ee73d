/** Copies the data and all later writes of one deployment to its archive, until a signal stops it. */
import { mkdir, rm } from "node:fs/promises";
import { describeStep } from "../../lib/clock";
import { BadInput, Failure, isCausedBy, messageOf } from "../../lib/errors";
import { pause } from "../../lib/polling";
import { counted, formatBytes } from "../../lib/units";
import { archiveDeployment } from "../archive/archive-deployment";
import type { ArchiveEvent } from "../archive/archive-shard";
import { readLastFailedDrill } from "../archive/keeping/proofs";
import { Retention } from "../archive/keeping/retention";
import type { Place } from "../archive/store";
import { SpoolFailed, SpoolFull } from "../replication-stream/spool";
import type { Deployment } from "../../valkey/deployment";
import type { ErrorKind } from "./metrics";
import { ArchiveMetrics } from "./metrics";

/** Interval at which the list of servers and the password are read, milliseconds. */
const REFRESH_MS = 5_000;
const RETRY_MS = { min: 1_000, max: 30_000 };
/** Time without an interruption after which the next wait is short again, milliseconds. */
const CALM_MS = 60_000;
const SHARD_SPOOL_BYTES = 1024 ** 3;

interface RefreshedDeployment extends Deployment {
  readonly refresh: () => Promise<void>;
}

export interface OpenArchive {
  readonly place: Place;
  /** Aborted when a different process has taken over. */
  readonly lost: AbortSignal;
  readonly countSets: () => Promise<number>;
  readonly close: () => Promise<void>;
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
  /** Sets (a base of one shard with its later commands) that are being written, as PERIOD/SHARD/SET. */
  readonly #liveSets = new Set<string>();
  #shards = 1;

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
        this.metrics.recordError(kindOf(error));
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
    const { deployment, open, spoolDirectory, spoolBytes, baseEveryMs } = this.options;
    await deployment.refresh();
    const archive = await open(signal);
    const shards = (): number => this.#shards;
    const retention = this.#retention(archive, signal);
    const timer = setInterval(() => {
      // The former list stays until DNS answers.
      deployment.refresh().catch(() => undefined);
    }, REFRESH_MS);
    try {
      this.#wasOpen = true;
      await rm(spoolDirectory, { recursive: true, force: true });
      await mkdir(spoolDirectory, { recursive: true, mode: 0o700 });
      await archiveDeployment({
        ...{ store: archive.place, deployment, spoolDirectory, baseEveryMs, liveSets: this.#liveSets },
        // Read at the beginning of each period.
        get spoolLimit() {
          return Math.min(SHARD_SPOOL_BYTES, Math.floor(spoolBytes / shards()));
        },
        signal: AbortSignal.any([signal, archive.lost]),
        onEvent: (event) => {
          this.#onEvent(event);
          // Not before the first period, because the files of a deletion would count as left by a killed process.
          if (event.kind === "period" || (event.kind === "written" && event.file.keys !== undefined)) retention.tidy();
        },
      });
      if (archive.lost.aborted) throw archive.lost.reason;
    } finally {
      clearInterval(timer);
      this.#spools.clear();
      // Only the process with the lease may delete.
      await retention.end();
      await archive.close();
    }
  }

  /** Each search also updates the metrics of sets, restores and drills. */
  #retention({ place, lost, countSets }: OpenArchive, signal: AbortSignal): Retention {
    return new Retention(place, {
      ...{ keepMs: this.options.keepMs, liveSets: this.#liveSets, lost, signal },
      onTidied: async ({ deleted, proof, startedAt }) => {
        for (const { period, shard, set } of deleted) this.options.log(`deleted set ${period}/${shard}/${set}`);
        if (proof !== undefined) this.metrics.recordProof(proof.provenAt);
        const failedDrill = await readLastFailedDrill(place);
        if (failedDrill !== undefined) this.metrics.recordFailedDrill(failedDrill.failedAt);
        if (startedAt !== undefined) this.metrics.recordStart(startedAt);
        this.metrics.recordSets(await countSets());
      },
      onError: (error) => {
        this.metrics.recordError("place");
        this.options.log(`old sets were not deleted: ${messageOf(error)}`);
      },
    });
  }

  #onEvent(event: ArchiveEvent): void {
    const { log } = this.options;
    switch (event.kind) {
      case "period": {
        const { shards, name } = event.period;
        this.#shards = shards.length;
        this.#spools.clear();
        const names = new Set(shards.map((shard) => shard.name));
        for (const shard of this.#safeAt.keys()) if (!names.has(shard)) this.#safeAt.delete(shard);
        // A shard without data in the archive is as old as the attempt to archive it.
        for (const shard of names)
          if (!this.#safeAt.has(shard)) {
            this.#safeAt.set(shard, Date.now());
            this.#unknown.add(shard);
          }
        this.metrics.keepShards();
        log(`${event.isNew ? "new" : "continued"} period ${name} with ${counted(shards.length, "shard")}`);
        return;
      }
      case "connect":
        log(`${event.shard}: following ${event.node}`);
        return;
      case "continued":
        log(`${event.shard}: the stream goes on where the archive ended`);
        return;
      case "written":
        this.metrics.recordBytes(event.shard, event.file.bytes);
        if (event.file.keys === undefined) return;
        this.metrics.recordBase(event.shard, Date.now());
        log(`${event.shard}: base with ${counted(event.file.keys, "key")}, ${formatBytes(event.file.bytes)}`);
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
        this.metrics.recordError("servers");
        log(`${event.shard}: the new base failed and will be tried again: ${event.why}`);
        return;
      case "waiting":
        log(`waiting: ${event.why}`);
        return;
      case "clock":
        for (const [shard, at] of this.#safeAt) this.#safeAt.set(shard, at + event.stepMs);
        log(describeStep(event.stepMs));
        return;
      case "moved":
        log("slots have moved, so the period ends and every shard gets a new base");
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
