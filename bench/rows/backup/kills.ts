/** Disturbances of servers, archive and bucket under writes. After each one, the last instant is restored. */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { KeyContent, KeyWrite, WriteAccounting } from "../../../faults/writes/accounting";
import { accountForWrites } from "../../../faults/writes/accounting";
import { readKey } from "../../../faults/writes/commands";
import { ConnectionPool } from "../../../faults/writes/connection-pool";
import { RoutingTable } from "../../../faults/writes/routing-table";
import { WriteClient } from "../../../faults/writes/write-client";
import calculateSlot from "cluster-key-slot";
import { messageOf } from "../../../lib/errors";
import type { Host } from "../../../platforms/host/host";
import { type Connection, connect } from "../../../valkey/connection";
import type { Deployment } from "../../../valkey/deployment";
import { type DeploymentNode, type Endpoint, formatEndpoint } from "../../../valkey/node";
import { verifyUntilPass } from "../../../valkey/verification/verify";
import { type Command, Place } from "../../../tests/support/command";
import { type Benchmark, type BenchmarkContext, hostPlan } from "../../workbench";
import { atMost, singleRow } from "../../row";
import { archiveArguments, archiveEnvironment, BucketProcess, restoreInto, restoreOf } from "./archives";
import { awaitCondition } from "../../../lib/polling";

const ID = "backup-kills";
const KINDS = ["archive", "followed node", "primary", "resize", "bucket"] as const;
const TIMES_EACH = 6;
const SMALL = { primaries: 3, replicasPerPrimary: 1 };
const LARGE = { primaries: 4, replicasPerPrimary: 1 };
const RATE = 300;
const LOAD = { rate: RATE, bytes: 64, timeoutMs: 3_000, acknowledgement: { replicas: 1, timeoutMs: 1_000 } };
/** Time of writes before the disturbance, and after the archive has said that it is current, milliseconds. */
const [BEFORE_MS, AFTER_MS] = [2_000, 1_000];
const BUCKET_AWAY_MS = 20_000;
const RPO_MS = 1_000;
const SETTLING_MS = 120_000;
const NAME = "disturbed";

type Kind = (typeof KINDS)[number];

export const backupKills: Benchmark = {
  title: "Acknowledged writes that a restore lacks after disturbances",
  ids: [ID],
  run: async (context) => {
    const settings = { "repl-diskless-sync-delay": 0, "cluster-node-timeout": 2000 };
    const plan = hostPlan(NAME, "cluster", SMALL, settings);
    await context.workbench.withDeployment(plan, async ({ host, deployment, signal }) => {
      await host.form(deployment, SMALL, { signal });
      const bucket = await BucketProcess.start(join(host.run.path, "s3"));
      const place = new Place();
      try {
        const disturbances = new Disturbances(context, host, deployment, bucket, place, signal);
        const outcomes: Outcome[] = [];
        while (outcomes.length < KINDS.length * TIMES_EACH)
          outcomes.push(await disturbances.next(KINDS[outcomes.length % KINDS.length] ?? "archive"));
        emitRow(context, outcomes);
      } finally {
        await bucket.close();
        await place.close();
      }
    });
  },
};

/** Numbers of acknowledged writes of all disturbances so far, which each restore must have. */
interface Outcome {
  readonly acknowledged: number;
  /** Those that the restored servers lack, and the deployment has. */
  readonly missing: number;
  readonly lost: number;
  /** The RPO that the archive has said, but at least the target, milliseconds. */
  readonly rpoMs: number;
  readonly error: string | undefined;
}

function emitRow({ emit }: BenchmarkContext, outcomes: readonly Outcome[]): void {
  const last = outcomes.at(-1);
  const rpos = outcomes.map(({ rpoMs }) => rpoMs).filter((each) => each > RPO_MS);
  const failed = outcomes.filter(({ error }) => error !== undefined).length;
  const clean = outcomes.filter(({ missing, error }) => missing === 0 && error === undefined).length;
  const missing = outcomes.reduce((sum, each) => sum + each.missing, 0);
  const what =
    `acknowledged writes (WAIT 1) older than the RPO (${RPO_MS / 1000} s, or what the command says if it is more: ` +
    `${rpos.length} times, up to ${Math.max(0, ...rpos) / 1000} s) that a restore of the last instant lacks, after each of ` +
    `${outcomes.length} disturbances (${KINDS.join(", ")}) of a cluster with ${RATE} writes/s and of its archive in a ` +
    `bucket: ${clean} restores lack none, ${failed} failed, the last has ${last?.acknowledged ?? 0}; the servers ` +
    `themselves lost ${Math.max(...outcomes.map(({ lost }) => lost))}`;
  // A restore that fails lacks everything.
  emit(singleRow({ id: ID, what, unit: "writes" }, failed > 0 ? missing + failed : missing, atMost(0)));
}

class Disturbances {
  #count = 0;
  #deployment: Deployment;
  readonly #archive: ArchiveService;
  readonly #histories = new Map<string, readonly KeyWrite[]>();
  readonly #lostKeys = new Set<string>();

