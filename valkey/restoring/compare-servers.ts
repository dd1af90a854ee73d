/** Compares the data of servers with the archived data from which they were restored. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { epochMs } from "../../lib/clock";
import { Failure } from "../../lib/errors";
import type { Layout } from "../archive/shard-layout";
import { readLayout, sourceAt } from "../archive/shard-layout";
import type { Deployment } from "../deployment";
import type { DeploymentNode } from "../node";
import type { Comparison } from "../rdb/comparing/compare";
import { compareRdbs } from "../rdb/comparing/compare";
import { readFileInPieces } from "../rdb/walk";
import { fetchSnapshot } from "../replication-stream/snapshot";
import type { SlotRange } from "../topology/slots";
import { formatRanges } from "../topology/slots";
import type { KeySelection } from "./key-selection";
import type { RestoreOptions } from "./loading";
import { slotsOf } from "./restore-shape";
import type { StagedShard } from "./staging";
import { counted } from "../../lib/units";

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

interface WantedData {
  readonly staged: readonly StagedShard[];
  readonly keys: KeySelection;
  /**
   * Whether the servers have loaded the archived data without changes. In this case, each server has only the function
   * libraries of its own shard. Otherwise every server has the libraries of all shards.
   */
  readonly isUnchanged: boolean;
  /** Directory for the data that the servers send. The data of one server of each shard are there at a time. */
  readonly directory: string;
}

/** A server of a shard, and the slots of the shard. */
interface ShardServer {
  readonly shard: string;
  readonly node: DeploymentNode;
  readonly ranges: readonly SlotRange[];
}

/**
 * Compares all keys and functions of the servers with the staged data: database, key, type, value, TTL, TTLs of fields
 * and consumer groups. Keys whose TTL has passed are left out. The primaries of all shards are compared first, then the
 * first replica of each shard, and so on. The expected TTLs are computed from the staged data, not read from the files
 * that the servers have loaded.
 * @throws Failure if a server is in no shard or does not answer, and while slots move
 */
export async function compareServers(
  deployment: Deployment,
  wanted: WantedData,
  { signal, report }: RestoreOptions,
): Promise<ServerComparison[]> {
  const results: ServerComparison[] = [];
  for (const round of roundsOf(deployment, await readLayout(deployment))) {
    const found = round.map((each) => ({ ...each, file: join(wanted.directory, `${each.node.name}.rdb`) }));
    for (const { node, file } of found) {
      report(`receiving the data of ${node.name}`, true);
      await fetchSnapshot(sourceAt(deployment, node), file, signal);
    }
    report(`comparing ${round.map(({ node }) => node.name).join(", ")}`, true);
    const comparisons = await compareFiles(wanted, found);
    for (const [place, { shard, node, file }] of found.entries()) {
      const comparison = comparisons[place];
      if (comparison !== undefined) results.push({ shard, server: node.name, comparison });
      rmSync(file);
    }
  }
  return results.sort((a, b) => Number(a.shard.slice(6)) - Number(b.shard.slice(6)));
}

/** Compares RDB files that servers have sent with the staged data of their slots. */
export async function compareFiles(
  { staged, keys, isUnchanged }: Omit<WantedData, "directory">,
  found: readonly { readonly file: string; readonly ranges: readonly SlotRange[] }[],
): Promise<Comparison[]> {
  return compareRdbs(
    staged.map(({ file, shiftMs }) => ({
      open: () => readFileInPieces(file),
      shiftMs,
      isWanted: keys.isAll ? undefined : ({ key }) => keys.has(key),
    })),
    found.map(({ file, ranges }) => ({
      open: () => readFileInPieces(file),
      ranges,
      librariesOf: isUnchanged ? staged.findIndex((each) => hasSlots(each, ranges)) : undefined,
    })),
    { scope: "replicated", expiredBy: epochMs(), limit: NAMED },
  );
}

const hasSlots = (shard: StagedShard, ranges: readonly SlotRange[]): boolean =>
  formatRanges(shard.ranges) === formatRanges(ranges);

/**
 * Lists the servers of all shards: first the primaries, then the first replica of each shard, and so on. Pure.
 * @throws Failure if a node of the deployment is in no shard, if a shard has no primary, or if the shards change
 */
export function roundsOf({ nodes }: Pick<Deployment, "nodes">, { shards, unsettled }: Layout): ShardServer[][] {
  if (unsettled !== undefined) throw new Failure(`FAIL — not compared: ${unsettled}`);
  const servers = shards.map((shard, index) => {
    const primary = shard.members.find(({ isPrimary }) => isPrimary);
    if (primary === undefined) throw new Failure(`FAIL — not compared: the primary of shard ${index} does not answer`);
    const members = [primary, ...shard.members.filter((member) => member !== primary)];
    return members.map(({ node }) => ({ shard: `shard-${index}`, node, ranges: slotsOf(shard) }));
  });
  const names = new Set(servers.flat().map(({ node }) => node.name));
  const missing = nodes.filter(({ name }) => !names.has(name)).map(({ name }) => name);
  if (missing.length > 0)
    throw new Failure(`FAIL — not compared, because they are in no shard or do not answer: ${missing.join(", ")}`);
  const rounds = Math.max(...servers.map((each) => each.length));
  return Array.from({ length: rounds }, (_, round) => servers.flatMap((each) => each[round] ?? []));
}

/** A line for each difference that the comparison lists, and a line for the number of the others. */
export function differencesOf({ server, comparison: { first, differing, libraries } }: ServerComparison): string[] {
  const rest = differing - first.length;
  return [
    ...first.map(
      ({ database, key, kind }) => `  ${server}: database ${database}, key ${JSON.stringify(key.toString())}: ${kind}`,
    ),
    ...(rest > 0 ? [`  ${server}: and ${counted(rest, "more key")}`] : []),
    ...libraries.map((name) => `  ${server}: library of functions ${JSON.stringify(name)} differs`),
  ];
}
