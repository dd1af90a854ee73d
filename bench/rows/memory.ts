/** Deployments that are filled to the brim of a memory limit which the kernel holds, beside the share that is often set by hand. */
import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "../../lib/errors";
import type { Connection } from "../../valkey/connection";
import { form } from "../../valkey/formation/form";
import { withinMemory } from "../../valkey/planning/memory-plan";
import type { ServerSettings } from "../../valkey/settings/settings";
import { infoNumber, parseInfo } from "../../valkey/topology/replies";
import { slotTags } from "../../valkey/topology/slot-tags";
import type { Shard } from "../../valkey/verification/shards";
import { verifyUntilPass } from "../../valkey/verification/verify";
import { DeployedPods, podLabels } from "../../tests/support/kubernetes/deployed-pods";
import { eventually } from "../../tests/support/valkey/real";
import { plainServers } from "../../tests/support/kubernetes/server-args";
import { type Benchmark, type BenchmarkContext, NO_KUBERNETES } from "../workbench";
import { sumOf } from "../fault-driver";
import { atLeast, atMost, singleRow } from "../row";

const IDS = ["memory-killed", "memory-refused"] as const;
const NAME = "brim";
const LARGE = { primaries: 4, replicasPerPrimary: 1 };
const SMALL = { primaries: 3, replicasPerPrimary: 1 };
const LIMIT_BYTES = 96 * 2 ** 20;
const LIMIT = { ...plainServers.resources, limits: { cpu: "500m", memory: "96Mi" } };
const SETTINGS: ServerSettings = { "repl-diskless-sync-delay": 0, "enable-debug-command": "local" };
/** The part of a limit that is often given to data. */
const BY_HAND = 0.8;
const REPEATS = { ours: 30, reference: 5 };
const VALUE = "x".repeat(5000);
const BATCH = 100;
const FILLED_MS = 120_000;

export const memory: Benchmark = {
  title: "Deployments that are filled to the brim while they save, synchronize fully and are resized",
  ids: IDS,
  missing: NO_KUBERNETES,
  run: async (context) => {
    const demand = { limitBytes: LIMIT_BYTES, mode: "cluster", shape: LARGE, settings: SETTINGS } as const;
    const ours = await fillOften(context, "ours", withinMemory(demand));
    const reference = await fillOften(context, "reference", { ...SETTINGS, maxmemory: BY_HAND * LIMIT_BYTES });
    const head = `${REPEATS.ours} times 3 primaries filled to the brim while they save, synchronize fully and become 4`;
    const beside = `reference: maxmemory is ${100 * BY_HAND} % of the limit, ${reference.rounds} times`;
    const killed = `${head}: servers that the kernel killed; ${beside}`;
    const refused = `${head}: rounds in which each primary refused writes; ${beside}`;
    const all = atLeast(REPEATS.ours);
    context.emit(
      singleRow({ id: IDS[0], what: killed, unit: "servers" }, ours.killed, atMost(0), reference.killed),
      singleRow({ id: IDS[1], what: refused, unit: "rounds" }, ours.refusing, all, reference.refusing),
    );
  },
};

interface Filled {
  readonly rounds: number;
  /** Servers that ended without being told to. */
  readonly killed: number;
  readonly refusing: number;
}

async function fillOften(
  { report, signal }: BenchmarkContext,
  kind: keyof typeof REPEATS,
  settings: ServerSettings,
): Promise<Filled> {
  const pods = await DeployedPods.open(NAME, { mode: "cluster", shape: LARGE }, { settings, resources: LIMIT });
  let [rounds, refusing] = [0, 0];
  try {
    while (rounds < REPEATS[kind]) {
      signal.throwIfAborted();
      rounds++;
      try {
        const refused = await fillOnce(pods);
        if (refused.every((count) => count > 0)) refusing++;
        report(`${kind}, round ${rounds}: ${refused.join(", ")} writes refused, ${await kills(pods)} servers killed`);
      } catch (error) {
        report(`${kind}, round ${rounds} did not end: ${messageOf(error)}`);
        if ((await kills(pods)) > 0) break;
        throw error;
      }
    }
    return { rounds, refusing, killed: await kills(pods) };
  } finally {
    await pods.close();
  }
}

async function kills({ here }: DeployedPods): Promise<number> {
  const statuses = (await here.pods(podLabels(NAME))).flatMap(({ status }) => status?.containerStatuses ?? []);
  return sumOf(statuses, ({ restartCount }) => restartCount);
}

/** @returns how many writes each of the three primaries refused */
async function fillOnce(pods: DeployedPods): Promise<number[]> {
  const { deployment } = pods;
  const [staying, leaving] = [deployment.nodes.slice(0, 6), deployment.nodes.slice(6)];
  const small = { ...deployment, shape: SMALL, nodes: staying };
  await form(small, SMALL, { leaving });
  return pods.withNodes(async (at) => {
    const { shards } = (await verifyUntilPass(small, { settlingMs: FILLED_MS })).verdict;
    const fillers = shards.map((shard) => new Filler(at(shard.primary), shard));
    try {
      await eventually("all primaries refuse writes", () => fillers.every(({ refused }) => refused > 0), FILLED_MS);
      await Promise.all(fillers.map(({ connection }) => save(connection)));
      await Promise.all(fillers.map(({ connection }) => synchronizeFully(connection)));
      for (const name of shards.flatMap((shard) => shard.replicas)) await untilLinked(at(name));
      await form(deployment, LARGE);
    } finally {
      await Promise.all(fillers.map((filler) => filler.stop()));
    }
    await pods.verified();
    await pods.flush();
    return fillers.map(({ refused }) => refused);
  });
}

class Filler {
  refused = 0;
  #ends = false;
  readonly #work: Promise<void>;

  constructor(
    readonly connection: Connection,
    { slots }: Shard,
  ) {
    const tags = slotTags();
    const own = slots.flatMap(({ from, to }) => tags.slice(from, to + 1));
    this.#work = this.#write(own);
  }

  async stop(): Promise<void> {
    this.#ends = true;
    await this.#work;
  }

  async #write(tags: readonly string[]): Promise<void> {
    while (!this.#ends) {
      const pipeline = this.connection.pipeline();
      for (let each = 0; each < BATCH; each++) {
        const tag = tags[Math.floor(Math.random() * tags.length)] ?? "";
        pipeline.set(`{${tag}}:${Math.floor(Math.random() * 10)}`, VALUE);
      }
      // A slot that has moved is written to no more.
      const replies = (await pipeline.exec().catch(() => undefined)) ?? [];
      this.refused += replies.filter(([error]) => error?.message.startsWith("OOM")).length;
      if (replies.length === 0) await sleep(100);
    }
  }
}

async function save(connection: Connection): Promise<void> {
  await connection.bgsave().catch(() => undefined);
  const hasSaved = async (): Promise<boolean> =>
    infoNumber(parseInfo(await connection.info()), "rdb_bgsave_in_progress") === 0;
  await eventually("it has saved", hasSaved, FILLED_MS);
}

/** Has the replicas of a primary copy all of its data. */
async function synchronizeFully(connection: Connection): Promise<void> {
  await connection.call("DEBUG", "CHANGE-REPL-ID");
  await connection.call("CLIENT", "KILL", "TYPE", "replica");
}

async function untilLinked(connection: Connection): Promise<void> {
  const isLinked = async (): Promise<boolean> =>
    parseInfo(await connection.info("replication")).get("master_link_status") === "up";
  await eventually("the replica has its copy", isLinked, FILLED_MS);
}
