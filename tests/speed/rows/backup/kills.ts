/** Disturbances of servers, archive and bucket under writes. After each one, the last instant is restored. */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { KeyWrite, WriteAccounting } from "../../../../faults/writes/accounting";
import { accountForWrites } from "../../../../faults/writes/accounting";
import { WriteClient } from "../../../../faults/writes/write-client";
import { messageOf } from "../../../../lib/errors";
import type { Host } from "../../../../platforms/host/host";
import { copySets } from "../../../../valkey/archive/bucket/local-sets";
import { connect } from "../../../../valkey/connection";
import type { Deployment } from "../../../../valkey/deployment";
import { formatEndpoint } from "../../../../valkey/node";
import { verifyUntilPass } from "../../../../valkey/verification/verify";
import { Place } from "../../../support/command";
import type { Benchmark, BenchmarkContext } from "../../benchmark";
import { atMost, singleRow } from "../../row";
import { hostPlan } from "../../workbench";
import { ArchiveService } from "./archive-service";
import { BucketProcess } from "./bucket-process";
import { readNumbers } from "./restored-numbers";
import { restoreInto, shapeOf } from "./restored";
import { restoreOf } from "./running-archive";

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
/** Target of the RPO, milliseconds. */
const RPO_MS = 1_000;
const SETTLING_MS = 120_000;
const NAME = "disturbed";

type Kind = (typeof KINDS)[number];

export const backupKills: Benchmark = {
  title: "Acknowledged writes that a restore lacks after disturbances",
  ids: [ID],
  run: async (context) => {
    const base = hostPlan(NAME, "cluster", SMALL);
    const settings = { ...base.settings, "repl-diskless-sync-delay": 0, "cluster-node-timeout": 2000 };
    await context.workbench.withServers(
      [{ ...base, settings }],
      async ({ host, deployments: [deployment], signal }) => {
        if (deployment === undefined) throw new Error("no deployment was started");
        await host.form(deployment, SMALL, { signal });
        const bucket = await BucketProcess.start(join(host.run.path, "s3"));
        const place = new Place();
        try {
          const disturbances = new Disturbances(context, host, deployment, bucket, place, signal);
          const outcomes: Outcome[] = [];
          for (let index = 0; index < KINDS.length * TIMES_EACH; index++)
            outcomes.push(await disturbances.next(KINDS[index % KINDS.length] ?? "archive"));
          emitRow(context, outcomes);
        } finally {
          await bucket.close();
          await place.close();
        }
      },
    );
  },
};

/** Numbers of acknowledged writes of all disturbances so far, which each restore must have. */
interface Outcome {
  readonly acknowledged: number;
  /** Those that the restored servers lack, and the deployment has. */
  readonly missing: number;
  /** Those that the deployment itself has lost. */
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
  /** Writes of all earlier disturbances. */
  readonly #histories = new Map<string, readonly KeyWrite[]>();
  /** Keys with writes that the deployment has lost. */
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
      dial: (endpoint: Deployment["nodes"][number]["endpoint"]) => connect("a node", endpoint, access, 2000),
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

  /** Kills a server, waits for a failover, and starts the server again. */
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
      const remote = await restoreOf(await this.bucket.open(NAME, signal));
      const options = { signal, report: () => undefined };
      const restore = await copySets(remote, join(host.run.path, "sets"), options);
      const { deployment, shape } = await restoreInto(host, restore, shapeOf(restore, restore.shards.length), signal);
      return accountForWrites(this.#histories, await readNumbers(deployment, shape, [...this.#histories.keys()]));
    });
  }
}
