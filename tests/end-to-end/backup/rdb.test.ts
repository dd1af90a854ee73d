/** RDB files that real servers of several versions write and load. */
import { mkdirSync, openSync, readFileSync, rmSync, writeSync, closeSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, describe, expect, it } from "vitest";
import type { Programs } from "../../../platforms/host/programs/programs";
import { decodeValue } from "../../../backup/rdb/decode";
import { TYPE } from "../../../backup/rdb/rdb-format";
import type { RdbKey } from "../../../backup/rdb/rdb-visitor";
import { splitRdbs } from "../../../backup/rdb/splitting/split";
import type { StreamGroup, StreamId, Value } from "../../../backup/rdb/value";
import { readFileInPieces, walkRdb } from "../../../backup/rdb/walk";
import { distributeSlots } from "../../../valkey/topology/slots";
import { writeDataSet } from "../../support/valkey/data-set";
import { useSandbox } from "../../support/valkey/hooks";
import type { ServerProcess } from "../../support/valkey/server-process";
import { checkRdb, digests, save, VERSIONS, programsOf, startServer } from "../../support/valkey/server-process";

/** Settings with which small values get the compact encodings, and with which they get tables. */
const ENCODINGS = {
  compact: { "list-max-listpack-size": "128", "hash-max-listpack-entries": "512", "zset-max-listpack-entries": "512" },
  tables: {
    "hash-max-listpack-entries": "0",
    "zset-max-listpack-entries": "0",
    "set-max-intset-entries": "1",
    rdbcompression: "no",
  },
};

const sandbox = useSandbox();
let number = 0;

const freshDirectory = (): string => join(sandbox.host.run.path, `data-${number++}`);

interface FoundKey {
  readonly key: RdbKey;
  readonly value: Value;
}

async function readAll(file: string): Promise<{ found: FoundKey[]; libraries: string[] }> {
  const found: FoundKey[] = [];
  const libraries: string[] = [];
  const whole = readFileSync(file);
  let current: RdbKey | undefined;
  const summary = await walkRdb(readFileInPieces(file), {
    key: (key) => (current = key),
    functionLibrary: (code) => libraries.push(code.toString()),
    keyEnd: (end) => {
      if (current === undefined) throw new Error("there is no key");
      found.push({ key: current, value: decodeValue(current.type, whole.subarray(current.valueOffset, end)) });
    },
  });
  expect(summary).toMatchObject({ keys: found.length, bytes: whole.length, hasChecksum: true });
  return { found, libraries };
}

const hex = (bytes: Buffer): string => bytes.toString("hex");
const idText = ({ ms, sequence }: StreamId): string => `${ms}-${sequence}`;

async function asCommandsSay(
  { connection }: ServerProcess,
  { key, type }: RdbKey,
  hasFieldTtls: boolean,
): Promise<unknown> {
  const ask = async (command: string, ...args: (string | Buffer)[]): Promise<Buffer[]> =>
    (await connection.callBuffer(command, args)) as Buffer[];
  switch (await connection.type(key)) {
    case "string":
      return hex((await connection.getBuffer(key)) ?? Buffer.alloc(0));
    case "list":
      return (await ask("LRANGE", key, "0", "-1")).map(hex);
    case "set":
      return (await ask("SMEMBERS", key)).map(hex).sort();
    case "zset": {
      const all = await ask("ZRANGE", key, "0", "-1", "WITHSCORES");
      return all
        .flatMap((each, index) =>
          index % 2 === 0 ? [[hex(each), Number(String(all[index + 1]).replace("inf", "Infinity"))]] : [],
        )
        .sort();
    }
    case "hash": {
      const all = await ask("HGETALL", key);
      const fields = all.filter((_, index) => index % 2 === 0);
      const times = hasFieldTtls
        ? ((await connection.call("HPEXPIRETIME", [key, "FIELDS", String(fields.length), ...fields])) as number[])
        : fields.map(() => -1);
      return fields.map((field, index) => [hex(field), hex(all[2 * index + 1] ?? field), times[index]]).sort();
    }
    case "stream": {
      const entries = (await ask("XRANGE", key, "-", "+")) as unknown as [Buffer, Buffer[]][];
      const info = await connection.call("XINFO", ["STREAM", key, "FULL", "COUNT", "0"]);
      const facts = pairsOf(info);
      return {
        entries: entries.map(([id, fields]) => [id.toString(), fields.map(hex)]),
        lastId: facts["last-generated-id"],
        maxDeletedId: facts["max-deleted-entry-id"],
        entriesAdded: facts["entries-added"],
        groups: (facts["groups"] as unknown[]).map((each) => groupAsCommandsSay(pairsOf(each))).sort(byName),
      };
    }
    default:
      throw new Error(`type ${type} of ${hex(key)} was not expected`);
  }
}

const byName = (a: { name: unknown }, b: { name: unknown }): number => String(a.name).localeCompare(String(b.name));

function pairsOf(list: unknown): Record<string, unknown> {
  const items = list as unknown[];
  return Object.fromEntries(
    items.flatMap((each, index) => (index % 2 === 0 ? [[String(each), items[index + 1]]] : [])),
  );
}

function groupAsCommandsSay(group: Record<string, unknown>): { name: unknown } {
  return {
    name: group["name"],
    lastId: group["last-delivered-id"],
    entriesRead: group["entries-read"],
    pending: ((group["pel"] ?? group["pending"]) as unknown[][]).map(([id, consumer, at, times]) => [
      id,
      consumer,
      at,
      times,
    ]),
    consumers: (group["consumers"] as unknown[])
      .map(pairsOf)
      .map((consumer) => ({
        name: consumer["name"],
        seen: consumer["seen-time"],
        active: consumer["active-time"] ?? consumer["seen-time"],
      }))
      .sort(byName),
  } as { name: unknown };
}

