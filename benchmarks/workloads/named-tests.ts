/** valkey-benchmark's named tests: what each sends, which keys that touches, and what has to be there before. Plain data. */

/** A collection key per slot tag (one key in replication mode) or a family of string keys. */
export type Prefill =
  /** `key:N` for the whole key space, values of the workload's size. */
  | { readonly kind: "strings"; readonly family: "key"; readonly sizes?: readonly number[] }
  /** `memtier-N` for the whole key space, from 1 and without tags: a value each, or the same few members. */
  | { readonly kind: "plain"; readonly family: "memtier-"; readonly type: "string" | "zset" }
  /** `zset:N` for the whole key space, each with the same few members. */
  | { readonly kind: "zsets"; readonly family: "zset" }
  /** `counter:N` for the whole key space, each 0. */
  | { readonly kind: "counters"; readonly family: "counter" }
  /** A collection with one element for each number of the key space. */
  | { readonly kind: "members"; readonly family: "myset" | "myhash" | "myzset"; readonly type: "set" | "hash" | "zset" }
  /** Lists with as many elements as the longest range that is read. */
  | { readonly kind: "list"; readonly family: "mylist"; readonly length: number }
  /** A collection with more elements than the run can take out; or one that a run makes by itself, from nothing. */
  | { readonly kind: "stock"; readonly family: "mylist" | "myset" | "myzset"; readonly type: "list" | "set" | "zset" }
  | { readonly kind: "grown"; readonly family: "mylist" | "mystream" }
  /** A function library on every primary. */
  | { readonly kind: "functions" };

export interface NamedTest {
  /** As results name it, and as valkey-benchmark titles it where it has a name for it. */
  readonly title: string;
  /** Key in INFO commandstats, without `cmdstat_`. */
  readonly command: string;
  /** Where it sends several: all of them. */
  readonly commands?: readonly string[];
  /**
   * `-t` where valkey-benchmark has the test; else the command itself. Ranges are sent as commands because
   * `-t lrange_…` first pushes elements for as long as the test lasts; FCALL because its keys carry no slot tag. A sequence
   * of commands is sent as it stands, with `{tag}` in its keys for a cluster.
   */
  readonly send:
    { readonly named: string } | { readonly words: readonly string[] } | { readonly sequence: readonly string[] };
  readonly prefill: Prefill | undefined;
  /** The keys of the reads are all there: anything but hits would be other work. */
  readonly reads: boolean;
  /** What the test leaves behind grows or shrinks with its speed: it is removed before the next one. */
  readonly leaves: "same" | "more" | "less";
}

const strings = { kind: "strings", family: "key" } as const;
const range = (last: number, title: string): NamedTest => ({
  title,
  command: "lrange",
  send: { words: ["LRANGE", "mylist", "0", String(last)] },
  prefill: { kind: "list", family: "mylist", length: last + 1 },
  reads: true,
  leaves: "same",
});

/** By the names `-t` takes, in the order valkey-benchmark runs them. */
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
  set: { title: "SET", command: "set", send: { named: "set" }, prefill: strings, reads: false, leaves: "same" },
  get: { title: "GET", command: "get", send: { named: "get" }, prefill: strings, reads: true, leaves: "same" },
  incr: {
    title: "INCR",
    command: "incr",
    send: { named: "incr" },
    prefill: { kind: "counters", family: "counter" },
    reads: false,
    leaves: "same",
  },
  lpush: {
    title: "LPUSH",
    command: "lpush",
    send: { named: "lpush" },
    prefill: { kind: "grown", family: "mylist" },
    reads: false,
    leaves: "more",
  },
  rpush: {
    title: "RPUSH",
    command: "rpush",
    send: { named: "rpush" },
    prefill: { kind: "grown", family: "mylist" },
    reads: false,
    leaves: "more",
  },
  lpop: {
    title: "LPOP",
    command: "lpop",
    send: { named: "lpop" },
    prefill: { kind: "stock", family: "mylist", type: "list" },
    reads: false,
    leaves: "less",
  },
  rpop: {
    title: "RPOP",
    command: "rpop",
    send: { named: "rpop" },
    prefill: { kind: "stock", family: "mylist", type: "list" },
    reads: false,
    leaves: "less",
  },
  sadd: {
    title: "SADD",
    command: "sadd",
    send: { named: "sadd" },
    prefill: { kind: "members", family: "myset", type: "set" },
    reads: false,
    leaves: "same",
  },
  hset: {
    title: "HSET",
    command: "hset",
    send: { named: "hset" },
    prefill: { kind: "members", family: "myhash", type: "hash" },
    reads: false,
    leaves: "same",
  },
  spop: {
    title: "SPOP",
    command: "spop",
    send: { named: "spop" },
    prefill: { kind: "stock", family: "myset", type: "set" },
    reads: false,
    leaves: "less",
  },
  zadd: {
    title: "ZADD",
    command: "zadd",
    send: { named: "zadd" },
    prefill: { kind: "members", family: "myzset", type: "zset" },
    reads: false,
    leaves: "same",
  },
  zpopmin: {
    title: "ZPOPMIN",
    command: "zpopmin",
    send: { named: "zpopmin" },
    prefill: { kind: "stock", family: "myzset", type: "zset" },
    reads: false,
    leaves: "less",
  },
  lrange_100: range(99, "LRANGE_100"),
  lrange_300: range(299, "LRANGE_300"),
  lrange_500: range(499, "LRANGE_500"),
  lrange_600: range(599, "LRANGE_600"),
  mset: { title: "MSET", command: "mset", send: { named: "mset" }, prefill: strings, reads: false, leaves: "same" },
  mget: { title: "MGET", command: "mget", send: { named: "mget" }, prefill: strings, reads: true, leaves: "same" },
  xadd: {
    title: "XADD",
    command: "xadd",
    send: { named: "xadd" },
    prefill: { kind: "grown", family: "mystream" },
    reads: false,
    leaves: "more",
  },
  function_load: {
    title: "FUNCTION LOAD",
    command: "function|load",
    send: { named: "function_load" },
    prefill: undefined,
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

/** Names that stand for several tests. */
export const TEST_ALIASES: Readonly<Record<string, readonly TestName[]>> = {
  ping: ["ping_inline", "ping_mbulk"],
  lrange: ["lrange_100", "lrange_300", "lrange_500", "lrange_600"],
};

/** The tests that a list of names and aliases, in any case, asks for, each once; names that are none come back as unknown. */
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

/** Families of keys that tests need, each once. */
export function keyFamilies(tests: readonly TestName[]): string[] {
  return [
    ...new Set(
      tests.flatMap((test) => {
        const prefill: Prefill | undefined = NAMED_TESTS[test].prefill;
        return prefill !== undefined && "family" in prefill ? [prefill.family] : [];
      }),
    ),
  ];
}

/** Whose calls the servers count for a test. */
export function commandsOfTest({ command, commands = [command] }: NamedTest): readonly string[] {
  return commands;
}

/** The test of a name, as the general type. */
export function namedTest(name: TestName): NamedTest {
  return NAMED_TESTS[name];
}
