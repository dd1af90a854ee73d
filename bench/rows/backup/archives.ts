/** Archives of deployments, the bucket that they are in, and restores with the functions that the command calls. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import calculateSlot from "cluster-key-slot";
import type { Connection } from "../../../valkey/connection";
import { SLOT_COUNT } from "../../../valkey/topology/slots";
import { type DeploymentNode, formatEndpoint } from "../../../valkey/node";
import { epochMs } from "../../../lib/clock";
import { awaitCondition } from "../../../lib/polling";
import { archiveDeployment } from "../../../backup/archive/archive-deployment";
import { type Restore, chooseRestore, readCatalog, readRestore } from "../../../backup/archive/catalog";
import { claimArchive } from "../../../backup/archive/periods";
import type { ArchiveStore, Place } from "../../../backup/archive/store";
import type { Deployment } from "../../../valkey/deployment";
import { Failure } from "../../../lib/errors";
import { BucketStore } from "../../../backup/archive/bucket/bucket-store";
import type { BucketLocation } from "../../../backup/archive/bucket/location";
import { BUCKET, CREDENTIALS } from "../../../tests/support/valkey/s3-server";
import type { Host } from "../../../platforms/host/host";
import type { HostDeploymentPlan } from "../../../platforms/host/deployment-plan";
import { type ServerComparison, compareServers } from "../../../backup/restoring/compare-servers";
import { type StagedShard, stageSets } from "../../../backup/restoring/staging";
import { startRestored, writeRestored, stagingProcesses } from "../../../backup/restoring/start-restored";
import { KeySelection } from "../../../backup/restoring/key-selection";
import { chooseShape } from "../../../backup/restoring/restore-shape";
import { verifyUntilPass } from "../../../valkey/verification/verify";

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
export async function restoreOf(store: Place, at?: number): Promise<Restore> {
  const choice = chooseRestore(await readCatalog(store), at);
  if (typeof choice === "string") throw new Failure(choice);
  return readRestore(choice);
}

export class BucketProcess {
  private constructor(
    readonly directory: string,
    readonly endpoint: string,
    private readonly child: ChildProcess,
  ) {}

  static async start(directory: string): Promise<BucketProcess> {
    mkdirSync(directory, { recursive: true });
    // The library of the bucket reads the credentials from the environment.
    Object.assign(process.env, CREDENTIALS);
    const child = fork(join(__dirname, "..", "..", "processes", "s3-main.ts"), [directory], {
      execArgv: ["--import", "tsx"],
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    return new BucketProcess(join(directory, BUCKET), await reply(child), child);
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  open(prefix: string, signal: AbortSignal): Promise<BucketStore> {
    const location: BucketLocation = {
      ...{ bucket: BUCKET, prefix, endpoint: this.endpoint, region: undefined, pathStyle: true },
      encryption: { kind: "none" },
    };
    return BucketStore.open(location, signal);
  }

  argumentsFor(prefix: string): string[] {
    return [`s3://${BUCKET}/${prefix}`, "--endpoint", this.endpoint];
  }

  /** Closes the port and all connections, or opens the port again. */
  async tell(word: "away" | "back"): Promise<void> {
    this.child.send(word);
    await reply(this.child);
  }

  async close(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    this.child.kill("SIGKILL");
    await once(this.child, "exit");
  }
}

async function reply(child: ChildProcess): Promise<string> {
  const ended = once(child, "exit").then(() => {
    throw new Failure("the S3 server ended");
  });
  const [message] = (await Promise.race([once(child, "message"), ended])) as [string];
  ended.catch(() => undefined);
  return message;
}

const SETTLING_MS = 60_000;

interface Restored {
  readonly deployment: Deployment;
  /** Compares every key with the archive, as the command does. */
  readonly compare: () => Promise<readonly ServerComparison[]>;
}