  constructor(
    private readonly context: BenchmarkContext,
    private readonly host: Host,
    deployment: Deployment,
    private readonly bucket: BucketProcess,
    place: Place,
    private readonly signal: AbortSignal,
  ) {
    this.#deployment = deployment;
    this.#archive = new ArchiveService(place, deployment, () => host.nodes(NAME), bucket.argumentsFor(NAME));
  }

  /** Disturbs once, ends the archive by SIGKILL while clients write, and restores. */
  async next(kind: Kind): Promise<Outcome> {
    const number = ++this.#count;
    const shards = (await verifyUntilPass(this.#deployment, { settlingMs: SETTLING_MS, signal: this.signal })).verdict
      .shards;
    const { access, mode } = this.#deployment;
    const target = {
      mode,
      shards: shards.map(({ slots }) => slots),
      nodes: () => this.host.nodes(NAME),
      dial: (endpoint: Endpoint) => connect("a node", endpoint, access, 2000),
    };
    const client = new WriteClient(target, LOAD, `disturbed-${number}:`);
    this.#archive.start();
    try {
      await this.#archive.hasBases(this.signal);
      await client.start();
      await sleep(BEFORE_MS);
      const { periods } = this.#archive;
      await this.#disturb(kind);
      await verifyUntilPass(this.#deployment, { settlingMs: SETTLING_MS, signal: this.signal });
      await this.#archive.isCurrent(kind === "resize" ? periods + 1 : 0, this.signal);
      await sleep(AFTER_MS);
      const endedMs = performance.now();
      const rpoMs = Math.max(1000 * this.#archive.rpo, RPO_MS);
      await this.#archive.end();
      await client.stop();
      const outcome = { ...(await this.#check(client, endedMs - rpoMs)), rpoMs };
      this.context.report(
        `${number}, ${kind}: of ${outcome.acknowledged} acknowledged writes, ${outcome.missing} are missing, RPO ${outcome.rpoMs / 1000} s` +
          (outcome.lost > 0 ? `; the servers lost ${outcome.lost}` : ""),
      );
      return outcome;
    } catch (error) {
      this.signal.throwIfAborted();
      this.context.report(`${number}, ${kind}: ${messageOf(error)}\n${this.#archive.output.slice(-2000)}`);
      return { acknowledged: 0, missing: 0, lost: 0, rpoMs: 0, error: messageOf(error) };
    } finally {
      await this.#archive.end();
      client.close();
    }
  }

  /** @returns when the cause has ended. The deployment may need more time */
  async #disturb(kind: Kind): Promise<void> {
    switch (kind) {
      case "archive":
        this.#archive.kill();
        return;
      case "followed node":
        await this.#crash(this.#nodeAt([...this.#archive.followed.values()][this.#count % SMALL.primaries] ?? ""));
        return;
      case "primary": {
        const { verdict } = await verifyUntilPass(this.#deployment, { settlingMs: SETTLING_MS, signal: this.signal });
        await this.#crash(verdict.shards[this.#count % verdict.shards.length]?.primary ?? "");
        return;
      }
      case "resize": {
        const shape = this.#deployment.shape.primaries === SMALL.primaries ? LARGE : SMALL;
        this.#deployment = await this.host.resize(this.#deployment, shape, { signal: this.signal }, this.signal);
        return;
      }
      case "bucket":
        await this.bucket.tell("away");
        await sleep(BUCKET_AWAY_MS);
        await this.bucket.tell("back");
    }
  }

  #nodeAt(address: string): string {
    const node = this.host.nodes(NAME).find(({ endpoint }) => formatEndpoint(endpoint) === address);
    if (node === undefined) throw new Error(`no node has the address ${address}`);
    return node.name;
  }

  async #crash(name: string): Promise<void> {
    await this.host.signal(NAME, [name], "SIGKILL");
    await sleep(5_000);
    await this.host.restart(NAME, [name], { newAddresses: false }, this.signal);
  }

  /** @param untilMs time of performance.now until which writes must be in the archive */
  async #check(client: WriteClient, untilMs: number): Promise<Omit<Outcome, "rpoMs">> {
    const live = accountForWrites(client.history.byKey(), await client.readBack());
    for (const { key } of live.lost) this.#lostKeys.add(key);
    for (const [key, writes] of client.history.byKey())
      // Whether a later write is in the archive is not known.
      this.#histories.set(
        key,
        writes.map((each) =>
          each.endedMs <= untilMs ? each : { ...each, outcome: { kind: "unknown", error: "too young" } as const },
        ),
      );
    const found = await this.#restore();
    const missing = found.lost.filter(({ key }) => !this.#lostKeys.has(key));
    const first = missing.slice(0, 3).map(({ key, number, found: value }) => `${key} ${number}: ${value}`);
    if (missing.length > 0) this.context.report(`missing: ${first.join(", ")}`);
    const unread = found.unread > 0 ? `${found.unread} keys were not read: ${found.unreadReason}` : undefined;
    return { acknowledged: found.acknowledged, missing: missing.length, lost: this.#lostKeys.size, error: unread };
  }

  #restore(): Promise<WriteAccounting> {
    return this.context.workbench.withServers([], async ({ host, signal }) => {
      const restore = await restoreOf(await this.bucket.open(NAME, signal));
      const { deployment } = await restoreInto(host, restore, restore.shards.length, signal);
      return accountForWrites(this.#histories, await readNumbers(deployment, [...this.#histories.keys()]));
    });
  }
}

const RESTART_MS = 500;
const CURRENT_MS = 180_000;
/** An RPO with which the archive has caught up, although the machine is busy, seconds. */
const SMALL_RPO = 5;

class ArchiveService {
  #command: Command | undefined;
  #stopped = new AbortController();
  #running: Promise<void> | undefined;
  #ended = "";

  constructor(
    private readonly place: Place,
    private readonly deployment: Deployment,
    private readonly nodes: () => readonly DeploymentNode[],
    private readonly into: readonly string[],
  ) {}

  start(): void {
    this.#stopped = new AbortController();
    this.#running = this.#run();
  }

  kill(): void {
    this.#command?.child.kill("SIGKILL");
    // What it has printed says nothing about the next command.
    this.#ended += this.#command?.output ?? "";
    this.#command = undefined;
  }

  async end(): Promise<void> {
    this.#stopped.abort();
    this.kill();
    await this.#running;
  }

  get output(): string {
    return this.#ended + (this.#command?.output ?? "");
  }

  /** Addresses of the nodes that are followed, as `HOST:PORT`, by shard. */
  get followed(): ReadonlyMap<string, string> {
    const lines = [...(this.#command?.output ?? "").matchAll(/(shard-\d+): following (\S+)/g)];
    return new Map(lines.map(([, shard = "", node = ""]) => [shard, node]));
  }

  get periods(): number {
    return this.output.match(/ new period /g)?.length ?? 0;
  }

  async hasBases(signal: AbortSignal): Promise<void> {
    await awaitCondition("every shard has a base", () => Promise.resolve(this.#afterBases() !== ""), {
      timeoutMs: CURRENT_MS,
      signal,
    });
  }

  /**
   * Waits until the present command has a base of each shard, and has then said after this call that its RPO is small.
   * @param periods number of periods that must have begun
   */
  async isCurrent(periods: number, signal: AbortSignal): Promise<void> {
    const said = this.#saidRpos;
    const isCurrent = (): Promise<boolean> =>
      Promise.resolve(this.periods >= periods && this.#saidRpos > said && this.rpo <= SMALL_RPO);
    await awaitCondition("every shard has a base, and the RPO is small", isCurrent, { timeoutMs: CURRENT_MS, signal });
  }

  get #saidRpos(): number {
    return this.output.match(/ RPO \d/g)?.length ?? 0;
  }

  /** The RPO that the present command has said last, seconds. NaN before it has a base of each shard. */
  get rpo(): number {
    return Number([...this.#afterBases().matchAll(/ RPO (\d+\.\d+) s;/g)].at(-1)?.[1] ?? NaN);
  }

  /** Output of the present command after its last period has a base of each shard. Empty before. */
  #afterBases(): string {
    const output = this.#command?.output ?? "";
    const period = output.slice(Math.max(output.lastIndexOf("new period"), output.lastIndexOf("continued period"), 0));
    const count = Number(/period \S+ with (\d+) shards?/.exec(period)?.[1] ?? NaN);
    const ready = [...period.matchAll(/(shard-\d+): (?:base with|the stream goes on where the archive ended)/g)];
    const isComplete = new Set(ready.map(([, shard]) => shard)).size === count;
    return isComplete ? period.slice(ready.at(-1)?.index) : "";
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopped;
    // TypeScript would assume that the flag of the signal cannot change during an await.
    const isOver = (): boolean => signal.aborted;
    while (!isOver()) {
      const args = archiveArguments(this.deployment, this.nodes(), this.into);
      const command = await this.place.start(args, archiveEnvironment(this.deployment));
      this.#command = command;
      if (isOver()) this.kill();
      await command.ended;
      if (this.#command === command) this.kill();
      if (!isOver()) await sleep(RESTART_MS);
    }
  }
}

const READS_IN_FLIGHT = 200;

/** Reads keys as the client that wrote them does. @returns the content of each key, by the name of the key */
async function readNumbers(
  { mode, nodes, access }: Deployment,
  keys: readonly string[],
): Promise<Map<string, KeyContent>> {
  const dial = (endpoint: Endpoint): Promise<Connection> => connect("a node", endpoint, access, 2000);
  const client = { routes: new RoutingTable(mode, () => nodes, dial), connections: new ConnectionPool(dial, 1) };
  const contents = new Map<string, KeyContent>();
  const read = async (name: string): Promise<void> => {
    contents.set(name, await readKey({ name, slot: calculateSlot(name) }, client));
  };
  try {
    await client.routes.open();
    for (let begin = 0; begin < keys.length; begin += READS_IN_FLIGHT)
      await Promise.all(keys.slice(begin, begin + READS_IN_FLIGHT).map(read));
    return contents;
  } finally {
    client.routes.close();
    client.connections.close();
  }
}
