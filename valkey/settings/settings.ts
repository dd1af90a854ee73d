import type { ParsedFields } from "../../model/fields";
import type { SETTINGS_FIELDS } from "../../model/settings";

/**
 * Settings of a server. Each field has the name of a directive. Omitted directives have Valkey's default. Sizes are in
 * bytes. All other values are written as in valkey.conf.
 */
export interface ServerSettings extends ParsedFields<typeof SETTINGS_FIELDS> {
  /** Any directive without a field in this interface. */
  readonly [directive: string]: string | number | boolean | undefined;
}

/** CONFIG GET omits directives that the version of the server lacks. */
export const COMPARED_DIRECTIVES: readonly string[] = [
  "maxmemory",
  "maxmemory-policy",
  "appendonly",
  "appendfsync",
  "save",
  "io-threads",
  "cluster-node-timeout",
  "cluster-require-full-coverage",
  "cluster-allow-reads-when-down",
  "cluster-replica-no-failover",
  "repl-backlog-size",
  "repl-diskless-sync",
  "repl-diskless-sync-delay",
  "min-replicas-to-write",
  "min-replicas-max-lag",
  "replica-read-only",
  "lazyfree-lazy-user-del",
  "activedefrag",
  "hz",
  "databases",
];

export const REPLICAS_NEEDED = "min-replicas-to-write";

/**
 * Whether a value may differ from the configured one. In pods, `min-replicas-to-write` is 0 on replicas, and on a primary
 * until its replicas are linked: then its keeper sets the configured value.
 */
export const awaitsReplicas = (name: string, value: string | undefined): boolean =>
  name === REPLICAS_NEEDED && value === "0";

/** Whether servers with these settings write data to their disk: an append-only file or snapshots. */
export function writesToDisk({ appendonly, save }: Pick<ServerSettings, "appendonly" | "save">): boolean {
  return appendonly === true || save !== "";
}

/** Directives with their values as CONFIG GET prints them: sizes in bytes, booleans as yes and no. */
export function toDirectives(settings: ServerSettings): Map<string, string> {
  return new Map(
    Object.entries(settings).flatMap(([name, value]): [string, string][] =>
      value === undefined ? [] : [[name, formatValue(value)]],
    ),
  );
}

function formatValue(value: string | number | boolean): string {
  if (typeof value === "boolean") return value ? "yes" : "no";
  return String(value);
}

/** A value with several words becomes several arguments, and an empty value becomes `""`. */
export function formatConfigFile(values: ReadonlyMap<string, string>): string {
  return [...values].map(([name, value]) => `${name} ${value === "" ? '""' : value}\n`).join("");
}
