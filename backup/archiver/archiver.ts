/** Copies the data and all later writes of one deployment to its archive, until a signal stops it. */
import { mkdir, rm } from "node:fs/promises";
import { Counter, Gauge, Registry } from "prom-client";
import { BadInput, Failure, isCausedBy, messageOf } from "../../lib/errors";
import { pause } from "../../lib/polling";
import type { ArchiveEvent } from "../archive/archive-shard";
import { readLastFailedDrill } from "../archive/keeping/proofs";
import type { Tidied } from "../archive/keeping/retention";
import type { Place } from "../archive/store";
import { SpoolFailed, SpoolFull } from "../replication-stream/spool";
import type { Deployment } from "../../valkey/deployment";
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

const ERROR_KINDS = ["place", "servers", "spool", "input"] as const;
type ErrorKind = (typeof ERROR_KINDS)[number];

/** Gauges of a deployment, by what they say. They are missing until they are set. */
const GAUGES = {
  sets: ["sets", "Number of sets in the archive"],
  proven: ["proven_timestamp_seconds", "Time of the last restore whose comparison passed"],
  failedDrill: ["drill_failed_timestamp_seconds", "Time at which a drill failed last"],
  started: ["started_timestamp_seconds", "Time at which the archive began"],
  drillInterval: ["drill_interval_seconds", "Time between two drills, if the deployment has drills"],
} as const;
type GaugeName = keyof typeof GAUGES;

interface ArchiveReadings {
  /** Time until which the commands of a shard are in the archive, by shard, milliseconds since the epoch. */
  readonly safeAt: ReadonlyMap<string, number>;
  readonly spooledBytes: number;
}

export class ArchiveMetrics {
  readonly #registry = new Registry();
  readonly #gauges = new Map<GaugeName, Gauge>();
  readonly #base: Gauge;
  readonly #errors: Counter;
  readonly #bytes: Counter;

  /** @param read is called each time Prometheus reads the metrics */
  constructor(
    private readonly deployment: string,
    read: () => ArchiveReadings,
  ) {
    const of = (name: string, help: string, ...labels: string[]) => ({
      ...{ name: `valkey_archive_${name}`, help, labelNames: ["deployment", ...labels], registers: [this.#registry] },
    });
    const rpo = new Gauge({
      ...of("rpo_seconds", "Age of the newest data of the shard that are in the archive", "shard"),
      collect: () => {
        rpo.reset();
        for (const [shard, at] of read().safeAt) rpo.set({ deployment, shard }, Math.max(0, Date.now() - at) / 1000);
      },
    });
    const spooled = new Gauge({
      ...of("spooled_bytes", "Bytes that servers have sent and the archive has not taken yet"),
      collect: () => {
        spooled.set({ deployment }, read().spooledBytes);
      },
    });
    const base = "Time at which the last base of the shard was complete in the archive";
    this.#base = new Gauge(of("last_base_timestamp_seconds", base, "shard"));
    for (const [key, [name, help]] of Object.entries(GAUGES))
      this.#gauges.set(key as GaugeName, new Gauge(of(name, help)));
    this.#bytes = new Counter(of("written_bytes_total", "Bytes of bases and commands written to the archive", "shard"));
    const errors = `Interruptions of the archive; kind is ${ERROR_KINDS.slice(0, -1).join(", ")} or ${ERROR_KINDS.at(-1)}`;
    this.#errors = new Counter(of("errors_total", errors, "kind"));
    for (const kind of ERROR_KINDS) this.#errors.inc({ deployment, kind }, 0);
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  set(name: GaugeName, value: number): void {
    this.#gauges.get(name)?.set({ deployment: this.deployment }, value);
  }

  /** @param at milliseconds since the epoch; undefined changes nothing */
  setTime(name: GaugeName, at: number | undefined): void {
    if (at !== undefined) this.set(name, at / 1000);
  }

  /** @param at milliseconds since the epoch */
  setBase(shard: string, at: number): void {
    this.#base.set({ deployment: this.deployment, shard }, at / 1000);
  }

  /** Called when the shards of the deployment may have changed. */
  forgetBases(): void {
    this.#base.reset();
  }

  countBytes(shard: string, bytes: number): void {
    this.#bytes.inc({ deployment: this.deployment, shard }, bytes);
  }

  countError(kind: ErrorKind): void {
    this.#errors.inc({ deployment: this.deployment, kind });
  }

  text(): Promise<string> {
    return this.#registry.metrics();
  }
}
