import { compact } from "../../lib/compact";

/**
 * Keys that must exist before a test. In a cluster, a collection is divided into one key for each hash tag. In
 * replication mode, a collection is a single key.
 */
export type Prefill =
  /** Keys `key:N` of the key space. Values use `sizes` in turn, if set, otherwise the workload's size. */
  | { readonly kind: "strings"; readonly family: "key"; readonly sizes?: readonly number[] }
  /** Keys `memtier-N` without hash tags, from N = 1. All sorted sets have the same few members. */
  | { readonly kind: "plain"; readonly family: "memtier-"; readonly type: "string" | "zset" }
  /** Keys `zset:N` for every number N of the key space. All sorted sets have the same few members. */
  | { readonly kind: "zsets"; readonly family: "zset" }
  /** Keys `counter:N` for every number N of the key space. Each counter has the value 0. */
  | { readonly kind: "counters"; readonly family: "counter" }
  /** Collections with one element for each number of the key space. */
  | { readonly kind: "members"; readonly family: "myset" | "myhash" | "myzset"; readonly type: "set" | "hash" | "zset" }
  /** Lists with as many elements as the longest range that a test reads. */
  | { readonly kind: "list"; readonly family: "mylist"; readonly length: number }
  /** Collections with more elements than the test can remove. */
  | { readonly kind: "stock"; readonly family: "mylist" | "myset" | "myzset"; readonly type: "list" | "set" | "zset" }
  /** Collections that the test itself creates. These collections must not exist before the test. */
  | { readonly kind: "grown"; readonly family: "mylist" | "mystream" }
  /** A function library on every primary. */
  | { readonly kind: "functions" };

/** One named test of valkey-benchmark, or one sequence of commands in the same form. */
export interface NamedTest {
  /** Title of the test in results. A test of valkey-benchmark has the title that valkey-benchmark prints. */
  readonly title: string;
  /** Name of the command. In INFO commandstats, this name follows `cmdstat_`. */
  readonly command: string;
  /** Names of all commands of a test that sends several commands. @default only `command` */
  readonly commands?: readonly string[];
  /**
   * Way in which the test is sent: with `-t` if valkey-benchmark has the test, and as a command if not.
   *
   * - Ranges are sent as commands, because `-t lrange_…` first pushes elements for as long as the test lasts.
   * - FCALL is sent as a command, because the keys of `-t` have no hash tag.
   * - A sequence of commands is sent unchanged. Its keys contain `{tag}` if the deployment is a cluster.
   */
  readonly send:
    | { readonly named: string }
    | { readonly words: readonly string[] }
    | { readonly sequence: readonly string[] };
  readonly prefill: Prefill | undefined;
  /** Whether every request should find its key. A request for a missing key is less work for the server. */
  readonly reads: boolean;
  /**
   * Whether a test leaves the same number of elements, more elements or fewer elements. A changed number depends on the
   * speed of the test, so the elements are removed after the test.
   */
  readonly leaves: "same" | "more" | "less";
}

const strings = { kind: "strings", family: "key" } as const;
const named = (command: string, rest: Pick<NamedTest, "prefill"> & Partial<NamedTest>): NamedTest => ({
  title: command.toUpperCase(),
  command,
  send: { named: command },
  reads: false,
  leaves: "same",
  ...rest,
});
const range = (last: number, title: string): NamedTest => ({
  title,
  command: "lrange",
  send: { words: ["LRANGE", "mylist", "0", String(last)] },
  prefill: { kind: "list", family: "mylist", length: last + 1 },
  reads: true,
  leaves: "same",
});

/** All tests by the names that `-t` accepts, in valkey-benchmark's own order. */
export const NAMED_TESTS = {
  ping_inline: {
    title: "PING_INLINE",
    command: "ping",
    send: { named: "ping_inline" },
    prefill: undefined,
    reads: false,
    leaves: "same",
  },
  ping_mbulk: {
    title: "PING_MBULK",
    command: "ping",
    send: { named: "ping_mbulk" },
    prefill: undefined,
    reads: false,
    leaves: "same",
  },
  set: named("set", { prefill: strings }),
  get: named("get", { prefill: strings, reads: true }),
  incr: named("incr", { prefill: { kind: "counters", family: "counter" } }),
  lpush: named("lpush", { prefill: { kind: "grown", family: "mylist" }, leaves: "more" }),
  rpush: named("rpush", { prefill: { kind: "grown", family: "mylist" }, leaves: "more" }),
  lpop: named("lpop", { prefill: { kind: "stock", family: "mylist", type: "list" }, leaves: "less" }),
  rpop: named("rpop", { prefill: { kind: "stock", family: "mylist", type: "list" }, leaves: "less" }),
  sadd: named("sadd", { prefill: { kind: "members", family: "myset", type: "set" } }),
  hset: named("hset", { prefill: { kind: "members", family: "myhash", type: "hash" } }),
  spop: named("spop", { prefill: { kind: "stock", family: "myset", type: "set" }, leaves: "less" }),
  zadd: named("zadd", { prefill: { kind: "members", family: "myzset", type: "zset" } }),
  zpopmin: named("zpopmin", { prefill: { kind: "stock", family: "myzset", type: "zset" }, leaves: "less" }),
  lrange_100: range(99, "LRANGE_100"),
  lrange_300: range(299, "LRANGE_300"),
  lrange_500: range(499, "LRANGE_500"),
  lrange_600: range(599, "LRANGE_600"),
  mset: named("mset", { prefill: strings }),
  mget: named("mget", { prefill: strings, reads: true }),
  xadd: named("xadd", { prefill: { kind: "grown", family: "mystream" }, leaves: "more" }),
  function_load: {
    title: "FUNCTION LOAD",
    command: "function|load",
    send: { named: "function_load" },
    // The test loads the library itself. It has a prefill, so that the library is refused if it exists, and removed.
    prefill: { kind: "functions" },
    reads: false,
    leaves: "same",
  },
  fcall: {
    title: "FCALL",
    command: "fcall",
    send: { words: ["FCALL", "foo1", "1", "key"] },
    prefill: { kind: "functions" },
    reads: false,
    leaves: "same",
  },
} as const satisfies Readonly<Record<string, NamedTest>>;

export type TestName = keyof typeof NAMED_TESTS;

export const TEST_NAMES = Object.keys(NAMED_TESTS) as TestName[];

export const TEST_ALIASES: Readonly<Record<string, readonly TestName[]>> = {
  ping: ["ping_inline", "ping_mbulk"],
  lrange: ["lrange_100", "lrange_300", "lrange_500", "lrange_600"],
};

/** Regardless of case, without repetition. Names that do not exist are in `unknown`. */
export function resolveTests(names: readonly string[]): { tests: TestName[]; unknown: string[] } {
  const tests = new Set<TestName>();
  const unknown: string[] = [];
  for (const name of names.map((each) => each.trim().toLowerCase())) {
    const meant = TEST_ALIASES[name] ?? TEST_NAMES.filter((test) => test === name);
    if (meant.length === 0) unknown.push(name);
    for (const test of meant) tests.add(test);
  }
  return { tests: [...tests], unknown };
}

export function keyFamilies(tests: readonly TestName[]): string[] {
  return [...new Set(compact(tests.map((test) => familyOf(NAMED_TESTS[test].prefill))))];
}

function familyOf(prefill: Prefill | undefined): string | undefined {
  return prefill !== undefined && "family" in prefill ? prefill.family : undefined;
}

export function commandsOfTest({ command, commands = [command] }: NamedTest): readonly string[] {
  return commands;
}

export function namedTest(name: TestName): NamedTest {
  return NAMED_TESTS[name];
}