function groupAsDecoded({ name, lastId, entriesRead, pending, consumers }: StreamGroup): { name: unknown } {
  return {
    name: name.toString(),
    lastId: idText(lastId),
    entriesRead: entriesRead === 2n ** 64n - 1n ? null : Number(entriesRead),
    pending: pending.map((entry) => [
      idText(entry.id),
      entry.consumer.toString(),
      entry.deliveredAt,
      Number(entry.deliveries),
    ]),
    consumers: consumers
      .map((each) => ({ name: each.name.toString(), seen: each.seenAt, active: each.activeAt }))
      .sort(byName),
  } as { name: unknown };
}

function asDecoded(value: Value): unknown {
  switch (value.kind) {
    case "string":
      return hex(value.value);
    case "list":
      return value.elements.map(hex);
    case "set":
      return value.members.map(hex).sort();
    case "sorted set":
      return value.members.map(({ member, score }) => [hex(member), score]).sort();
    case "hash":
      return value.fields.map(({ field, value: each, expiresAt = -1 }) => [hex(field), hex(each), expiresAt]).sort();
    case "stream":
      return {
        entries: value.entries.map(({ id, fields }) => [idText(id), fields.map(hex)]),
        lastId: idText(value.lastId),
        maxDeletedId: idText(value.maxDeletedId),
        entriesAdded: Number(value.entriesAdded),
        groups: value.groups.map(groupAsDecoded).sort(byName),
      };
    case "module":
      throw new Error("there are no modules");
  }
}

const hasFieldTtls = ({ product, version }: Programs): boolean =>
  Number.parseFloat(version) >= (product === "redis" ? 7.4 : 9);

describe.each(VERSIONS)("%s", (version) => {
  const programsOrSkip = async (context: TestContext): Promise<Programs> =>
    (await programsOf(version)) ?? context.skip(`${version} cannot be had here`);

  it.for(Object.keys(ENCODINGS) as (keyof typeof ENCODINGS)[])(
    "its file of %s says what its commands say",
    async (encodings, context) => {
      const programs = await programsOrSkip(context);
      const server = await startServer(sandbox, programs, freshDirectory(), ENCODINGS[encodings]);
      expect(await writeDataSet(server.connection, 7, 350)).toEqual(
        expect.not.arrayContaining(["SET", "XGROUP", "FUNCTION"]),
      );
      const file = await save(server);
      const { found, libraries } = await readAll(file);
      expect(libraries).toHaveLength(1);
      const sizes = [
        await server.connection.dbsize(),
        await server.connection.select(3).then(() => server.connection.dbsize()),
      ];
      expect([0, 3].map((database) => found.filter(({ key }) => key.database === database).length)).toEqual(sizes);
      expect(await checkRdb(programs, file)).toContain(`${found.length} keys read`);
      for (const database of [0, 3]) {
        await server.connection.select(database);
        const inDatabase = found.filter(({ key }) => key.database === database);
        const said = await Promise.all(
          inDatabase.map(async ({ key }) => [
            key.key.toString("latin1"),
            await asCommandsSay(server, key, hasFieldTtls(programs)),
            await server.connection.call("PEXPIRETIME", [key.key]),
          ]),
        );
        const decoded = inDatabase.map(({ key, value }) => [
          key.key.toString("latin1"),
          asDecoded(value),
          key.expiresAt ?? -1,
        ]);
        expect(decoded).toEqual(said);
      }
      const kinds = new Set(found.map(({ value }) => value.kind));
      expect(kinds.size).toBe(6);
      if (hasFieldTtls(programs))
        expect(
          found.some(
            ({ value }) => value.kind === "hash" && value.fields.some(({ expiresAt }) => expiresAt !== undefined),
          ),
        ).toBe(true);
      if (encodings === "tables") expect(found.some(({ key }) => key.type === TYPE.sortedSet)).toBe(true);
      await server.kill();
    },
  );

  it("loads the three files into which its file is split, and their keys are equal", async (context) => {
    const programs = await programsOrSkip(context);
    const server = await startServer(sandbox, programs, freshDirectory());
    await writeDataSet(server.connection, 8, 250);
    const file = await save(server);
    const slots = distributeSlots(3);
    const files = slots.map(() => join(freshDirectory(), "dump.rdb"));
    const open = files.map((path) => {
      mkdirSync(join(path, ".."), { recursive: true });
      return openSync(path, "w");
    });
    const result = await splitRdbs(
      [{ name: "shard-0", bytes: readFileInPieces(file) }],
      slots.map((range, index) => ({
        ranges: [range],
        sink: {
          write: (bytes) => {
            writeSync(open[index] ?? -1, bytes);
            return Promise.resolve();
          },
        },
      })),
    );
    open.forEach(closeSync);
    expect(result.keysOf.every((keys) => keys > 30)).toBe(true);
    expect(result.databases).toEqual([0, 3]);
    for (const database of [0, 3]) {
      const expected = await digests(server, database);
      const united = new Map<string, string>();
      for (const path of files) {
        await checkRdb(programs, path);
        const loaded = await startServer(sandbox, programs, join(path, ".."));
        for (const [key, digest] of await digests(loaded, database)) united.set(key, digest);
        expect(await loaded.connection.call("FCALL", ["double", "0", "21"])).toBe(42);
        await loaded.kill();
      }
      expect(united).toEqual(expected);
    }
    await server.kill();
    rmSync(file);
  });
});
