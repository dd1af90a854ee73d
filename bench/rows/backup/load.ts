/** A primary with a replica under open-loop load, and the command `archive`, which follows the replica into a bucket. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { join } from "node:path";
import { readFileSync, readdirSync, statSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { availableCores } from "../../../platforms/host/cpu";
import { Session } from "../../../benchmarks/measuring/session";
import type { Tally } from "../../../benchmarks/load/tally";
import { Failure } from "../../../lib/errors";
import type { Connection } from "../../../valkey/connection";
import type { Deployment } from "../../../valkey/deployment";
import { infoNumber, parseInfo } from "../../../valkey/topology/replies";
import { verifyUntilPass } from "../../../valkey/verification/verify";
import { type Command, Place } from "../../../tests/support/command";
import type { Benchmark, BenchmarkContext, BenchServers } from "../../workbench";
import { alternatingSides, hostPlan, openLoopPlan, runGenerator } from "../../workbench";
import { archiveArguments, archiveEnvironment, BucketProcess } from "./archives";
import { median } from "../../../lib/statistics/median";
import { type BenchRow, atMost, singleRow } from "../../row";

const SHAPE = { primaries: 1, replicasPerPrimary: 1 };
const KEY_SPACE = 500_000;
const VALUE_BYTES = 200;
const RATE = 10_000;
/** Part of the requests that must be answered in time, so that the machine carries a rate. */
const CARRIED = 0.99;
const STEP = 0.8;
const TRIAL_SECONDS = 5;
/** Times that a rate is tried, because other processes may use the machine for some seconds. */
const TRIALS = 2;
const SAMPLE_MS = 200;
/** Machines of the servers of clients, and of the archive. Each has a core here, if there are two. */
const EVERYWHERE = `0-${availableCores() - 1}`;
const CPUS = availableCores() < 2 ? undefined : { served: "0", archive: "1" };

const PLACES =
  CPUS === undefined
    ? "all on the same core"
    : "primary and load generator on one core, replica, archive and S3 server on the other";

interface MeasuredLoad {
  readonly tally: Tally;
  /** Highest used_memory of the followed server during the load, bytes. */
  readonly memoryBytes: number;
}

class ArchivedLoad {
  #seed = 1;
  #prefixes = 0;
  /** Requests per second that the machine carries while the archive follows. */
  rate = RATE;

  private constructor(
    private readonly servers: BenchServers,
    readonly deployment: Deployment,
    private readonly session: Session,
    readonly bucket: BucketProcess,
    private readonly place: Place,
  ) {}

  /** Starts servers with data and a bucket, and finds the rate that the machine carries with an archive. */
  static async use(
    { workbench, report }: BenchmarkContext,
    measure: (load: ArchivedLoad) => Promise<void>,
  ): Promise<void> {
    const plan = {
      ...hostPlan("archived", "replication", SHAPE, { "repl-diskless-sync-delay": 0 }),
      cpus: CPUS === undefined ? undefined : [CPUS.served, CPUS.archive],
    };
    await workbench.withDeployment(plan, async (servers) => {
      const { host, deployment, signal } = servers;
      await host.form(deployment, SHAPE, { signal });
      const { verdict } = await verifyUntilPass(deployment, { settlingMs: 60_000, signal });
      const session = await Session.open({ deployment, shards: verdict.shards });
      const place = new Place();
      const bucket = await BucketProcess.start(join(host.run.path, "s3"));
      try {
        await pin(bucket.pid, CPUS?.archive);
        // Processes that this one starts begin where it runs, which must not be the core of the primary.
        await pin(process.pid, CPUS?.archive);
        const size = { keySpace: KEY_SPACE, dataSize: VALUE_BYTES, stock: 0 };
        await session.prepareKeys({ prefill: { kind: "strings", family: "key" } }, size, signal);
        const load = new ArchivedLoad(servers, deployment, session, bucket, place);
        await load.#findRate(report);
        await measure(load);
      } finally {
        await bucket.close();
        await place.close();
        await session.close();
        await pin(process.pid, EVERYWHERE);
      }
    });
  }

  get text(): string {
    return `${this.rate} open-loop requests/s (half of them writes of ${VALUE_BYTES} bytes, ${KEY_SPACE} keys), ${PLACES}`;
  }

  async archive(): Promise<Command> {
    const into = this.bucket.argumentsFor(`load-${this.#prefixes++}`);
    const args = archiveArguments(this.deployment, this.deployment.nodes, into);
    const command = await this.place.start(args, archiveEnvironment(this.deployment));
    await pin(command.child.pid, CPUS?.archive);
    await command.printed(/shard-0: base with [\d,]+ keys/);
    return command;
  }

