/** Compares what restored servers hold with the sets from which they were restored. */
import { rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { epochMs } from "../../lib/clock";
import { Failure } from "../../lib/errors";
import type { Restore } from "../../valkey/archive/catalog";
import { materialize } from "../../valkey/archive/materialize";
import { sourceAt } from "../../valkey/archive/shard-layout";
import { connect } from "../../valkey/connection";
import type { Deployment } from "../../valkey/deployment";
import type { DeploymentNode } from "../../valkey/node";
import type { Comparison } from "../../valkey/rdb/compare";
import { compareRdb } from "../../valkey/rdb/compare";
import { readFileInPieces } from "../../valkey/rdb/walk";
import { fetchSnapshot } from "../../valkey/replication-stream/fetch-snapshot";
import type { Shard } from "../../valkey/verification/shards";
import type { Host } from "./host";
import type { RestoreOptions } from "./restore";
import { awaitLoaded, loadingSettings, neededDatabases } from "./restore";

/** Longest time for a server to write its RDB file, milliseconds. */
const SAVE_MS = 12 * 3_600_000;
/** Highest number of differences that are listed for one server. */
const NAMED = 100;

/** The comparison of a server with the set of its shard. */
export interface ServerComparison {
  readonly shard: string;
  /** Name of the server. */
  readonly server: string;
  readonly comparison: Comparison;
}

/**
 * Compares database, key, type, value, TTL, TTLs of fields, consumer groups and functions. For each shard, a server
 * outside of the deployment loads the set, and its content is the expected one. Keys whose TTL has passed are left out.
 * @param shards shards of the restored deployment, as verification found them
 * @throws Failure if a server of a shard is missing, and the errors of `startRestored`
 */
export async function compareRestored(
  host: Host,
  deployment: Deployment,
  restore: Restore,
  shards: readonly Shard[],
  options: RestoreOptions,
): Promise<ServerComparison[]> {
  const results: ServerComparison[] = [];
  for (const [index, { name }] of restore.shards.entries()) {
    options.report(`comparing ${name}`, true);
    const wanted = await referenceFile(host, restore, index, options);
    for (const node of serversOf(deployment, shards, index)) {
      const found = join(host.run.path, `${node.name}.rdb`);
      await fetchSnapshot(sourceAt(deployment, node), found, options.signal);
      const comparison = await compareRdb(
        () => readFileInPieces(wanted),
        () => readFileInPieces(found),
        { scope: "replicated", expiredBy: epochMs(), limit: NAMED },
      );
      results.push({ shard: name, server: node.name, comparison });
      rmSync(found);
    }
    rmSync(dirname(wanted), { recursive: true });
  }
  const missing = deployment.nodes.filter(({ name }) => !results.some(({ server }) => server === name));
  if (missing.length > 0)
    throw new Failure(
      `FAIL — not compared, because they are in no shard: ${missing.map(({ name }) => name).join(", ")}`,
    );
  return results;
}

/** The primary of a set and its replicas, as verification found them. Pure. */
export function serversOf(
  { nodes }: Pick<Deployment, "nodes">,
  shards: readonly Shard[],
  index: number,
): readonly DeploymentNode[] {
  const primary = nodes[index];
  const shard = shards.find((each) => each.primary === primary?.name);
  if (primary === undefined || shard === undefined)
    throw new Failure(`FAIL — shard ${index} cannot be compared: ${primary?.name ?? "its server"} is not a primary`);
  return nodes.filter((node) => node === primary || shard.replicas.includes(node.name));
}

/**
 * Makes an RDB file of a set as it was at its instant. A server loads the set as a replica without a primary, because a
 * replica does not remove keys whose TTL has passed.
 */
async function referenceFile(host: Host, restore: Restore, index: number, { signal }: RestoreOptions): Promise<string> {
  const shard = restore.shards[index];
  if (shard === undefined) throw new Error(`there is no shard ${index}`);
  const name = `reference-${index}`;
  const directory = host.run.nodeDirectory(name, `${name}-0`);
  await materialize(shard.store, shard.set, shard.point, directory);
  const reference = await host.start(
    {
      name,
      mode: "replication",
      shape: { primaries: 1, replicasPerPrimary: 0 },
      // Nothing listens on this port.
      settings: { ...loadingSettings(neededDatabases(restore), false), replicaof: "127.0.0.1 1" },
      zones: ["a"],
    },
    signal,
  );
  await awaitLoaded(reference, signal);
  const [node] = reference.nodes;
  if (node === undefined) throw new Error(`${name} has no server`);
  const connection = await connect(node.name, node.endpoint, reference.access, SAVE_MS);
  const onAbort = (): void => {
    connection.disconnect();
  };
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    await connection.save();
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener("abort", onAbort);
    connection.disconnect();
  }
  await host.signal(name, [node.name], "SIGKILL");
  return join(directory, "dump.rdb");
}
