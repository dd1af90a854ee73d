/** The registry is in memory; `run-directory.ts` and `server-records.ts` have records on disk. */
import { hostname } from "node:os";
import type { DeploymentNode } from "../../valkey/node";
import type { PlacedServer } from "./server-records";
import type { ServerProcess } from "./servers";

export type ServerRole = "servers" | "sentinels";

const ROLES: readonly ServerRole[] = ["servers", "sentinels"];

/** Each list is in the order of the servers' numbers. */
export class ServerRegistry {
  readonly #all = {
    servers: new Map<string, readonly PlacedServer[]>(),
    sentinels: new Map<string, readonly PlacedServer[]>(),
  };

  list(role: ServerRole, deployment: string): readonly PlacedServer[] {
    return this.#all[role].get(deployment) ?? [];
  }

  set(role: ServerRole, deployment: string, servers: readonly PlacedServer[]): void {
    this.#all[role].set(deployment, servers);
  }

  add(role: ServerRole, deployment: string, servers: readonly PlacedServer[]): void {
    this.set(role, deployment, [...this.list(role, deployment), ...servers]);
  }

  replace(deployment: string, restarted: readonly ServerProcess[]): void {
    const byName = new Map(restarted.map((server) => [server.plan.name, server]));
    for (const role of ROLES) {
      const servers = this.list(role, deployment);
      this.set(
        role,
        deployment,
        servers.map(({ server, zone }) => ({ server: byName.get(server.plan.name) ?? server, zone })),
      );
    }
  }

  named(deployment: string, names: readonly string[]): ServerProcess[] {
    return this.#servers(deployment).filter(({ plan }) => names.includes(plan.name));
  }

  /** After a restart, the registry has a new object for the server. */
  has(server: ServerProcess): boolean {
    return this.#servers(server.plan.deployment).includes(server);
  }

  #servers(deployment: string): ServerProcess[] {
    return ROLES.flatMap((role) => this.list(role, deployment)).map(({ server }) => server);
  }
}

export function toNode({ server: { plan, port, busPort }, zone }: PlacedServer): DeploymentNode {
  return { name: plan.name, zone, machine: hostname(), endpoint: { host: plan.host, port }, busPort };
}
