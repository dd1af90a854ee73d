/** The platform `host`: deployments whose servers are processes on this machine, all within one run. */
import { randomBytes } from "node:crypto";
import { appendFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Polling } from "../../lib/polling";
import { addAccess, retireOtherPasswords } from "../../valkey/access/apply-access";
import { applySettings } from "../../valkey/apply-settings";
import { connect } from "../../valkey/connection";
import type { Deployment } from "../../valkey/deployment";
import type { FormationOptions, FormationResult } from "../../valkey/membership/deadline";
import { form } from "../../valkey/formation/form";
import type { DeploymentNode } from "../../valkey/node";
import { formatConfigFile } from "../../valkey/settings/settings";
import type { Shape } from "../../valkey/topology/placement";
import { nodeCount } from "../../valkey/topology/placement";
import type { HostDeploymentPlan } from "./deployment-plan";
import { hostDirectives, planAddedServers, planServers } from "./deployment-plan";
import type { RestartOptions } from "./launcher";
import { ServerLauncher } from "./launcher";
import { LOOPBACK } from "./ports";
import type { Programs } from "./programs/programs";
import { ServerRegistry, toNode } from "./registry";
import type { RunDirectory } from "./run-directory";
import { stopRun } from "./run-directory";
import type { PlacedServer } from "./server-records";
import { findRecordedServers } from "./server-records";
import type { ServerProcess } from "./servers";
import { primaryPasswordDirective } from "./server-config";
import { stopServer } from "./servers";
import { unmountDisk } from "./side-effects";
import type { ServerSignal } from "./signals";
import { endsServer, hasExited, signalServers } from "./signals";

/** Starts, forms, resizes and stops the deployments of one run. */
export class Host {
  readonly #registry = new ServerRegistry();
  readonly #launcher: ServerLauncher;

  constructor(
    readonly run: RunDirectory,
    readonly programs: Programs,
  ) {
    this.#launcher = new ServerLauncher(run, programs, this.#registry);
  }

  /** Aborted, with a Failure as its reason, when a server exits although nothing stopped it. */
  get unexpectedExit(): AbortSignal {
    return this.#launcher.unexpectedExit;
  }

  /** Starts the servers of a deployment, which do not know each other yet. @throws Failure; the signal's reason */
  async start(plan: HostDeploymentPlan, signal: AbortSignal): Promise<Deployment> {
    const password = plan.password ?? randomBytes(24).toString("hex");
    const { servers, sentinels } = planServers(plan, password);
    await this.#launcher.start("servers", plan.name, servers, signal);
    writeFileSync(this.passwordFile(plan.name), password, { mode: 0o600 });
    await this.#launcher.start("sentinels", plan.name, sentinels, signal);
    return this.#deployment(plan, password);
  }

  /**
   * Continues a deployment whose servers another process started in this run. Stops servers that were not up yet when
   * that process was killed, because nothing knows them.
   * @param plan as the servers were started; its shape may be another one
   * @param formerPassword tried where a server refuses the plan's
   * @returns the deployment with the servers that run, however many
   */
  async adopt(plan: HostDeploymentPlan & { readonly password: string }, formerPassword?: string): Promise<Deployment> {
    const { name, mode, password } = plan;
    const common = { deployment: name, cluster: mode === "cluster", host: LOOPBACK, password };
    const found = findRecordedServers(this.run, { ...common, directives: hostDirectives(plan) });
    await Promise.all(found.halfStarted.map((process) => stopServer({ process })));
    this.#registry.set("servers", name, found.servers);
    this.#registry.set("sentinels", name, found.sentinels);
    return this.#deployment(plan, password, formerPassword);
  }

