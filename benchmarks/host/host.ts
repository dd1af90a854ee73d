/** The platform `host`: deployments made of processes on this machine, all within one run. */
import { randomBytes } from "node:crypto";
import { appendFileSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { connect } from "../connection";
import type { Deployment, DeploymentNode, Mode } from "../deployment";
import type { FormationOptions, FormationResult } from "../formation/awaiting";
import { form } from "../formation/form";
import type { ServerSettings } from "../settings";
import { configText, directives } from "../settings";
import type { PlacedNode, Shape } from "../topology/placement";
import { addToZones, nodeCount, rotateOverZones, spreadOverZones } from "../topology/placement";
import type { Programs } from "./programs";
import type { RunDirectory } from "./run-directory";
import { stopRun } from "./run-directory";
import type { Server } from "./servers";
import { deathOf, startServers, stopServer } from "./servers";

/** A deployment to be made on this machine. */
export interface HostPlan {
  readonly name: string;
  readonly mode: Mode;
  readonly shape: Shape;
  readonly settings: ServerSettings;
  /** @default a new one */
  readonly password?: string | undefined;
  /** Labels; this machine has no zones of its own. */
  readonly zones: readonly string[];
}

/** Valkey's own default, given explicitly so that formation knows what to go back to. */
const DEFAULT_NODE_TIMEOUT = "15000";

interface PlacedServer {
  readonly server: Server;
  readonly zone: string;
}

function nodeOf({ server, zone }: PlacedServer): DeploymentNode {
  return { name: server.plan.name, zone, machine: hostname(), endpoint: { host: "127.0.0.1", port: server.port }, busPort: server.busPort };
}

export class Host {
  readonly #servers = new Map<string, readonly PlacedServer[]>();
  readonly #death = new AbortController();
  #stopping = false;

  constructor(
    readonly run: RunDirectory,
    readonly programs: Programs,
  ) {}

  /** Aborted, with a Failure as its reason, when a server ends without being told to. */
  get died(): AbortSignal {
    return this.#death.signal;
  }

  /** Starts the servers of a deployment; none of them knows another yet. */
  async start(plan: HostPlan, signal: AbortSignal): Promise<Deployment> {
    const password = plan.password ?? randomBytes(24).toString("hex");
    const names = Array.from({ length: nodeCount(plan.shape) }, (_, index) => `${plan.name}-${index}`);
    const placed = plan.mode === "cluster" ? rotateOverZones(names, plan.shape, plan.zones) : spreadOverZones(names, plan.zones);
    const wanted = directives(plan.settings);
    if (plan.mode === "cluster" && !wanted.has("cluster-node-timeout")) wanted.set("cluster-node-timeout", DEFAULT_NODE_TIMEOUT);
    const access = { password };
    const nodes = await this.#startNodes({ name: plan.name, mode: plan.mode, access, directives: wanted }, placed, signal);
    writeFileSync(this.passwordFile(plan.name), password, { mode: 0o600 });
    return {
      name: plan.name,
      mode: plan.mode,
      shape: plan.shape,
      nodes,
      zones: plan.zones,
      directives: wanted,
      access,
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
        if (primary !== undefined) appendFileSync(join(server.directory, "valkey.conf"), configText(new Map([["replicaof", `${primary.endpoint.host} ${primary.endpoint.port}`]])));
      }
    }
    return result;
  }

  /**
   * Gives a formed deployment another shape: starts the servers it lacks, resizes while it serves, and stops the
   * last of its servers when they are too many. Called again after it was interrupted, it goes on.
   * @returns the deployment as it is then
   */
  async resize(deployment: Deployment, shape: Shape, options: FormationOptions, signal: AbortSignal): Promise<Deployment> {
    const present = this.#servers.get(deployment.name) ?? [];
    const lacking = Array.from({ length: Math.max(0, nodeCount(shape) - present.length) }, (_, index) => `${deployment.name}-${present.length + index}`);
    const zones = deployment.zones ?? [];
    await this.#startNodes(deployment, addToZones(lacking, present.map(({ zone }) => zone), shape, zones), signal);
    const servers = this.#servers.get(deployment.name) ?? [];
    const [staying, leaving] = [servers.slice(0, nodeCount(shape)), servers.slice(nodeCount(shape))];
    const resized = { ...deployment, shape, nodes: staying.map(nodeOf) };
    await this.form(resized, shape, { ...options, leaving: leaving.map(nodeOf) });
    this.#servers.set(deployment.name, staying);
    await Promise.all(leaving.map(async ({ server }) => stopServer(server)));
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

  servers(deployment: string): readonly Server[] {
    return (this.#servers.get(deployment) ?? []).map(({ server }) => server);
  }

  /** Stops every process of the run and removes its directory; leaves both when the run is kept. */
  async stop(): Promise<void> {
    if (this.run.kept) return;
    this.#stopping = true;
    await stopRun(this.run.path);
  }

  async #startNodes({ name, mode, access, directives }: Pick<Deployment, "name" | "mode" | "access" | "directives">, placed: readonly PlacedNode[], signal: AbortSignal): Promise<DeploymentNode[]> {
    const plans = placed.map((node) => ({ deployment: name, name: node.name, cluster: mode === "cluster", password: access.password ?? "", directives }));
    const servers = await startServers(this.run, this.programs, plans, (server, exit) => {
      const isWanted = this.servers(name).includes(server);
      if (!this.#stopping && isWanted) this.#death.abort(deathOf(server, exit));
    }, signal);
    const started = servers.map((server, index): PlacedServer => ({ server, zone: placed[index]?.zone ?? "" }));
    this.#servers.set(name, [...(this.#servers.get(name) ?? []), ...started]);
    return started.map(nodeOf);
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
