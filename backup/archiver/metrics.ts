import { Counter, Gauge, Registry } from "prom-client";

export type ErrorKind = "place" | "servers" | "spool" | "input";

interface ArchiveReadings {
  /** Time until which the commands of a shard are in the archive, by shard, milliseconds since the epoch. */
  readonly safeAt: ReadonlyMap<string, number>;
  readonly spooledBytes: number;
}

export class ArchiveMetrics {
  readonly #registry = new Registry();
  readonly #rpo: Gauge<"deployment" | "shard">;
  readonly #spooled: Gauge<"deployment">;
  readonly #base: Gauge<"deployment" | "shard">;
  readonly #sets: Gauge<"deployment">;
  readonly #proof: Gauge<"deployment">;
  readonly #failedDrill: Gauge<"deployment">;
  readonly #started: Gauge<"deployment">;
  readonly #drills: Gauge<"deployment">;
  readonly #errors: Counter<"deployment" | "kind">;
  readonly #bytes: Counter<"deployment" | "shard">;

  /** @param read is called each time Prometheus reads the metrics */
  constructor(
    private readonly deployment: string,
    read: () => ArchiveReadings,
  ) {
    const registers = [this.#registry];
    this.#rpo = new Gauge({
      name: "valkey_archive_rpo_seconds",
      help: "Age of the newest data of the shard that are in the archive",
      labelNames: ["deployment", "shard"],
      registers,
      collect: () => {
        this.#rpo.reset();
        for (const [shard, at] of read().safeAt)
          this.#rpo.set({ deployment, shard }, Math.max(0, Date.now() - at) / 1000);
      },
    });
    this.#spooled = new Gauge({
      name: "valkey_archive_spooled_bytes",
      help: "Bytes that servers have sent and the archive has not taken yet",
      labelNames: ["deployment"],
      registers,
      collect: () => {
        this.#spooled.set({ deployment }, read().spooledBytes);
      },
    });
    this.#base = new Gauge({
      name: "valkey_archive_last_base_timestamp_seconds",
      help: "Time at which the last base of the shard was complete in the archive",
      labelNames: ["deployment", "shard"],
      registers,
    });
    this.#sets = new Gauge({
      name: "valkey_archive_sets",
      help: "Number of sets in the archive",
      labelNames: ["deployment"],
      registers,
    });
    this.#proof = new Gauge({
      name: "valkey_archive_proven_timestamp_seconds",
      help: "Time of the last restore whose comparison passed",
      labelNames: ["deployment"],
      registers,
    });
    this.#failedDrill = new Gauge({
      name: "valkey_archive_drill_failed_timestamp_seconds",
      help: "Time at which a drill failed last",
      labelNames: ["deployment"],
      registers,
    });
    this.#started = new Gauge({
      name: "valkey_archive_started_timestamp_seconds",
      help: "Time at which the archive began",
      labelNames: ["deployment"],
      registers,
    });
    this.#drills = new Gauge({
      name: "valkey_archive_drill_interval_seconds",
      help: "Time between two drills, if the deployment has drills",
      labelNames: ["deployment"],
      registers,
    });
    this.#bytes = new Counter({
      name: "valkey_archive_written_bytes_total",
      help: "Bytes of bases and commands written to the archive",
      labelNames: ["deployment", "shard"],
      registers,
    });
    this.#errors = new Counter({
      name: "valkey_archive_errors_total",
      help: "Interruptions of the archive; kind is place, servers, spool or input",
      labelNames: ["deployment", "kind"],
      registers,
    });
    for (const kind of ["place", "servers", "spool", "input"]) this.#errors.inc({ deployment, kind }, 0);
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  recordBytes(shard: string, bytes: number): void {
    this.#bytes.inc({ deployment: this.deployment, shard }, bytes);
  }

  /** @param at milliseconds since the epoch, like all times here */
  recordBase(shard: string, at: number): void {
    this.#base.set({ deployment: this.deployment, shard }, at / 1000);
  }

  /** Called when the shards of the deployment may have changed. */
  keepShards(): void {
    this.#base.reset();
  }

  recordSets(count: number): void {
    this.#sets.set({ deployment: this.deployment }, count);
  }

  recordProof(at: number): void {
    this.#proof.set({ deployment: this.deployment }, at / 1000);
  }

  recordFailedDrill(at: number): void {
    this.#failedDrill.set({ deployment: this.deployment }, at / 1000);
  }

  recordStart(at: number): void {
    this.#started.set({ deployment: this.deployment }, at / 1000);
  }

  recordDrills(everySeconds: number): void {
    this.#drills.set({ deployment: this.deployment }, everySeconds);
  }

  recordError(kind: ErrorKind): void {
    this.#errors.inc({ deployment: this.deployment, kind });
  }

  text(): Promise<string> {
    return this.#registry.metrics();
  }
}
