/** Deployments that are filled to the brim of a memory limit which the kernel holds, beside the share that is often set by hand. */
import { setTimeout as sleep } from "node:timers/promises";
import { Failure, messageOf } from "../../../lib/errors";
import type { Connection } from "../../../valkey/connection";
import type { Deployment } from "../../../valkey/deployment";
import { form } from "../../../valkey/formation/form";
import { withinMemory } from "../../../valkey/planning/memory-plan";
import type { ServerSettings } from "../../../valkey/settings/settings";
import { infoNumber, parseInfo } from "../../../valkey/topology/replies";
import { slotTags } from "../../../valkey/topology/slot-tags";
import type { Shard } from "../../../valkey/verification/shards";
import { verifyUntilPass } from "../../../valkey/verification/verify";
import { DeployedPods, podLabels } from "../../support/kubernetes/deployed-pods";
import { KUBECONFIG } from "../../support/kubernetes/throw-away";
import { eventually } from "../../support/valkey/real";
import { plainServers } from "../../support/kubernetes/server-args";
import type { Benchmark, BenchmarkContext } from "../benchmark";
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
  ids: [...IDS],
  run: async (context) => {
    const wanted = IDS.filter((id) => context.wanted.has(id));
    if (wanted.length === 0) return;
    if (KUBECONFIG !== undefined) await measure(context);
    else for (const id of wanted) context.skip(id, "VALKEY_TEST_KUBECONFIG names no throw-away cluster");
  },
};

async function measure(context: BenchmarkContext): Promise<void> {
  const demand = { limitBytes: LIMIT_BYTES, mode: "cluster", shape: LARGE, settings: SETTINGS } as const;
  const ours = await fillOften(context, "ours", withinMemory(demand));
  const reference = await fillOften(context, "reference", { ...SETTINGS, maxmemory: BY_HAND * LIMIT_BYTES });
  const head = `${REPEATS.ours} times 3 primaries filled to the brim while they save, synchronize fully and become 4`;
  const beside = `reference: maxmemory is ${100 * BY_HAND} % of the limit, ${reference.rounds} times`;
  const rows = [
    singleRow(
      { id: IDS[0], what: `${head}: servers that the kernel killed; ${beside}`, unit: "servers" },
      ours.killed,
      atMost(0),
    ),
    singleRow(
      { id: IDS[1], what: `${head}: rounds in which each primary refused writes; ${beside}`, unit: "rounds" },
      ours.refusing,
      atLeast(REPEATS.ours),
    ),
  ];
  const references = [reference.killed, reference.refusing];
  for (const [index, row] of rows.entries())
    if (context.wanted.has(row.id)) context.emit({ ...row, reference: references[index] ?? null });
}

interface Filled {
  readonly rounds: number;
  /** Servers that ended without being told to. */
  readonly killed: number;
  /** Rounds in which each primary refused writes. */
  readonly refusing: number;
}

/** Fills a deployment again and again, until it cannot go on. */
async function fillOften(
  { report, workbench: { signal } }: BenchmarkContext,
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
  return statuses.reduce((sum, { restartCount }) => sum + restartCount, 0);
}

/** @returns how many writes each of the three primaries refused */
async function fillOnce(pods: DeployedPods): Promise<number[]> {
  const { deployment } = pods;
  const [staying, leaving] = [deployment.nodes.slice(0, 6), deployment.nodes.slice(6)];
  const small = { ...deployment, shape: SMALL, nodes: staying };
  await form(small, SMALL, { leaving });
  const connections = await Promise.all(staying.map((node) => deployment.connect(node)));
  try {
    const { shards } = (await verifyUntilPass(small, { settlingMs: FILLED_MS })).verdict;
    const fillers = shards.map((shard) => new Filler(connectionOf(shard.primary, deployment, connections), shard));
    try {
      await eventually("all primaries refuse writes", () => fillers.every(({ refused }) => refused > 0), FILLED_MS);
      await Promise.all(fillers.map(({ connection }) => save(connection)));
      const replicas = shards.flatMap((shard) => shard.replicas);
      await Promise.all(fillers.map(({ connection }) => synchronizeFully(connection)));
      for (const name of replicas) await untilLinked(connectionOf(name, deployment, connections));
      await form(deployment, LARGE);
    } finally {
      await Promise.all(fillers.map((filler) => filler.stop()));
    }
    await pods.verified();
    await pods.flush();
    return fillers.map(({ refused }) => refused);
  } finally {
    for (const connection of connections) connection.disconnect();
  }
}

function connectionOf(name: string | undefined, { nodes }: Deployment, connections: readonly Connection[]): Connection {
  const connection = connections[nodes.findIndex((node) => node.name === name)];
  if (connection === undefined) throw new Failure(`${name ?? "a shard"} has no primary among the nodes that stay`);
  return connection;
}

/** Writes keys of a shard at random, as fast as they are answered. */
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
  await eventually("it has saved", async () => (await number(connection, "rdb_bgsave_in_progress")) === 0, FILLED_MS);
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

const number = async (connection: Connection, key: string): Promise<number | undefined> =>
  infoNumber(parseInfo(await connection.info()), key);