  async run(seconds: number): Promise<MeasuredLoad> {
    const plan = openLoopPlan(this.session, {
      ...{ reads: 0.5, keySpace: KEY_SPACE, values: { sizes: "fixed", bytes: VALUE_BYTES }, arrivals: "poisson" },
      ...{ rate: this.rate, seconds, seed: this.#seed++ },
    });
    const memory = await MemorySampler.start(this.deployment);
    try {
      const tally = await runGenerator(this.servers, plan, undefined, ({ pid }) => pin(pid, CPUS?.served));
      return { tally, memoryBytes: memory.highest };
    } finally {
      memory.stop();
    }
  }

  async #findRate(report: (line: string) => void): Promise<void> {
    const command = await this.archive();
    try {
      for (let trial = 1; ; trial++) {
        const { tally } = await this.run(TRIAL_SECONDS);
        const part = tally.acknowledgedInTime / tally.offered;
        report(`${this.rate} requests/s with an archive: ${(100 * part).toFixed(1)} % answered in time`);
        if (part >= CARRIED) return;
        if (trial % TRIALS === 0) this.rate = Math.round(this.rate * STEP);
      }
    } finally {
      await stopArchive(command);
    }
  }
}

/** Stops the command `archive` as Ctrl-C does. @throws Failure if it ends with an error */
async function stopArchive(command: Command): Promise<void> {
  command.child.kill("SIGINT");
  const { status, output } = await command.ended;
  if (status !== 0) throw new Failure(`archive ended with status ${status}: ${output}`);
}

async function pin(pid: number | undefined, cpus: string | undefined): Promise<void> {
  if (pid !== undefined && cpus !== undefined)
    await promisify(execFile)("taskset", ["-a", "-c", "-p", cpus, String(pid)]);
}

/** Highest used_memory of the followed server, which contains the buffers of replicas. */
class MemorySampler {
  #highest = 0;
  readonly #timer: NodeJS.Timeout;

  private constructor(private readonly connection: Connection) {
    this.#timer = setInterval(() => void this.#sample().catch(() => undefined), SAMPLE_MS);
  }

  static async start({ nodes, connect }: Deployment): Promise<MemorySampler> {
    const followed = nodes.at(-1);
    if (followed === undefined) throw new Error("there is no node");
    const sampler = new MemorySampler(await connect(followed));
    await sampler.#sample();
    return sampler;
  }

  get highest(): number {
    return this.#highest;
  }

  stop(): void {
    clearInterval(this.#timer);
    this.connection.disconnect();
  }

  async #sample(): Promise<void> {
    const bytes = infoNumber(parseInfo(await this.connection.info("memory")), "used_memory") ?? 0;
    this.#highest = Math.max(this.#highest, bytes);
  }
}

const KINDS = [
  { id: "backup-p99-stream", what: "while the archive follows the stream", begins: "before", seconds: 8 },
  // The command needs some seconds before it asks for its base.
  {
    ...{ id: "backup-p99-base", what: "of seconds in which an archive begins and takes its base" },
    ...{ begins: "meanwhile", seconds: 16 },
  },
] as const;
type Kind = (typeof KINDS)[number];
const MEMORY = "backup-memory";
const PAIRS = 8;
const RATIO = atMost(1.2);
/** Highest number of bytes of a shard that wait in the spool. */
const SPOOL_MIB = 1024;

interface Measured {
  readonly p99Ms: number;
  readonly memoryMiB: number;
}

export const backupP99: Benchmark = {
  title: "Latencies of clients with and without an archive",
  ids: [...KINDS.map(({ id }) => id), MEMORY],
  run: (context) =>
    ArchivedLoad.use(context, async (load) => {
      const growths: number[] = [];
      for (const kind of KINDS) {
        if (!context.wanted.has(kind.id) && !context.wanted.has(MEMORY)) continue;
        const { ours, reference } = await measurePairs(load, kind, context);
        growths.push(highest(ours) - highest(reference));
        context.emit(p99Row(load, kind, ours, reference));
      }
      const what =
        `highest used_memory of the followed server with an archive less the highest without, stream or base, ` +
        `at ${load.text}`;
      context.emit(singleRow({ id: MEMORY, what, unit: "MiB" }, Math.max(0, ...growths), atMost(SPOOL_MIB)));
    }),
};

const highest = (runs: readonly Measured[]): number => Math.max(...runs.map(({ memoryMiB }) => memoryMiB));

async function measurePairs(
  load: ArchivedLoad,
  { id, begins, seconds }: Kind,
  { report }: BenchmarkContext,
): Promise<Record<"ours" | "reference", Measured[]>> {
  const runs = { ours: [] as Measured[], reference: [] as Measured[] };
  for (const side of alternatingSides(PAIRS)) {
    const { tally, memoryBytes } = await (side === "ours" ? runArchived(load, begins, seconds) : load.run(seconds));
    const measured = { p99Ms: tally.latencies().percentileMs(0.99), memoryMiB: memoryBytes / 2 ** 20 };
    runs[side].push(measured);
    report(
      `${id} ${side}: p99 ${measured.p99Ms.toFixed(2)} ms, used_memory ${measured.memoryMiB.toFixed(1)} MiB, ` +
        `${((100 * tally.acknowledgedInTime) / tally.offered).toFixed(1)} % answered in time`,
    );
  }
  return runs;
}

