/**
 * Putting exactly the keys in place that a test will touch, counting them, and taking them away again.
 *
 * The servers make their own keys, by a script, in slices short enough to let other commands through: nothing
 * but the tags travels, so it is as quick over a port-forward as over loopback. Scripts touch only
 * slots their own node serves.
 */
import type { Connection } from "../../valkey/connection";
import { Failure, messageOf } from "../../lib/errors";
import { SLOT_COUNT } from "../../valkey/topology/slots";
import type { SlotRange } from "../../valkey/topology/slots";
import { formatSlots, keyInfixes, keysPerInfix } from "./key-space";
import type { Prefill } from "./named-tests";
import { ZSET_MEMBERS } from "./mixed-workload";

/** A primary, by role as verification found it. */
export interface PrimaryNode {
  readonly name: string;
  readonly connection: Connection;
  /** Undefined in replication mode. */
  readonly slots: readonly SlotRange[] | undefined;
  readonly replicas: number;
}

export interface PrefillSize {
  readonly keySpace: number;
  /** Bytes per value. */
  readonly dataSize: number;
  /** Elements that a `stock` must hold over all primaries. */
  readonly stock: number;
}

/** Keys or elements written per script call: a few milliseconds of a server's time. */
const SLICE = 2_000;
/** Calls under way together, so that a long way to the server costs a fraction: over a port-forward it may be 100 ms. */
const SLICES_AT_ONCE = 4;
/** Keys under way to one primary at once: over a way of t seconds at most so many each t. */
export const KEYS_IN_FLIGHT = SLICE * SLICES_AT_ONCE;
const REPLICATION_TIMEOUT_MS = 60_000;

/**
 * ARGV: verb, kind, family, first number, last number, value, sizes, format, slots, infixes…; returns how many keys there were.
 * Where there are sizes, numbered keys take them in turn instead of the value, in an order that no neighbours share. Sorted sets
 * have as many members as the value says. Keys are numbered by the format, and where there are slots (`0-5460 5462-5462`) only
 * those in them are this node's.
 */
const SCRIPT = `local verb, kind, family, first, last, value = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6]
local call, done, sizes, format, served = redis.call, 0, {}, ARGV[8], nil
for size in string.gmatch(ARGV[7], '%d+') do sizes[#sizes + 1] = tonumber(size) end
for from, to in string.gmatch(ARGV[9], '(%d+)-(%d+)') do
  served = served or {}
  for slot = tonumber(from), tonumber(to) do served[slot] = true end
end
local copies, batch = {}, math.max(1, math.min(500, math.floor(2 ^ 20 / math.max(1, #value))))
if kind == 'list' then for n = 1, batch do copies[n] = value end end
for i = 10, #ARGV do
  local key = family .. ARGV[i]
  if kind == 'numbered' or kind == 'zsets' then
    for n = first, last do
      local name = key .. string.format(format, n)
      if served == nil or served[call('CLUSTER', 'KEYSLOT', name)] then
        if verb == 'count' then done = done + call('EXISTS', name)
        elseif verb == 'remove' then done = done + call('UNLINK', name)
        elseif kind == 'zsets' then
          for member = 0, tonumber(value) - 1 do call('ZADD', name, member, string.format('element:%012d', member)) end
          done = done + 1
        elseif #sizes > 0 then call('SET', name, string.rep('x', sizes[((n + i) * 7919) % #sizes + 1])); done = done + 1
        else call('SET', name, value); done = done + 1 end
      end
    end
  elseif verb == 'count' then
    done = done + call('EXISTS', key)
  elseif verb == 'remove' then
    done = done + call('UNLINK', key)
  elseif kind == 'list' then
    -- One call for many: a call costs ten times what an element does.
    for n = first, last, batch do
      local count = math.min(batch, last - n + 1)
      call('RPUSH', key, unpack(copies, 1, count))
      done = done + count
    end
  else
    for n = first, last do
      local element = string.format('element:%012d', n)
      if kind == 'set' then call('SADD', key, element)
      elseif kind == 'hash' then call('HSET', key, element, value)
      else call('ZADD', key, n, element) end
      done = done + 1
    end
  end
end
return done`;

/** In a cluster: one call covers many slots of its node. Elsewhere there are no slots, and engines that do not know the flag. */
const FLAGS = "#!lua flags=allow-cross-slot-keys\n";

/** The library that valkey-benchmark's own FCALL test loads, with the function it calls. */
const LIBRARY =
  "#!lua name=benchlib\nlocal function foo1(keys, args)\nreturn keys[0]\nend\nserver.register_function('foo1', foo1)\n";

