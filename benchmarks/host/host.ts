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
import type { Shape } from "../topology/placement";
import { nodeCount, rotateOverZones, spreadOverZones } from "../topology/placement";
import type { Programs } from "./programs";
import type { RunDirectory } from "./run-directory";
import { stopRun } from "./run-directory";
import type { Server } from "./servers";
import { deathOf, startServers } from "./servers";

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

export class Host {
  readonly #servers = new Map<string, readonly Server[]>();
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
    const plans = names.map((name) => ({ deployment: plan.name, name, cluster: plan.mode === "cluster", password, directives: wanted }));
    const servers = await startServers(this.run, this.programs, plans, (server, exit) => {
      if (!this.#stopping) this.#death.abort(deathOf(server, exit));
    }, signal);
    this.#servers.set(plan.name, servers);
    writeFileSync(this.passwordFile(plan.name), password, { mode: 0o600 });
    const machine = hostname();
    const nodes = servers.map((server, index): DeploymentNode => ({
      name: server.plan.name,
      zone: placed[index]?.zone,
      machine,
      endpoint: { host: "127.0.0.1", port: server.port },
      busPort: server.busPort,
    }));
    const access = { password };
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
      for (const server of this.#servers.get(deployment.name)?.slice(1) ?? []) {
        if (primary !== undefined) appendFileSync(join(server.directory, "valkey.conf"), configText(new Map([["replicaof", `${primary.endpoint.host} ${primary.endpoint.port}`]])));
      }
    }
    return result;
  }

  /** The file with a deployment's password, readable by this user only. */
  passwordFile(deployment: string): string {
    return join(this.run.path, deployment, "password");
  }

  servers(deployment: string): readonly Server[] {
    return this.#servers.get(deployment) ?? [];
  }

  /** Stops every process of the run and removes its directory; leaves both when the run is kept. */
  async stop(): Promise<void> {
    if (this.run.kept) return;
    this.#stopping = true;
    await stopRun(this.run.path);
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