/** @throws Failure if a base that begins with the load takes longer than the load */
async function runArchived(load: ArchivedLoad, begins: Kind["begins"], seconds: number): Promise<MeasuredLoad> {
  const archiving = load.archive();
  if (begins === "before") await archiving;
  const running = load.run(seconds).then((measured) => ({ measured, endedAt: performance.now() }));
  const command = await archiving;
  const basedAt = performance.now();
  const { measured, endedAt } = await running;
  await stopArchive(command);
  if (basedAt > endedAt) throw new Failure(`the archive took more than ${seconds} s for its base`);
  return measured;
}

function p99Row(
  load: ArchivedLoad,
  { id, what, seconds }: Kind,
  ours: readonly Measured[],
  reference: readonly Measured[],
): BenchRow {
  const ratios = ours.map(({ p99Ms }, index) => p99Ms / (reference[index]?.p99Ms ?? NaN)).toSorted((a, b) => a - b);
  const ratio = median(ratios);
  const spread = `${ratios[0]?.toFixed(2)} to ${ratios.at(-1)?.toFixed(2)}`;
  const p99 =
    `p99 ${what} beside p99 without an archive, medians of ${PAIRS} interleaved pairs of ${seconds} s, at ${load.text}; ` +
    `the ratio is the median of the ratios of the pairs, which are ${spread}`;
  const [archived, alone] = [ours, reference].map((runs) => median(runs.map(({ p99Ms }) => p99Ms)));
  return { ...singleRow({ id, what: p99, unit: "ms" }, archived ?? NaN, RATIO, alone), ratio, met: RATIO.holds(ratio) };
}

const ID = "backup-rpo";
const SECONDS = 90;
/** Time between two writes whose way into the bucket is measured, milliseconds. */
const PROBE_MS = 10;
const PROBE = "backup-probe";
/** Time for which the archive may still write what has arrived, milliseconds. */
const LAST_MS = 2_000;

export const backupRpo: Benchmark = {
  title: "The time from a write until it is in the bucket",
  ids: [ID],
  run: (context) =>
    ArchivedLoad.use(context, async (load) => {
      const command = await load.archive();
      const probe = await Probe.start(load.deployment);
      const { tally } = await load.run(SECONDS);
      await probe.stop();
      await sleep(LAST_MS);
      await stopArchive(command);
      const seconds = arrivals(load.bucket.directory).map((each) => each / 1000);
      const ordered = seconds.toSorted((a, b) => a - b);
      const p99 = ordered[Math.floor(ordered.length * 0.99)] ?? NaN;
      const said = /Highest RPO ([\d.]+) s/.exec(command.output)?.[1] ?? "none";
      const what =
        `longest time from a write until its increment is in the bucket, of ${seconds.length} writes in ${SECONDS} s ` +
        `(${probe.sent} were sent; median ${median(seconds).toFixed(2)} s, p99 ${p99.toFixed(2)} s; the command says ` +
        `${said} s), at ${load.text}: ${((100 * tally.acknowledgedInTime) / tally.offered).toFixed(1)} % answered in time`;
      // A write that never arrives is worse than a late one.
      const highest = seconds.length < probe.sent ? Infinity : (ordered.at(-1) ?? Infinity);
      context.emit(singleRow({ id: ID, what, unit: "s" }, Math.min(highest, SECONDS), atMost(1)));
    }),
};

class Probe {
  sent = 0;
  #ends = false;
  readonly #writing: Promise<void>;

  private constructor(connection: Connection) {
    this.#writing = this.#write(connection);
  }

  static async start({ nodes: [primary], connect }: Deployment): Promise<Probe> {
    if (primary === undefined) throw new Error("there is no node");
    return new Probe(await connect(primary));
  }

  async stop(): Promise<void> {
    this.#ends = true;
    await this.#writing;
  }

  async #write(connection: Connection): Promise<void> {
    while (!this.#ends) {
      await connection.set(PROBE, Date.now());
      this.sent++;
      await sleep(PROBE_MS);
    }
    connection.disconnect();
  }
}

/** Milliseconds from each probe's write until its object was complete, as the files of the S3 server say. */
function arrivals(directory: string): number[] {
  const files = readdirSync(directory, { recursive: true, encoding: "utf8" });
  const pattern = new RegExp(`\\$${PROBE.length}\r\n${PROBE}\r\n\\$13\r\n(\\d{13})\r\n`, "g");
  return files
    .filter((file) => /\/i\d{16}\..*_S3rver_object$/.test(file))
    .flatMap((file) => {
      // The server writes the metadata last.
      const done = statSync(join(directory, file.replace(/_object$/, "_metadata.json"))).mtimeMs;
      const text = readFileSync(join(directory, file), "latin1");
      return [...text.matchAll(pattern)].map(([, time]) => done - Number(time));
    });
}