/** What a prefill comes to on one primary. */
interface Extent {
  readonly kind: "numbered" | "zsets" | "list" | "set" | "hash" | "zset" | "any";
  readonly family: string;
  /** Numbers per infix, 0 … count − 1. */
  readonly count: number;
  readonly value: string;
  /** Set where keys carry no tag, so that only their own slots tell whose they are: numbered from 1, without leading zeros. */
  readonly untagged?: boolean;
  /** In place of the value: the sizes that numbered keys take in turn. */
  readonly sizes?: readonly number[];
}

/**
 * Puts a test's keys in place on every primary, waits for the replicas, and counts them.
 * @throws Failure when a server refuses or the count is not what it must be
 */
export async function prefill(
  targets: readonly PrimaryNode[],
  what: Prefill,
  size: PrefillSize,
  signal?: AbortSignal,
): Promise<void> {
  const counts = await Promise.all(
    targets.map(async (target) => {
      if (what.kind === "functions") {
        await guard(target, target.connection.call("FUNCTION", "LOAD", "REPLACE", LIBRARY));
        return 0;
      }
      const extent = extentOf(what, size, target);
      // Filling twice adds to a list and refills a stock; numbered keys and members just stay.
      if (what.kind === "list" || what.kind === "stock" || what.kind === "grown")
        await eachSlice(target, extent, "remove", signal);
      if (what.kind === "grown") return 0;
      const filled = await eachSlice(target, extent, "fill", signal);
      await replicated(target);
      // What it wrote says nothing of what it left out. Only of keys without tags is it unknown how many are this primary's: all primaries' together are held against the key space below.
      const expected =
        extent.untagged === true ? filled : infixesOf(target, extent).length * (isNumbered(extent) ? extent.count : 1);
      const found = await eachSlice(target, extent, "count", signal);
      if (found !== expected)
        throw new Failure(
          `${target.name} holds ${found} of the ${expected} ${what.family} keys it was given (evicted, or removed by somebody?)`,
        );
      return found;
    }),
  );
  const all = counts.reduce((sum, count) => sum + count, 0);
  if (what.kind === "plain" && all !== size.keySpace)
    throw new Failure(
      `the primaries hold ${all} of the ${size.keySpace} ${what.family} keys: not every slot has one of them`,
    );
}

/** Takes a test's keys away again. */
export async function removeKeys(targets: readonly PrimaryNode[], what: Prefill, size: PrefillSize): Promise<void> {
  await Promise.all(
    targets.map(async (target) => {
      if (what.kind === "functions")
        await target.connection.call("FUNCTION", "DELETE", "benchlib").catch(() => undefined);
      else await eachSlice(target, extentOf(what, size, target), "remove");
    }),
  );
}