/** Stages the archived data of each shard as an RDB file. */
export function stage(host: Host, restore: Restore, signal: AbortSignal): Promise<StagedShard[]> {
  return stageSets(stagingProcesses(host), restore, "absolute", { signal, report: () => undefined });
}

/**
 * Restores into servers of a host, and verifies them. They have DEBUG commands, so that benchmarks can read digests.
 * @param shards number of shards. One shard is replication
 * @param staged staged data, if there are any; else the archived data are staged
 */
export async function restoreInto(
  host: Host,
  restore: Restore,
  shards: number,
  signal: AbortSignal,
  staged?: readonly StagedShard[],
): Promise<Restored> {
  const shape = chooseShape(restore.period, { mode: shards === 1 ? "replication" : "cluster", shards });
  if (typeof shape === "string") throw new Failure(shape);
  const options = { signal, report: () => undefined };
  const keys = new KeySelection();
  const files = staged ?? (await stage(host, restore, signal));
  const plan = withDebug(await writeRestored(host, files, { restored: restore, shape, replicas: 0, keys }, options));
  const deployment = await startRestored(host, plan, signal);
  await host.form(deployment, plan.shape, options);
  const { verdict } = await verifyUntilPass(deployment, { settlingMs: SETTLING_MS, ...options });
  if (!verdict.pass) throw new Failure("the restored servers do not pass verification");
  const wanted = { staged: files, keys, isUnchanged: shape.isArchived, directory: host.run.path };
  return { deployment, compare: () => compareServers(deployment, wanted, options) };
}

function withDebug(plan: HostDeploymentPlan): HostDeploymentPlan {
  return { ...plan, settings: { ...plan.settings, "enable-debug-command": "local" } };
}

/** Arguments of the command `archive` for a deployment. @param into arguments of the bucket's prefix */
export function archiveArguments(
  { mode }: Deployment,
  nodes: readonly DeploymentNode[],
  into: readonly string[],
): string[] {
  const servers = nodes.flatMap(({ endpoint, zone = "a" }) => ["--node", `${formatEndpoint(endpoint)}=${zone}`]);
  return ["archive", "--mode", mode, ...servers, "--into", ...into];
}

/** Credentials of the bucket and the servers, which the command reads from the environment. */
export const archiveEnvironment = ({ access: { password } }: Deployment): NodeJS.ProcessEnv => ({
  ...CREDENTIALS,
  VALKEY_PASSWORD: password,
});

/** Connections to the primaries of a deployment, by slot. */
export class Routes {
  private constructor(
    readonly connections: readonly Connection[],
    private readonly ownerOf: Uint16Array,
  ) {}

  static async open(deployment: Deployment): Promise<Routes> {
    const { shards } = (await verifyUntilPass(deployment, { settlingMs: SETTLING_MS })).verdict;
    const ownerOf = new Uint16Array(SLOT_COUNT);
    const connections: Connection[] = [];
    for (const [index, { primary, slots }] of shards.entries()) {
      const node = deployment.nodes.find(({ name }) => name === primary);
      if (node === undefined) throw new Error(`shard ${index} has no primary`);
      connections.push(await deployment.connect(node));
      for (const { from, to } of slots) ownerOf.fill(index, from, to + 1);
    }
    return new Routes(connections, ownerOf);
  }

  static async use<T>(deployment: Deployment, work: (routes: Routes) => Promise<T>): Promise<T> {
    const routes = await Routes.open(deployment);
    try {
      return await work(routes);
    } finally {
      routes.close();
    }
  }

  index(key: string | Buffer): number {
    return this.ownerOf[calculateSlot(key)] ?? 0;
  }

  /** @param next 1 for the shard after it */
  to(key: string | Buffer, next = 0): Connection {
    const connection = this.connections[(this.index(key) + next) % this.connections.length];
    if (connection === undefined) throw new Error("there is no shard");
    return connection;
  }

  close(): void {
    for (const connection of this.connections) connection.disconnect();
  }
}
