import { closeSync, openSync, readdirSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { type Connection, connect } from "../../valkey/connection";
import { type DeploymentNode, type Endpoint, formatEndpoint } from "../../valkey/node";
import type { Deployment } from "../../valkey/deployment";
import { codeOf, Failure } from "../../lib/errors";
import type { Host } from "../../platforms/host/host";
import { type Programs, inspectPrograms } from "../../platforms/host/programs/programs";
import { partitionNetwork, healNetwork } from "../../platforms/host/side-effects";
import type { FormationOptions } from "../../valkey/membership/deadline";
import type { Shape } from "../../valkey/topology/placement";
import { type FaultInjector, attemptAll } from "./fault-injector";
import { unmetHostPrecondition } from "./preconditions";

const FILLER = "filler";
const FILL_CHUNK_BYTES = 64 * 1024;

/**
 * Remembers frozen nodes and filled disks for `restore`. `platforms/host/side-effects.ts` records network cuts in the
 * run directory, so that they can be healed after this process was killed.
 */
export class HostFaultInjector implements FaultInjector {
  readonly #frozen = new Set<string>();
  readonly #filled = new Set<string>();
  #directives: ReadonlyMap<string, string> | undefined;
  #programs: Programs | undefined;

  constructor(
    private readonly host: Host,
    public deployment: Deployment,
    private readonly signal: AbortSignal,
  ) {}

  readonly nodes = (): readonly DeploymentNode[] => this.host.nodes(this.deployment.name);

  readonly supportsHandOver = true;
  readonly rediscoversPeers = false;

  readonly dial = (endpoint: Endpoint, timeoutMs: number): Promise<Connection> =>
    connect(`${this.deployment.name} at ${formatEndpoint(endpoint)}`, endpoint, this.deployment.access, timeoutMs);

  readonly unmetPrecondition = unmetHostPrecondition;

  readonly kill = async (nodes: readonly string[]): Promise<void> => {
    await this.host.signal(this.deployment.name, nodes, "SIGKILL");
  };

  readonly terminate = async (node: string): Promise<void> => {
    await this.host.signal(this.deployment.name, [node], "SIGTERM");
  };

  readonly start: FaultInjector["start"] = async (nodes, { newAddresses, home, follows }) => {
    if (home !== undefined) this.#programs = await programsIn(home);
    const { name: deployment } = this.deployment;
    const restart = { newAddresses, programs: this.#programs, directives: this.#directives };
    // The primary starts first, because the replicas need its new address.
    if (follows !== undefined && nodes.includes(follows))
      await this.host.restart(deployment, [follows], restart, this.signal);
    const replicaOf = this.nodes().find(({ name }) => name === follows)?.endpoint;
    const replicas = nodes.filter((name) => name !== follows);
    await this.host.restart(deployment, replicas, { ...restart, replicaOf }, this.signal);
    this.deployment = this.#withCurrentAddresses();
  };

  readonly freeze = async (nodes: readonly string[]): Promise<void> => {
    for (const name of nodes) this.#frozen.add(name);
    await this.host.signal(this.deployment.name, nodes, "SIGSTOP");
  };

  readonly thaw = async (nodes: readonly string[]): Promise<void> => {
    await this.host.signal(this.deployment.name, nodes, "SIGCONT");
    for (const name of nodes) this.#frozen.delete(name);
  };

  readonly cut = async (nodes: readonly string[]): Promise<void> => {
    const all = [...this.nodes(), ...this.host.sentinels(this.deployment.name)];
    const addressesOf = (side: readonly DeploymentNode[]): string[] => [
      ...new Set(side.map(({ endpoint }) => endpoint.host)),
    ];
    const inside = addressesOf(all.filter(({ name }) => nodes.includes(name)));
    const outside = addressesOf(all.filter(({ name }) => !nodes.includes(name)));
    if (inside.some((address) => outside.includes(address)))
      throw new Failure(`${this.deployment.name}: zones share addresses; start the deployment with zoneAddresses`);
    await partitionNetwork(this.host.run, inside, outside);
  };

  readonly healCut = (): Promise<void> => healNetwork(this.host.run);

  readonly fillDisk = (nodes: readonly string[]): Promise<void> => {
    // A server with `appendfsync always` ends when it cannot write its file.
    this.host.expectExit(this.deployment.name, nodes);
    for (const directory of this.#disks(nodes)) {
      this.#filled.add(directory);
      fillDisk(join(directory, FILLER));
    }
    return Promise.resolve();
  };

  readonly freeDisk = (nodes: readonly string[]): Promise<void> => {
    for (const directory of this.#disks(nodes)) this.#free(directory);
    return Promise.resolve();
  };

  readonly resize = async (to: Shape, options: FormationOptions): Promise<void> => {
    this.deployment = await this.host.resize(this.deployment, to, options, this.signal);
  };

  readonly setStartupDirectives = (directives: ReadonlyMap<string, string>): void => {
    this.#directives = directives;
    this.deployment = { ...this.deployment, directives };
  };

  readonly restore = (): Promise<readonly string[]> =>
    attemptAll(
      () => this.thaw([...this.#frozen]),
      () => this.healCut(),
      ...[...this.#filled].map((directory) => () => {
        this.#free(directory);
      }),
    );

  #withCurrentAddresses(): Deployment {
    const { deployment, host } = this;
    const nodes = host.nodes(deployment.name);
    if (deployment.sentinels === undefined) return { ...deployment, nodes };
    const sentinels = { ...deployment.sentinels, nodes: host.sentinels(deployment.name) };
    return { ...deployment, nodes, sentinels };
  }

  #disks(nodes: readonly string[]): string[] {
    return this.host
      .servers(this.deployment.name)
      .filter(({ plan }) => nodes.includes(plan.name))
      .map(({ dataDirectory }) => dataDirectory);
  }

  #free(directory: string): void {
    rmSync(join(directory, FILLER), { force: true });
    this.#filled.delete(directory);
  }
}

function fillDisk(file: string): void {
  const descriptor = openSync(file, "w");
  try {
    for (let bytes = FILL_CHUNK_BYTES; bytes >= 1;) {
      try {
        writeSync(descriptor, Buffer.alloc(bytes));
      } catch (error) {
        if (codeOf(error) !== "ENOSPC") throw error;
        bytes = Math.floor(bytes / 2);
      }
    }
  } finally {
    closeSync(descriptor);
  }
}

async function programsIn(home: string): Promise<Programs> {
  const directory = readdirSync(home).includes("bin") ? join(home, "bin") : home;
  const programs = await inspectPrograms(directory, home);
  if (typeof programs === "string") throw new Failure(programs);
  return programs;
}
