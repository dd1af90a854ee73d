import { rmSync } from "node:fs";
import { join } from "node:path";
import { epochMs } from "../../lib/clock";
import { Failure } from "../../lib/errors";
import { type Layout, readLayout, sourceAt } from "../archive/shard-layout";
import type { Deployment } from "../../valkey/deployment";
import type { DeploymentNode } from "../../valkey/node";
import { type Comparison, compareRdbs } from "../rdb/comparing/compare";
import { readFileInPieces } from "../rdb/walk";
import { fetchSnapshot } from "../replication-stream/snapshot";
import { type SlotRange, formatRanges } from "../../valkey/topology/slots";
import type { KeySelection } from "./key-selection";
import type { RestoreOptions } from "./loading";
import { slotsOf } from "./restore-shape";
import type { StagedShard } from "./staging";
import { counted } from "../../lib/units";

const NAMED = 100;

export interface ServerComparison {
  readonly shard: string;
  readonly server: string;
  readonly comparison: Comparison;
}

interface WantedData {
  readonly staged: readonly StagedShard[];
  readonly keys: KeySelection;
  /** Whether each server has only its shard's function libraries; otherwise every server has those of all shards. */
  readonly isUnchanged: boolean;
  /** The data of one server of each shard are there at a time. */
  readonly directory: string;
}

interface ShardServer {
  readonly shard: string;
  readonly node: DeploymentNode;
  readonly ranges: readonly SlotRange[];
}

/**
 * Expired keys are left out. Expected TTLs are computed from the staged data, not from the files that servers loaded.
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

/** Primaries first, then each shard's first replica, and so on. @throws Failure if shards change or lack a primary */
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
