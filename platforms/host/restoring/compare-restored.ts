/** Compares the data of restored servers with the archived data from which they were restored. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { epochMs } from "../../../lib/clock";
import { Failure } from "../../../lib/errors";
import type { KeySelection } from "../../../valkey/archive/key-selection";
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

/** Highest number of differences that the comparison of one server lists. */
const NAMED = 100;

/** Result of the comparison of a server with the staged data of its slots. */
export interface ServerComparison {
  /** Name of the server's shard, such as `shard-0`. */
  readonly shard: string;
  /** Name of the server. */
  readonly server: string;
  readonly comparison: Comparison;
}

/** The servers of a restore, and the data that they must have. */
export interface Compared {
  readonly deployment: Deployment;
  readonly staged: readonly StagedShard[];
  /** The shape of the deployment. */
  readonly shape: RestoreShape;
  /** The keys that the deployment must have. */
  readonly keys: KeySelection;
  /**
   * Whether the servers have loaded the archived data without changes. In this case, each server has only the function
   * libraries of its own shard. Otherwise every server has the libraries of all shards.
   */
  readonly isUnchanged: boolean;
  /** Shards of the deployment, as verification found them. */
  readonly shards: readonly Shard[];
}

/**
 * Compares all keys and functions of the servers with the staged data: database, key, type, value, TTL, TTLs of fields
 * and consumer groups. Keys whose TTL has passed are left out. The primaries of all shards are compared first, then the
 * first replica of each shard, and so on. The expected TTLs are computed from the staged data, not read from the files
 * that the servers have loaded.
 * @throws Failure if a server of a shard is missing
 */
export async function compareRestored(
  host: Pick<Host, "run">,
  { deployment, staged, shape, keys, isUnchanged, shards }: Compared,
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
      staged.map(({ file, shiftMs }) => ({
        open: () => readFileInPieces(file),
        shiftMs,
        isWanted: keys.isAll ? undefined : ({ key }) => keys.has(key),
      })),
      compared.map(({ index, file, ranges }) => ({
        open: () => readFileInPieces(file),
        ranges,
        librariesOf: isUnchanged ? index : undefined,
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

/** The primary and the replicas of a shard, as the last verification found them. Pure. */
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
