/** A primary with a replica under open-loop load, and the command `archive`, which follows the replica into a bucket. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { join } from "node:path";
import { availableCores } from "../../../../platforms/host/cpu";
import { Session } from "../../../../benchmarks/measuring/session";
import { GeneratorProcess } from "../../../../benchmarks/load/open-loop/generator-process";
import type { OpenLoopPlan } from "../../../../benchmarks/load/open-loop/plan";
import { Tally } from "../../../../benchmarks/load/open-loop/tally";
import { Failure } from "../../../../lib/errors";
import type { Connection } from "../../../../valkey/connection";
import type { Deployment } from "../../../../valkey/deployment";
import { infoNumber, parseInfo } from "../../../../valkey/topology/replies";
import { verifyUntilPass } from "../../../../valkey/verification/verify";
import { CREDENTIALS } from "../../../support/valkey/s3-server";
import type { Command } from "../../../support/command";
import { Place } from "../../../support/command";
import type { BenchmarkContext } from "../../benchmark";
import type { BenchServers } from "../../workbench";
import { hostPlan } from "../../workbench";
import { BucketProcess } from "./bucket-process";

const SHAPE = { primaries: 1, replicasPerPrimary: 1 };
const KEY_SPACE = 500_000;
const VALUE_BYTES = 200;
/** Requests per second that are tried first. */
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

/** Where the processes run, for the texts of rows. */
export const PLACES =
  CPUS === undefined
    ? "all on the same core"
    : "primary and load generator on one core, replica, archive and S3 server on the other";

export interface MeasuredLoad {
  readonly tally: Tally;
  /** Highest used_memory of the followed server during the load, bytes. */
  readonly memoryBytes: number;
}

export class ArchivedLoad {
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
    const base = hostPlan("archived", "replication", SHAPE);
    const plan = {
      ...base,
      settings: { ...base.settings, "repl-diskless-sync-delay": 0 },
      cpus: CPUS === undefined ? undefined : [CPUS.served, CPUS.archive],
    };
    await workbench.withServers([plan], async (servers) => {
      const { host, signal } = servers;
      const [deployment] = servers.deployments;
      if (deployment === undefined) throw new Error("no deployment was started");
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

  /** Text about the load, for rows. */
  get text(): string {
    return `${this.rate} open-loop requests/s (half of them writes of ${VALUE_BYTES} bytes, ${KEY_SPACE} keys), ${PLACES}`;
  }

  /** Starts the command `archive` with a new prefix, and waits for its base. */
  async archive(): Promise<Command> {
    const [location = "", ...bucket] = this.bucket.argumentsFor(`load-${this.#prefixes++}`);
    const nodes = this.deployment.nodes.flatMap(({ endpoint, zone = "a" }) => [
      "--node",
      `${endpoint.host}:${endpoint.port}=${zone}`,
    ]);
    const command = await this.place.start(
      ["archive", "--mode", "replication", ...nodes, "--into", location, ...bucket],
      { ...CREDENTIALS, VALKEY_PASSWORD: this.deployment.access.password },
    );
    await pin(command.child.pid, CPUS?.archive);
    await command.printed(/shard-0: base with [\d,]+ keys/);
    return command;
  }

  /** Offers the load for some seconds. */
  async run(seconds: number, rate = this.rate): Promise<MeasuredLoad> {
    const { host, signal } = this.servers;
    const generator = await GeneratorProcess.start(host.run, this.#plan(seconds, rate));
    const stop = (): void => void generator.kill();
    signal.addEventListener("abort", stop);
    const memory = await MemorySampler.start(this.deployment);
    try {
      await pin(generator.pid, CPUS?.served);
      const tally = Tally.merge(await generator.run());
      return { tally, memoryBytes: memory.highest };
    } finally {
      memory.stop();
      signal.removeEventListener("abort", stop);
      signal.throwIfAborted();
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

  #plan(seconds: number, rate: number): OpenLoopPlan {
    const { endpoint, user } = this.session;
    return {
      ...{ mode: "replication", endpoints: [{ ...endpoint }], access: { ...user }, data: "strings", reads: 0.5 },
      ...{ keySpace: KEY_SPACE, keys: { distribution: "uniform" }, values: { sizes: "fixed", bytes: VALUE_BYTES } },
      ...{ arrivals: "poisson", rate, clients: 48, pipeline: 1, readFrom: "primary", timeoutMs: 10_000 },
      ...{ queue: 1_000_000, seconds, seed: this.#seed++, workers: 1, process: 0, processes: 1 },
    };
  }
}

/** Stops the command `archive` as Ctrl-C does. @throws Failure if it ends with an error */
export async function stopArchive(command: Command): Promise<void> {
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
