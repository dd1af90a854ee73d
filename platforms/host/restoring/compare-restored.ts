/** Compares what restored servers hold with the sets from which they were restored. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { epochMs } from "../../../lib/clock";
import { Failure } from "../../../lib/errors";
import { sourceAt } from "../../../valkey/archive/shard-layout";
import type { RestoreShape } from "../../../valkey/archive/restore-shape";
import type { Deployment } from "../../../valkey/deployment";
import type { DeploymentNode } from "../../../valkey/node";
import type { Comparison } from "../../../valkey/rdb/comparing/compare";
import { compareRdbs } from "../../../valkey/rdb/comparing/compare";
import { readFileInPieces } from "../../../valkey/rdb/walk";
import { fetchSnapshot } from "../../../valkey/replication-stream/fetch-snapshot";
import type { Shard } from "../../../valkey/verification/shards";
import type { Host } from "../host";
import type { StagedShard } from "./staging";
import type { RestoreOptions } from "./start-restored";

/** Differences of a server that are named. */
const NAMED = 100;

/** The comparison of a server with the staged data of its slots. */
export interface ServerComparison {
  /** Name of the server's shard, such as `shard-0`. */
  readonly shard: string;
  /** Name of the server. */
  readonly server: string;
  readonly comparison: Comparison;
}

/**
 * Compares database, key, type, value, TTL, TTLs of fields, consumer groups and functions. The primaries of all shards
 * are compared together, then the first replica of each shard, and so on. Keys whose TTL has passed are left out.
 * @param shape the shape of the restored deployment
 * @param shards shards of the restored deployment, as verification found them
 * @throws Failure if a server of a shard is missing
 */
export async function compareRestored(
  host: Pick<Host, "run">,
  deployment: Deployment,
  staged: readonly StagedShard[],
  shape: RestoreShape,
  shards: readonly Shard[],
  { signal, report }: RestoreOptions,
): Promise<ServerComparison[]> {
  const results: ServerComparison[] = [];
  const servers = shape.shards.map((_, index) => serversOf(deployment, shards, index));
  const rounds = Math.max(...servers.map((each) => each.length));
  for (let round = 0; round < rounds; round++) {
    const compared = servers.flatMap((each, index) => {
      const node = each[round];
      return node === undefined
        ? []
        : [{ index, node, ranges: shape.shards[index], file: join(host.run.path, `${node.name}.rdb`) }];
    });
    for (const { node, file } of compared) {
      report(`receiving the data of ${node.name}`, true);
      await fetchSnapshot(sourceAt(deployment, node), file, signal);
    }
    report(`comparing ${compared.map(({ node }) => node.name).join(", ")}`, true);
    const comparisons = await compareRdbs(
      staged.map(({ file }) => ({ open: () => readFileInPieces(file) })),
      compared.map(({ index, file, ranges }) => ({
        open: () => readFileInPieces(file),
        ranges,
        // A library can be in only one shard of an archive. Other shapes have all libraries in each shard.
        librariesOf: shape.isArchived ? index : undefined,
      })),
      { scope: "replicated", expiredBy: epochMs(), limit: NAMED },
    );
    for (const [place, { index, node, file }] of compared.entries()) {
      const comparison = comparisons[place];
      if (comparison !== undefined) results.push({ shard: `shard-${index}`, server: node.name, comparison });
      rmSync(file);
    }
  }
  const missing = deployment.nodes.filter(({ name }) => !results.some(({ server }) => server === name));
  if (missing.length > 0)
    throw new Failure(
      `FAIL — not compared, because they are in no shard: ${missing.map(({ name }) => name).join(", ")}`,
    );
  return results.sort((a, b) => Number(a.shard.slice(6)) - Number(b.shard.slice(6)));
}

/** The primary of a shard and its replicas, as verification found them. Pure. */
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
