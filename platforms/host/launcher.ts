import { hostname } from "node:os";
import type { Endpoint, DeploymentNode } from "../../valkey/node";
import type { PlacedServerPlan } from "./deployment-plan";
import type { ProcessExit } from "./processes";
import type { Programs } from "./programs/programs";
import type { RunDirectory } from "./run-directory";
import { type PlacedServer, recordServer } from "./server-records";
import { type ServerProcess, type ServerStart, startServers, unexpectedExitFailure } from "./servers";

export interface RestartOptions {
  /** Whether the servers get new ports, as restarted pods get new addresses. */
  readonly newAddresses: boolean;
  readonly programs?: Programs | undefined;
  readonly directives?: ReadonlyMap<string, string> | undefined;
  readonly replicaOf?: Endpoint | undefined;
}

export class ServerLauncher {
  readonly #unexpectedExit = new AbortController();
  readonly #expected = new Set<ServerProcess>();
  #expectsAll = false;

  constructor(
    private readonly run: RunDirectory,
    private readonly programs: Programs,
    private readonly registry: ServerRegistry,
  ) {}

  /** Its reason is a Failure. */
  get unexpectedExit(): AbortSignal {
    return this.#unexpectedExit.signal;
  }

  /** @throws Failure when a server does not start; the signal's reason */
  async start(
    role: ServerRole,
    deployment: string,
    plans: readonly PlacedServerPlan[],
    signal: AbortSignal,
  ): Promise<void> {
    const servers = await this.#launch(plans, signal);
    const placed = servers.map((server, index): PlacedServer => ({ server, zone: plans[index]?.zone ?? "" }));
    for (const each of placed) recordServer(each);
    this.registry.add(role, deployment, placed);
  }

  async restart(
    deployment: string,
    ended: readonly ServerProcess[],
    options: RestartOptions,
    signal: AbortSignal,
  ): Promise<void> {
    const starts = ended.map((server) => restartOf(server, options));
    this.registry.replace(deployment, await this.#launch(starts, signal, options.programs));
  }

  expectExit(servers: readonly ServerProcess[]): void {
    for (const server of servers) this.#expected.add(server);
  }

  expectAllExits(): void {
    this.#expectsAll = true;
  }

  #launch(starts: readonly ServerStart[], signal: AbortSignal, programs = this.programs): Promise<ServerProcess[]> {
    const exited = (server: ServerProcess, exit: ProcessExit): void => {
      this.#exited(server, exit);
    };
    return startServers(this.run, programs, starts, exited, signal);
  }

  #exited(server: ServerProcess, exit: ProcessExit): void {
    const isExpected = this.#expectsAll || this.#expected.has(server) || !this.registry.has(server);
    if (!isExpected) this.#unexpectedExit.abort(unexpectedExitFailure(server, exit));
  }
}

/** A Sentinel's plan stays, because it keeps its state in its own file. */
function restartOf({ plan, port, busPort }: ServerProcess, options: RestartOptions): ServerStart {
  const { newAddresses, directives = plan.directives, replicaOf } = options;
  return {
    plan: plan.sentinel === true ? plan : { ...plan, directives, replicaOf },
    ports: newAddresses ? undefined : [port, busPort ?? 0],
  };
}

type ServerRole = "servers" | "sentinels";

const ROLES: readonly ServerRole[] = ["servers", "sentinels"];

/**
 * It is in memory; `run-directory.ts` and `server-records.ts` have records on disk. Each list is in the order of the
 * servers' numbers.
 */
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
