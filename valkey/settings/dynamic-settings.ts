/** Settings that running servers accept with CONFIG SET, without a restart. */
import { compact } from "../../lib/compact";

/** Defaults that all Valkey versions from 8.1 to 9.1 share. A change of any other directive needs a restart. */
export const DYNAMIC_DEFAULTS: Readonly<Record<string, string>> = {
  "active-expire-effort": "1",
  appendfsync: "everysec",
  appendonly: "no",
  "auto-aof-rewrite-min-size": "67108864",
  "auto-aof-rewrite-percentage": "100",
  "busy-reply-threshold": "5000",
  "cluster-allow-pubsubshard-when-down": "yes",
  "cluster-allow-reads-when-down": "no",
  "cluster-allow-replica-migration": "yes",
  "cluster-migration-barrier": "1",
  "cluster-node-timeout": "15000",
  "cluster-replica-no-failover": "no",
  "cluster-replica-validity-factor": "10",
  "cluster-require-full-coverage": "yes",
  "hash-max-listpack-entries": "512",
  "hash-max-listpack-value": "64",
  hz: "10",
  "latency-monitor-threshold": "0",
  "lazyfree-lazy-eviction": "yes",
  "lazyfree-lazy-expire": "yes",
  "lazyfree-lazy-server-del": "yes",
  "lazyfree-lazy-user-del": "yes",
  "lazyfree-lazy-user-flush": "yes",
  "lfu-decay-time": "1",
  "lfu-log-factor": "10",
  "list-max-listpack-size": "-2",
  loglevel: "notice",
  maxclients: "10000",
  maxmemory: "0",
  "maxmemory-clients": "0",
  "maxmemory-policy": "noeviction",
  "maxmemory-samples": "5",
  "min-replicas-max-lag": "10",
  "min-replicas-to-write": "0",
  "no-appendfsync-on-rewrite": "no",
  "notify-keyspace-events": "",
  "repl-backlog-size": "10485760",
  "repl-backlog-ttl": "3600",
  "repl-diskless-sync": "yes",
  "repl-diskless-sync-delay": "5",
  "repl-ping-replica-period": "10",
  "repl-timeout": "60",
  "replica-ignore-maxmemory": "yes",
  "replica-lazy-flush": "yes",
  "replica-serve-stale-data": "yes",
  save: "3600 1 300 100 60 10000",
  "set-max-intset-entries": "512",
  "set-max-listpack-entries": "128",
  "set-max-listpack-value": "64",
  "shutdown-timeout": "10",
  "slowlog-log-slower-than": "10000",
  "slowlog-max-len": "128",
  "stop-writes-on-bgsave-error": "yes",
  "stream-node-max-bytes": "4096",
  "stream-node-max-entries": "100",
  "tcp-keepalive": "300",
  timeout: "0",
  "zset-max-listpack-entries": "128",
  "zset-max-listpack-value": "64",
};

/** A value with quotes needs a restart, because quotes have a meaning only in valkey.conf. */
function isDynamic(directive: string, value: string): boolean {
  return Object.hasOwn(DYNAMIC_DEFAULTS, directive) && !/["']/.test(value);
}

interface SplitDirectives {
  readonly live: ReadonlyMap<string, string>;
  readonly restart: ReadonlyMap<string, string>;
}

export function splitDirectives(directives: ReadonlyMap<string, string>): SplitDirectives {
  const takes = ([name, value]: [string, string]): boolean => isDynamic(name, value);
  const entries = [...directives];
  return { live: new Map(entries.filter(takes)), restart: new Map(entries.filter((each) => !takes(each))) };
}

/** The directives that CONFIG SET must change, with their new values. @param before the directives in force */
export function dynamicChanges(
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> {
  const [was, is] = [splitDirectives(before).live, splitDirectives(after).live];
  const removed = [...was.keys()].filter((name) => !after.has(name));
  const changed = [...is].filter(([name, value]) => was.get(name) !== value);
  return new Map([...changed, ...removed.map((name) => [name, DYNAMIC_DEFAULTS[name] ?? ""] as const)]);
}

/** If a node got a new eviction policy but kept its old limit, the node might refuse every write. */
export const MEMORY_DIRECTIVES: readonly string[] = ["maxmemory", "maxmemory-policy"];

/** A maxmemory of 0 means no limit. @param former old values of all directives that change */
export function withoutMemoryRaise(
  former: ReadonlyMap<string, string>,
  changes: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> {
  const after = changes.get("maxmemory");
  if (after === undefined || bytesOf(after) <= bytesOf(former.get("maxmemory"))) return changes;
  return new Map([...changes].filter(([name]) => !MEMORY_DIRECTIVES.includes(name)));
}

function bytesOf(maxmemory = "0"): number {
  const bytes = Number(maxmemory);
  return bytes > 0 ? bytes : Infinity;
}

export function restartChanges(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): string[] {
  const [was, is] = [splitDirectives(before).restart, splitDirectives(after).restart];
  return [...new Set([...was.keys(), ...is.keys()])].filter((name) => was.get(name) !== is.get(name)).sort();
}

export function describeSettingsChange(
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
  nodes: number,
): string[] {
  const live = [...dynamicChanges(before, after)].map(([name, value]) => `${name} ${value === "" ? '""' : value}`);
  const restarting = restartChanges(before, after);
  return compact([
    live.length === 0
      ? undefined
      : `${live.join(", ")}: set on ${nodes} running nodes within seconds; no restart, no effect on clients`,
    restarting.length === 0 ? undefined : `${restarting.join(", ")}: set by a restart of ${nodes} nodes`,
  ]);
}
