import { Counter, Gauge, Registry } from "prom-client";

const ERROR_KINDS = ["place", "servers", "spool", "input"] as const;
export type ErrorKind = (typeof ERROR_KINDS)[number];

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
