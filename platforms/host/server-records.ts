/** Records each running server in `node.json` in the node's directory, so that a later process can continue the run. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { isSentinelName } from "../../valkey/sentinel-config";
import { type RunningProcess, adoptProcess } from "./processes";
import { type RunDirectory, runningRecords } from "./run-directory";
import type { ServerPlan } from "./server-config";
import type { ServerProcess } from "./servers";

export interface PlacedServer {
  readonly server: ServerProcess;
  readonly zone: string;
}

const FILE = "node.json";
const recordSchema = z.object({ zone: z.string(), port: z.int(), busPort: z.int().optional() });

export function recordServer({ server: { directory, port, busPort }, zone }: PlacedServer): void {
  writeFileSync(join(directory, FILE), JSON.stringify({ zone, port, busPort }), { mode: 0o600 });
}

/** `halfStarted`: processes without a `node.json`, whose starter was killed before they accepted connections. */
export function findRecordedServers(
  run: RunDirectory,
  plan: Omit<ServerPlan, "name">,
): {
  readonly servers: readonly PlacedServer[];
  readonly sentinels: readonly PlacedServer[];
  readonly halfStarted: readonly RunningProcess[];
} {
  const home = join(run.path, plan.deployment);
  const names = existsSync(home)
    ? readdirSync(home, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []))
    : [];
  const living = runningRecords(run.path)
    .filter(({ name }) => names.includes(name))
    .sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
  const found = living.map(({ name, identity }) => {
    const process = adoptProcess(name, identity);
    const directory = join(home, name);
    const record = readRecord(join(directory, FILE));
    const sentinel = isSentinelName(plan.deployment, name);
    return {
      process,
      placed: record && {
        server: {
          plan: { ...plan, name, ...(sentinel ? { sentinel, directives: new Map<string, string>() } : {}) },
          port: record.port,
          busPort: record.busPort,
          directory,
          dataDirectory: directory,
          process,
        },
        zone: record.zone,
      },
    };
  });
  const placed = found.flatMap((each) => each.placed ?? []);
  return {
    servers: placed.filter(({ server }) => server.plan.sentinel !== true),
    sentinels: placed.filter(({ server }) => server.plan.sentinel === true),
    halfStarted: found.flatMap((each) => (each.placed === undefined ? [each.process] : [])),
  };
}

function readRecord(file: string): z.infer<typeof recordSchema> | undefined {
  try {
    return recordSchema.parse(JSON.parse(readFileSync(file, "utf8")));
  } catch {
    return undefined;
  }
}
