import { Failure } from "../../../lib/errors";
import { counted, formatBytes, formatCount } from "../../../lib/units";
import { type Layout, readLayout } from "../../archive/shard-layout";
import type { Connection } from "../../../valkey/connection";
import { withConnections } from "../../../valkey/connections";
import { readKeyCount } from "../../../valkey/databases";
import type { Deployment } from "../../../valkey/deployment";
import { FunctionLibraries } from "../../rdb/splitting/function-libraries";
import { cannotReadDataOf } from "../../../valkey/settings/version";
import { infoNumber, parseFlatReply, parseInfo } from "../../../valkey/topology/replies";
import type { SlotRange } from "../../../valkey/topology/slots";
import type { Restore } from "../../archive/catalog";
import { keyName } from "../key-refusal";
import { type KeySelection, unmatchedProblems } from "../key-selection";
import { missingDatabases } from "../copying/replay-keys";
import { slotsOf } from "../restore-shape";
import type { StagedShard } from "../staging";
import type { WantedKeys } from "../wanted-keys";

/** Longest value that a server with default settings accepts in a command, bytes. */
const LONGEST_VALUE = 512 * 1024 ** 2;
/** Bytes that a payload of RESTORE has in addition to the value. */
const PAYLOAD_BYTES = 11;

interface ServerFacts {
  readonly keys: number;
  readonly libraries: number;
  readonly version: string;
  readonly usedBytes: number;
  readonly maxBytes: number | undefined;
  readonly longestValue: number;
}

export async function readServers(target: Deployment): Promise<ServerFacts[]> {
  return withConnections(target, (connections) =>
    Promise.all(target.nodes.map((node) => readServer(connections.get(node)))),
  );
}

async function readServer(connection: Connection | undefined): Promise<ServerFacts> {
  if (connection === undefined) throw new Error("a connection is missing");
  const [keys, server, memory, functions, longest] = await Promise.all([
    readKeyCount(connection),
    connection.info("server"),
    connection.info("memory"),
    connection.call("FUNCTION", ["LIST"]).catch(() => []),
    // A user of a managed service may have no right to read settings.
    connection.config("GET", "proto-max-bulk-len").catch(() => []),
  ]);
  const [of, info] = [parseInfo(server), parseInfo(memory)];
  return {
    keys,
    libraries: Array.isArray(functions) ? functions.length : 0,
    version: of.get("valkey_version") ?? of.get("redis_version") ?? "",
    usedBytes: infoNumber(info, "used_memory") ?? 0,
    maxBytes: infoNumber(info, "maxmemory") || undefined,
    longestValue: infoNumber(parseFlatReply(longest), "proto-max-bulk-len") ?? LONGEST_VALUE,
  };
}

/** Undefined if it has neither keys nor libraries of functions. */
export function filledProblem(
  name: string,
  servers: readonly Pick<ServerFacts, "keys" | "libraries">[],
): string | undefined {
  const keys = Math.max(0, ...servers.map((each) => each.keys));
  const libraries = Math.max(0, ...servers.map((each) => each.libraries));
  if (keys === 0 && libraries === 0) return undefined;
  const found = [
    ...(keys === 0 ? [] : [`${counted(keys, "key")} on one server`]),
    ...(libraries === 0 ? [] : [counted(libraries, "library", "libraries") + " of functions"]),
  ];
  return (
    `${name} has data already: ${found.join(" and ")}; restoreFrom fills only a new deployment, ` +
    "and does not change data that exist"
  );
}

export function versionProblems(
  name: string,
  servers: readonly Pick<ServerFacts, "version">[],
  {
    shards,
  }: {
    readonly shards: readonly { readonly name: string; readonly set: Pick<Restore["shards"][number]["set"], "base"> }[];
  },
): string[] {
  const versions = [...new Set(servers.map(({ version }) => version))];
  return shards.flatMap((shard) =>
    versions.flatMap((version) =>
      cannotReadDataOf(shard.set.base.serverVersion, version)
        ? [
            `the data of ${shard.name} are of version ${shard.set.base.serverVersion}, and ${name} has the older ` +
              `version ${version}; deploy version ${shard.set.base.serverVersion} or newer`,
          ]
        : [],
    ),
  );
}

/** @throws Failure for different libraries of one name in archived shards, and for too long values */
export async function dataProblems(
  target: Deployment,
  servers: readonly ServerFacts[],
  staged: readonly StagedShard[],
  wanted: WantedKeys,
  keys: KeySelection,
): Promise<string[]> {
  const libraries = new FunctionLibraries();
  for (const { shard, code } of wanted.libraries) libraries.add(shard, code);
  const longest = Math.min(...servers.map(({ longestValue }) => longestValue));
  if (wanted.largest !== undefined && wanted.largest.bytes + PAYLOAD_BYTES > longest)
    throw new Failure(
      `${keyName(wanted.largest)} has a value of ${formatBytes(wanted.largest.bytes)}, and ${target.name} accepts at ` +
        `most ${formatBytes(longest)} (proto-max-bulk-len)`,
    );
  const missing = await missingDatabases(target, wanted.databases);
  return [
    ...unmatchedProblems(keys, "keys"),
    ...(missing === undefined ? [] : [missing]),
    ...memoryProblems(
      await readLayout(target),
      new Map(target.nodes.map((node, index) => [node.name, servers[index]])),
      { staged, wanted },
    ),
  ];
}

export function memoryProblems(
  { shards }: Layout,
  servers: ReadonlyMap<string, Pick<ServerFacts, "usedBytes" | "maxBytes"> | undefined>,
  data: {
    readonly staged: readonly Pick<StagedShard, "datasetBytes">[];
    readonly wanted: Pick<WantedKeys, "sourceBytes" | "wantedBytes">;
  },
): string[] {
  return shards.flatMap((shard, index) => {
    const needed = neededBytes(slotsOf(shard), data);
    return shard.members.flatMap(({ node }) => {
      const { usedBytes = 0, maxBytes = Infinity } = servers.get(node.name) ?? {};
      if (usedBytes + needed <= maxBytes) return [];
      return [
        `the data do not fit: shard-${index} gets about ${formatBytes(needed)}, and ${node.name} has a maxmemory of ` +
          `${formatBytes(maxBytes)}, of which it uses ${formatBytes(usedBytes)}`,
      ];
    });
  });
}

/** Estimated memory of the wanted keys of slots: the staged data's memory, by the keys' share of the files. */
function neededBytes(ranges: readonly SlotRange[], { staged, wanted }: Parameters<typeof memoryProblems>[2]): number {
  return staged.reduce((sum, { datasetBytes }, source) => {
    const bySlot = wanted.wantedBytes[source];
    const all = wanted.sourceBytes[source] ?? 0;
    if (bySlot === undefined || all === 0) return sum;
    const own = ranges.reduce(
      (bytes, { from, to }) => bytes + bySlot.subarray(from, to + 1).reduce((a, b) => a + b, 0),
      0,
    );
    return sum + (datasetBytes * own) / all;
  }, 0);
}

export function formatProgress(done: number, all: number): string {
  return `${formatCount(done)} of ${counted(all, "key")}`;
}
