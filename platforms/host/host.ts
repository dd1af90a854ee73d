/** The platform `host`: deployments made of processes on this machine, all within one run. */
import { randomBytes, randomInt } from "node:crypto";
import { appendFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { connect } from "../../valkey/connection";
import type { DeploymentNode, Endpoint, Mode } from "../../valkey/node";
import type { Deployment } from "../../valkey/deployment";
import type { FormationOptions, FormationResult } from "../../valkey/formation/deadline";
import { form } from "../../valkey/formation/form";
import type { ServerSettings } from "../../valkey/settings";
import type { SentinelSettings } from "../../valkey/sentinel/plan";
import { placeSentinels } from "../../valkey/sentinel/plan";
import { formatConfigFile, toDirectives } from "../../valkey/settings";
import type { PlacedNode, Shape } from "../../valkey/topology/placement";
import { placeAddedNodes, nodeCount, rotateOverZones, spreadOverZones } from "../../valkey/topology/placement";
import { LOOPBACK } from "./ports";
import type { Programs } from "./programs";
import type { RunDirectory } from "./run-directory";
import { stopRun } from "./run-directory";
import { identifyProcess, signalProcess } from "../../lib/process-identity";
import { unmountDisk } from "./side-effects";
import type { PlacedServer } from "./server-records";
import { findRecordedServers, recordServer } from "./server-records";
import type { ServerStart, ServerProcess } from "./servers";
import { unexpectedExitFailure, startServers, stopServer } from "./servers";

/** A deployment to be made on this machine. */
export interface HostDeploymentPlan {
  readonly name: string;
  readonly mode: Mode;
  readonly shape: Shape;
  readonly settings: ServerSettings;
  /** @default a new one */
  readonly password?: string | undefined;
  /** Labels; this machine has no zones of its own. */
  readonly zones: readonly string[];
  /** Whether each zone has a loopback address of its own (Linux), by which zones can be cut from each other. @default false */
  readonly zoneAddresses?: boolean | undefined;
  /** A file system of so many bytes for the data of each server (root). @default the run directory's */
  readonly diskBytes?: number | undefined;
  /** Who has a replica take over when the primary fails, in replication mode. @default nobody does */
  readonly sentinel?: SentinelSettings | undefined;
  /** CPUs each node is held to, by node in the order of the plan. @default none is */
  readonly cpus?: readonly string[] | undefined;
}

/** How servers are started again. */
export interface RestartOptions {
  /** Whether they come back at other ports, as pods do at other addresses. */
  readonly newAddresses: boolean;
  /** @default those of the host */
  readonly programs?: Programs | undefined;
  /** Directives in place of those they had. */
  readonly directives?: ReadonlyMap<string, string> | undefined;
  /** The primary they follow, in replication mode. */
  readonly replicaOf?: Endpoint | undefined;
}

/** Valkey's own default, given explicitly so that formation knows what to go back to. */
const DEFAULT_NODE_TIMEOUT = "15000";

function directivesOf({ mode, settings }: HostDeploymentPlan): Map<string, string> {
  const wanted = toDirectives(settings);
  if (mode === "cluster" && !wanted.has("cluster-node-timeout"))
    wanted.set("cluster-node-timeout", DEFAULT_NODE_TIMEOUT);
  return wanted;
}

function nodeOf({ server, zone }: PlacedServer): DeploymentNode {
  return {
    name: server.plan.name,
    zone,
    machine: hostname(),
    endpoint: { host: server.plan.host, port: server.port },
    busPort: server.busPort,
  };
}

export class Host {
  readonly #servers = new Map<string, readonly PlacedServer[]>();
  readonly #sentinels = new Map<string, readonly PlacedServer[]>();
  readonly #death = new AbortController();
  /** Servers whose end is meant. */
  readonly #condemned = new Set<ServerProcess>();
  #stopping = false;

  constructor(
    readonly run: RunDirectory,
    readonly programs: Programs,
  ) {}

  /** Aborted, with a Failure as its reason, when a server ends without being told to. */
  get unexpectedExit(): AbortSignal {
    return this.#death.signal;
  }

  /** Starts the servers of a deployment; none of them knows another yet. */
  async start(plan: HostDeploymentPlan, signal: AbortSignal): Promise<Deployment> {
    const password = plan.password ?? randomBytes(24).toString("hex");
    const names = Array.from({ length: nodeCount(plan.shape) }, (_, index) => `${plan.name}-${index}`);
    const placed =
      plan.mode === "cluster" ? rotateOverZones(names, plan.shape, plan.zones) : spreadOverZones(names, plan.zones);
    const wanted = directivesOf(plan);
    const access = { password };
    const hosts = plan.zoneAddresses === true ? zoneAddresses(plan.zones) : new Map<string, string>();
    const server = ({ name, zone }: PlacedNode, index: number): ServerStart => ({
      plan: {
        deployment: plan.name,
        name,
        cluster: plan.mode === "cluster",
        host: hosts.get(zone) ?? LOOPBACK,
        password,
        directives: wanted,
        diskBytes: plan.diskBytes,
        cpus: plan.cpus?.[index],
      },
    });
    const nodes = await this.#startPlaced(this.#servers, plan.name, placed, placed.map(server), signal);
    writeFileSync(this.passwordFile(plan.name), password, { mode: 0o600 });
    const watching = plan.sentinel === undefined ? [] : placeSentinels(plan.name, plan.sentinel, plan.zones);
    const sentinels = watching.map(({ name, zone }): ServerStart => ({
      plan: {
        deployment: plan.name,
        name,
        cluster: false,
        sentinel: true,
        host: hosts.get(zone) ?? LOOPBACK,
        password,
        directives: new Map(),
      },
    }));
    const watchers = await this.#startPlaced(this.#sentinels, plan.name, watching, sentinels, signal);
    return {
      name: plan.name,
      mode: plan.mode,
      shape: plan.shape,
      nodes,
      zones: plan.zones,
      directives: wanted,
      access,
      ...(plan.sentinel === undefined ? {} : { sentinels: { settings: plan.sentinel, nodes: watchers } }),
      connect: (node) => connect(node.name, node.endpoint, access),
    };
  }

  /**
   * Takes up a deployment whose servers another process started in this run. Those that it was killed in the middle of
   * starting are ended: nothing knows them yet.
   * @param plan as they were started; its shape is not asked for
   * @returns the servers that run, however many
   */
  async adopt(plan: HostDeploymentPlan & { readonly password: string }): Promise<Deployment> {
    const { name, mode, zones, password } = plan;
    const access = { password };
    const wanted = directivesOf(plan);
    const parts = { deployment: name, cluster: mode === "cluster", host: LOOPBACK, password, directives: wanted };
    const { servers, sentinels, halfStarted } = findRecordedServers(this.run, parts);
    await Promise.all(halfStarted.map((process) => stopServer({ process })));
    this.#servers.set(name, servers);
    this.#sentinels.set(name, sentinels);
    const watching =
      plan.sentinel === undefined ? {} : { sentinels: { settings: plan.sentinel, nodes: sentinels.map(nodeOf) } };
    return {
      name,
      mode,
      shape: plan.shape,
      nodes: servers.map(nodeOf),
      zones,
      directives: wanted,
      access,
      ...watching,
      connect: (node) => connect(node.name, node.endpoint, access),
    };
  }

  /** Forms a started deployment, and writes what replicas must know into their files for a later start. */
  async form(deployment: Deployment, shape: Shape, options: FormationOptions): Promise<FormationResult> {
    const result = await form(deployment, shape, options);
    await this.#tellZones(deployment);
    if (deployment.mode === "replication") {
      const primary = deployment.nodes[0];
      for (const server of this.servers(deployment.name).slice(1)) {
        if (primary !== undefined)
          appendFileSync(
            join(server.directory, "valkey.conf"),
            formatConfigFile(new Map([["replicaof", `${primary.endpoint.host} ${primary.endpoint.port}`]])),
          );
      }
    }
    return result;
  }

  /**
   * Gives a formed deployment another shape: starts the servers it lacks, resizes while it serves, and stops the
   * last of its servers when they are too many. Called again after it was interrupted, it goes on.
   * @returns the deployment as it is then
   */
  async resize(
    deployment: Deployment,
    shape: Shape,
    options: FormationOptions,
    signal: AbortSignal,
  ): Promise<Deployment> {
    const present = this.#servers.get(deployment.name) ?? [];
    const lacking = Array.from(
      { length: Math.max(0, nodeCount(shape) - present.length) },
      (_, index) => `${deployment.name}-${present.length + index}`,
    );
    const zones = deployment.zones ?? [];
    const added = placeAddedNodes(
      lacking,
      present.map(({ zone }) => zone),
      shape,
      zones,
    );
    const [model] = present;
    if (model === undefined) throw new Error(`${deployment.name} has no servers to be resized`);
    const hostOf = (zone: string): string =>
      present.find((each) => each.zone === zone)?.server.plan.host ?? model.server.plan.host;
    await this.#startPlaced(
      this.#servers,
      deployment.name,
      added,
      added.map(({ name, zone }) => ({ plan: { ...model.server.plan, name, host: hostOf(zone) } })),
      signal,
    );
    const servers = this.#servers.get(deployment.name) ?? [];
    const [staying, leaving] = [servers.slice(0, nodeCount(shape)), servers.slice(nodeCount(shape))];
    const resized = { ...deployment, shape, nodes: staying.map(nodeOf) };
    await this.form(resized, shape, { ...options, leaving: leaving.map(nodeOf) });
    this.#servers.set(deployment.name, staying);
    await Promise.all(
      leaving.map(async ({ server }) => {
        await stopServer(server);
        await unmountDisk(this.run, server.dataDirectory);
        // A later one of that name begins anew.
        rmSync(server.directory, { recursive: true, force: true });
      }),
    );
    return resized;
  }

  /** The file with a deployment's password, readable by this user only. */
  passwordFile(deployment: string): string {
    return join(this.run.path, deployment, "password");
  }

  /** The nodes that run, also ones that an interrupted resize has not brought in or taken out yet. */
  nodes(deployment: string): DeploymentNode[] {
    return (this.#servers.get(deployment) ?? []).map(nodeOf);
  }

  sentinels(deployment: string): DeploymentNode[] {
    return (this.#sentinels.get(deployment) ?? []).map(nodeOf);
  }

  servers(deployment: string): readonly ServerProcess[] {
    return (this.#servers.get(deployment) ?? []).map(({ server }) => server);
  }

  /** Stops every process of the run and removes its directory; leaves both when the run is kept. */
  async stop(): Promise<void> {
    if (this.run.kept) return;
    this.#stopping = true;
    await stopRun(this.run.path);
  }

  /** Signals servers; those that this ends may end. @returns when they have ended, or at once when the signal ends nothing */
  async signal(
    deployment: string,
    names: readonly string[],
    signal: "SIGKILL" | "SIGTERM" | "SIGSTOP" | "SIGCONT",
  ): Promise<void> {
    const chosen = this.#named(deployment, names);
    const ends = signal === "SIGKILL" || signal === "SIGTERM";
    if (ends) this.expectExit(deployment, names);
    for (const { server } of chosen) {
      const identity = identifyProcess(server.process.pid);
      if (identity !== undefined) signalProcess(identity, signal);
    }
    if (ends) await Promise.all(chosen.map(({ server }) => server.process.ended));
  }

  /** Takes the end of these servers as meant, whoever brings it about. */
  expectExit(deployment: string, names: readonly string[]): void {
    for (const { server } of this.#named(deployment, names)) this.#condemned.add(server);
  }

  /** Starts servers again that have ended, with their data; those that run are left alone. */
  async restart(
    deployment: string,
    names: readonly string[],
    restart: RestartOptions,
    signal: AbortSignal,
  ): Promise<void> {
    const gone = this.#named(deployment, names).filter(
      ({ server }) => identifyProcess(server.process.pid) === undefined,
    );
    const revivals = gone.map(({ server: { plan, port, busPort } }): ServerStart => ({
      plan:
        plan.sentinel === true
          ? plan
          : { ...plan, directives: restart.directives ?? plan.directives, replicaOf: restart.replicaOf },
      ports: restart.newAddresses ? undefined : [port, busPort ?? 0],
    }));
    const started = await this.#launch(deployment, revivals, signal, restart.programs);
    for (const all of [this.#servers, this.#sentinels]) {
      all.set(
        deployment,
        (all.get(deployment) ?? []).map((each) => ({
          ...each,
          server: started.find(({ plan }) => plan.name === each.server.plan.name) ?? each.server,
        })),
      );
    }
  }

  #named(deployment: string, names: readonly string[]): PlacedServer[] {
    return [this.#servers, this.#sentinels]
      .flatMap((all) => all.get(deployment) ?? [])
      .filter(({ server }) => names.includes(server.plan.name));
  }

  /** @param all what they are added to @param placed where each of the servers is */
  async #startPlaced(
    all: Map<string, readonly PlacedServer[]>,
    name: string,
    placed: readonly PlacedNode[],
    servers: readonly ServerStart[],
    signal: AbortSignal,
  ): Promise<DeploymentNode[]> {
    const launched = await this.#launch(name, servers, signal);
    const started = launched.map((server, index): PlacedServer => ({ server, zone: placed[index]?.zone ?? "" }));
    for (const each of started) recordServer(each);
    all.set(name, [...(all.get(name) ?? []), ...started]);
    return started.map(nodeOf);
  }

  #launch(
    name: string,
    servers: readonly ServerStart[],
    signal: AbortSignal,
    programs = this.programs,
  ): Promise<ServerProcess[]> {
    return startServers(
      this.run,
      programs,
      servers,
      (server, exit) => {
        const isWanted =
          [this.#servers, this.#sentinels].some((all) => all.get(name)?.some((each) => each.server === server)) &&
          !this.#condemned.has(server);
        if (!this.#stopping && isWanted) this.#death.abort(unexpectedExitFailure(server, exit));
      },
      signal,
    );
  }

  /** Servers that can know their zone (8.1 and newer) are told it, so that anyone can verify them later. */
  async #tellZones(deployment: Deployment): Promise<void> {
    await Promise.all(
      deployment.nodes.map(async (node) => {
        const connection = await deployment.connect(node);
        try {
          await connection.config("SET", "availability-zone", node.zone ?? "").catch(() => undefined);
        } finally {
          connection.disconnect();
        }
      }),
    );
  }
}

/** One for each zone, that no other run is likely to have: what is done to traffic between them touches nobody else's. */
function zoneAddresses(zones: readonly string[]): Map<string, string> {
  const [high, low] = [randomInt(1, 255), randomInt(1, 255)];
  return new Map(zones.map((zone, index) => [zone, `127.${high}.${low}.${index + 1}`]));
}