  #deployment(plan: HostDeploymentPlan, password: string, formerPassword?: string): Deployment {
    const { name, mode, shape, zones, sentinel } = plan;
    const access = { password, formerPassword };
    return {
      name,
      mode,
      shape,
      nodes: this.nodes(name),
      zones,
      directives: hostDirectives(plan),
      access,
      ...(sentinel === undefined ? {} : { sentinels: { settings: sentinel, nodes: this.sentinels(name) } }),
      connect: (node) => connect(node.name, node.endpoint, access),
    };
  }

  /** Forms a started deployment. Replicas' configuration files then name the primary, for a later start. */
  async form(deployment: Deployment, shape: Shape, options: FormationOptions): Promise<FormationResult> {
    const result = await form(deployment, shape, options);
    await setZones(deployment);
    const [primary] = deployment.nodes;
    if (deployment.mode === "replication" && primary !== undefined) {
      const { host, port } = primary.endpoint;
      const line = formatConfigFile(new Map([["replicaof", `${host} ${port}`]]));
      for (const { directory } of this.servers(deployment.name).slice(1)) {
        appendFileSync(join(directory, "valkey.conf"), line);
      }
    }
    return result;
  }

  /**
   * Gives running servers other values of directives, in their configuration files too.
   * @throws Failure when a server refuses a value; nothing has changed then
   */
  async configure(
    deployment: Deployment,
    changes: ReadonlyMap<string, string>,
    polling: Polling & { readonly timeoutMs: number },
  ): Promise<void> {
    await applySettings(deployment, changes, polling);
    // Of a repeated directive the last line counts, but lines of `save` add up.
    const text = (changes.has("save") ? 'save ""\n' : "") + formatConfigFile(changes);
    for (const { directory } of this.servers(deployment.name)) appendFileSync(join(directory, "valkey.conf"), text);
  }

  /**
   * Gives running servers and Sentinels another password, in the servers' configuration files too. Connections stay.
   * @param deployment whose servers accept its password or the former one
   */
  async changePassword(deployment: Deployment, password: string): Promise<void> {
    const credentials = { password, users: {} };
    await addAccess(deployment, credentials, []);
    const text = formatConfigFile(
      new Map([
        ["requirepass", password],
        [primaryPasswordDirective(this.programs), password],
      ]),
    );
    for (const { directory } of this.servers(deployment.name)) appendFileSync(join(directory, "valkey.conf"), text);
    writeFileSync(this.passwordFile(deployment.name), password, { mode: 0o600 });
    await retireOtherPasswords(deployment, credentials);
  }

  /**
   * Gives a formed deployment another shape: starts the servers it lacks, resizes it while it serves, and stops the
   * last servers where there are too many. A call after an interruption continues the resize.
   * @returns the deployment in its new shape
   */
  async resize(
    deployment: Deployment,
    shape: Shape,
    options: FormationOptions,
    signal: AbortSignal,
  ): Promise<Deployment> {
    const { name, zones = [] } = deployment;
    const added = planAddedServers(name, this.#registry.list("servers", name), shape, zones);
    await this.#launcher.start("servers", name, added, signal);
    const servers = this.#registry.list("servers", name);
    const [staying, leaving] = [servers.slice(0, nodeCount(shape)), servers.slice(nodeCount(shape))];
    const resized = { ...deployment, shape, nodes: staying.map(toNode) };
    await this.form(resized, shape, { ...options, leaving: leaving.map(toNode) });
    this.#registry.set("servers", name, staying);
    await Promise.all(leaving.map((each) => this.#remove(each)));
    return resized;
  }

  async #remove({ server }: PlacedServer): Promise<void> {
    await stopServer(server);
    await unmountDisk(this.run, server.dataDirectory);
    // A later server of that name starts without data.
    rmSync(server.directory, { recursive: true, force: true });
  }

  /** The file with a deployment's password, readable by this user only. */
  passwordFile(deployment: string): string {
    return join(this.run.path, deployment, "password");
  }

  /** The nodes that run, including those that an interrupted resize has not added or removed yet. */
  nodes(deployment: string): DeploymentNode[] {
    return this.#registry.list("servers", deployment).map(toNode);
  }

  /** The Sentinels that run. */
  sentinels(deployment: string): DeploymentNode[] {
    return this.#registry.list("sentinels", deployment).map(toNode);
  }

  /** The processes of `nodes`. */
  servers(deployment: string): readonly ServerProcess[] {
    return this.#registry.list("servers", deployment).map(({ server }) => server);
  }

  /** Stops every process of the run and removes its directory; does nothing when the run is kept. */
  async stop(): Promise<void> {
    if (this.run.kept) return;
    this.#launcher.expectAllExits();
    await stopRun(this.run.path);
  }

  /** Sends a signal to servers. @returns when they have ended, or at once where the signal does not end them */
  async signal(deployment: string, names: readonly string[], signal: ServerSignal): Promise<void> {
    if (endsServer(signal)) this.expectExit(deployment, names);
    await signalServers(this.#registry.named(deployment, names), signal);
  }

  /** From now on, the exit of these servers is expected, whatever causes it. */
  expectExit(deployment: string, names: readonly string[]): void {
    this.#launcher.expectExit(this.#registry.named(deployment, names));
  }

  /** Starts servers that have ended again, with the data they had; leaves running servers as they are. */
  async restart(
    deployment: string,
    names: readonly string[],
    options: RestartOptions,
    signal: AbortSignal,
  ): Promise<void> {
    const ended = this.#registry.named(deployment, names).filter(hasExited);
    await this.#launcher.restart(deployment, ended, options, signal);
  }
}

/** Sets each server's zone, so that `verify` finds it there later. Servers before 8.1 have no such directive. */
async function setZones(deployment: Deployment): Promise<void> {
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