/** How many of a test's keys there are. */
export async function countKeys(targets: readonly PrimaryNode[], what: Prefill, size: PrefillSize): Promise<number> {
  if (what.kind === "functions") return 0;
  const counts = await Promise.all(targets.map((target) => eachSlice(target, extentOf(what, size, target), "count")));
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Whether a collection that a test takes from is used up on some primary: its last requests then found nothing. */
export async function hasRunEmpty(targets: readonly PrimaryNode[], what: Prefill, size: PrefillSize): Promise<boolean> {
  if (what.kind !== "stock") return false;
  const collections = targets.reduce((sum, { slots }) => sum + keyInfixes(slots).length, 0);
  return (await countKeys(targets, what, size)) < collections;
}

function extentOf(what: Exclude<Prefill, { kind: "functions" }>, size: PrefillSize, target: PrimaryNode): Extent {
  const isCluster = target.slots !== undefined;
  const perInfix = keysPerInfix(size.keySpace, isCluster);
  const value = "x".repeat(size.dataSize);
  switch (what.kind) {
    case "strings":
      return {
        kind: "numbered",
        family: what.family,
        count: perInfix,
        value,
        ...(what.sizes === undefined ? {} : { sizes: what.sizes }),
      };
    case "zsets":
      return { kind: "zsets", family: what.family, count: perInfix, value: String(ZSET_MEMBERS) };
    case "plain":
      return {
        kind: what.type === "string" ? "numbered" : "zsets",
        family: what.family,
        count: size.keySpace,
        value: what.type === "string" ? value : String(ZSET_MEMBERS),
        untagged: true,
      };
    case "counters":
      return { kind: "numbered", family: what.family, count: perInfix, value: "0" };
    case "members":
      return { kind: what.type, family: what.family, count: perInfix, value };
    case "list":
      return { kind: "list", family: what.family, count: what.length, value };
    case "grown":
      return { kind: "any", family: what.family, count: 1, value };
    case "stock":
      return { kind: what.type, family: what.family, count: stockPerInfix(size.stock, isCluster ? 16384 : 1), value };
  }
}

/** Primaries that answer faster get more of the takings, by so much at most. */
const FASTER_SHARE = 1.25;
/** −ln of the chance that a given tag runs short: with 16384 of them, one run in a million. */
const RARITY = 24;

/** Takings fall on tags by chance; Bernstein's inequality bounds how many can fall on one, for small means too. */
function stockPerInfix(stock: number, infixes: number): number {
  if (infixes === 1) return stock;
  const mean = (FASTER_SHARE * stock) / infixes;
  return 1 + Math.ceil(mean + RARITY / 3 + Math.sqrt((RARITY / 3) ** 2 + 2 * RARITY * mean));
}

async function eachSlice(
  target: PrimaryNode,
  extent: Extent,
  verb: "fill" | "count" | "remove",
  signal?: AbortSignal,
): Promise<number> {
  const slices = slicesOf(target, extent, verb);
  const format = extent.untagged === true ? "%d" : ":%012d";
  const slots = extent.untagged === true && target.slots !== undefined ? formatSlots(target.slots) : "";
  let sum = 0;
  for (let i = 0; i < slices.length; i += SLICES_AT_ONCE) {
    signal?.throwIfAborted();
    const calls = slices
      .slice(i, i + SLICES_AT_ONCE)
      .map(({ first, last, infixes }) =>
        guard(
          target,
          target.connection.eval(
            target.slots === undefined ? SCRIPT : FLAGS + SCRIPT,
            0,
            verb,
            extent.kind,
            extent.family,
            first,
            last,
            extent.value,
            (extent.sizes ?? []).join(" "),
            format,
            slots,
            ...infixes,
          ),
        ),
      );
    sum += (await Promise.all(calls)).reduce<number>((total, count) => total + Number(count), 0);
  }
  return sum;
}

function infixesOf({ slots }: PrimaryNode, { untagged = false }: Extent): readonly string[] {
  return untagged ? [""] : keyInfixes(slots);
}

/** Whether it is a key for each number, and not one with an element for each. */
function isNumbered({ kind }: Extent): boolean {
  return kind === "numbered" || kind === "zsets";
}

interface Slice {
  readonly first: number;
  readonly last: number;
  readonly infixes: readonly string[];
}

function slicesOf(target: PrimaryNode, extent: Extent, verb: "fill" | "count" | "remove"): Slice[] {
  const infixes = infixesOf(target, extent);
  const whole = !isNumbered(extent) && verb !== "fill";
  const perInfix = whole ? 1 : extent.count;
  const infixesAtOnce = Math.max(1, Math.floor(SLICE / Math.max(1, perInfix)));
  const from = extent.untagged === true ? 1 : 0;
  const step = extent.untagged === true ? Math.floor(SLICE / servedPart(target)) : SLICE;
  const slices: Slice[] = [];
  for (let i = 0; i < infixes.length; i += infixesAtOnce) {
    for (let first = from; first < perInfix + from; first += step) {
      slices.push({
        first,
        last: Math.min(first + step, perInfix + from) - 1,
        infixes: infixes.slice(i, i + infixesAtOnce),
      });
    }
  }
  return slices;
}

/** Of all slots: looking at keys of others costs a server time too, so it is given no more than ten times as many to look at. */
function servedPart({ slots }: PrimaryNode): number {
  return slots === undefined
    ? 1
    : Math.max(0.1, slots.reduce((sum, { from, to }) => sum + to - from + 1, 0) / SLOT_COUNT);
}

async function guard<T>(target: PrimaryNode, reply: Promise<T>): Promise<T> {
  try {
    return await reply;
  } catch (error) {
    const message = messageOf(error);
    const hint = message.includes("OOM") ? "; its maxmemory is too small for this workload" : "";
    throw new Failure(`${target.name} refuses to be filled: ${message}${hint}`, { cause: error });
  }
}

/** @throws Failure when the replicas do not have the keys in time */
async function replicated(target: PrimaryNode): Promise<void> {
  if (target.replicas === 0) return;
  const began = Date.now();
  while ((await target.connection.wait(target.replicas, 5_000)) < target.replicas) {
    if (Date.now() - began > REPLICATION_TIMEOUT_MS)
      throw new Failure(`the replicas of ${target.name} do not keep up with its prefill`);
  }
}
