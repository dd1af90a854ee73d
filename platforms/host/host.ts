/** The platform `host`. The servers of its deployments are processes on this machine. */
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
import { identifyProcess, signalProcess } from "../../lib/system/process-identity";

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

  /** Signal that is aborted when a server exits unexpectedly. Its reason is a Failure. */
  get unexpectedExit(): AbortSignal {
    return this.#launcher.unexpectedExit;
  }

  /** Starts the servers of a deployment. They do not know each other yet. @throws Failure; the signal's reason */
  async start(plan: HostDeploymentPlan, signal: AbortSignal): Promise<Deployment> {
    const password = plan.password ?? randomBytes(24).toString("hex");
    const { servers, sentinels } = planServers(plan, password);
    await this.#launcher.start("servers", plan.name, servers, signal);
    writeFileSync(this.passwordFile(plan.name), password, { mode: 0o600 });
    await this.#launcher.start("sentinels", plan.name, sentinels, signal);
    return this.#deployment(plan, password);
  }

  /**
   * Continues a deployment that an earlier process started in this run. Servers that the earlier process was still
   * starting when it was killed have no record and are stopped.
   * @param plan the plan with which the servers were started; only the shape may differ
   * @param formerPassword password that is tried if a server refuses the plan's password
   * @returns the deployment with all running servers
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
      connect: (node, timeoutMs) => connect(node.name, node.endpoint, access, timeoutMs),
    };
  }

  /**
   * Forms a started deployment. In replication mode, the function also writes the primary into the configuration files
   * of the replicas, so that the replicas follow the primary after a restart.
   */
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
   * Sets directives on running servers and in their configuration files.
   * @throws Failure when a server refuses a value; in this case no value has changed
   */
  async configure(
    deployment: Deployment,
    changes: ReadonlyMap<string, string>,
    polling: Polling & { readonly timeoutMs: number },
  ): Promise<void> {
    await applySettings(deployment, changes, polling);
    // If a directive is repeated, its last line counts. Lines of `save` add up instead, so an empty `save` clears the
    // earlier lines.
    const text = (changes.has("save") ? 'save ""\n' : "") + formatConfigFile(changes);
    for (const { directory } of this.servers(deployment.name)) appendFileSync(join(directory, "valkey.conf"), text);
  }

  /**
   * Changes the password on running servers and Sentinels, and in the configuration files of the servers. Connections
   * stay open.
   * @param deployment deployment whose servers accept the password or the former password of its `access`
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
   * Changes the shape of a formed deployment. It starts missing servers, resizes the deployment while it serves, and
   * stops the last servers if there are too many. After an interruption, a second call continues the change.
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
    // The directory is removed so that a later server with this name starts without data.
    rmSync(server.directory, { recursive: true, force: true });
  }

  /** Path of the file with a deployment's password. Only this user can read it. */
  passwordFile(deployment: string): string {
    return join(this.run.path, deployment, "password");
  }

  /** The running nodes, including nodes that an interrupted resize has not added or removed yet. */
  nodes(deployment: string): DeploymentNode[] {
    return this.#registry.list("servers", deployment).map(toNode);
  }

  /** The running Sentinels. */
  sentinels(deployment: string): DeploymentNode[] {
    return this.#registry.list("sentinels", deployment).map(toNode);
  }

  /** The processes of the nodes that `nodes` returns. */
  servers(deployment: string): readonly ServerProcess[] {
    return this.#registry.list("servers", deployment).map(({ server }) => server);
  }

  /** Stops every process of the run and removes the run's directory. Does nothing if the run is kept. */
  async stop(): Promise<void> {
    if (this.run.kept) return;
    this.#launcher.expectAllExits();
    await stopRun(this.run.path);
  }

  /** Sends a signal to servers. @returns when the servers have ended; at once if the signal does not end servers */
  async signal(deployment: string, names: readonly string[], signal: ServerSignal): Promise<void> {
    if (endsServer(signal)) this.expectExit(deployment, names);
    await signalServers(this.#registry.named(deployment, names), signal);
  }

  /** Marks the exit of the given servers as expected from now on, whatever causes it. */
  expectExit(deployment: string, names: readonly string[]): void {
    this.#launcher.expectExit(this.#registry.named(deployment, names));
  }

  /** Starts ended servers again, with the data that they had. Running servers are not changed. */
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

/**
 * Sets the directive `availability-zone` on each server, so that `verify` can read the zone later. Servers before 8.1
 * do not have this directive.
 */
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

type ServerSignal = "SIGKILL" | "SIGTERM" | "SIGSTOP" | "SIGCONT";

function endsServer(signal: ServerSignal): boolean {
  return signal === "SIGKILL" || signal === "SIGTERM";
}

function hasExited({ process }: ServerProcess): boolean {
  return identifyProcess(process.pid) === undefined;
}

/** @returns when the servers have ended; at once if the signal does not end servers */
async function signalServers(servers: readonly ServerProcess[], signal: ServerSignal): Promise<void> {
  for (const { process } of servers) {
    const identity = identifyProcess(process.pid);
    if (identity !== undefined) signalProcess(identity, signal);
  }
  if (endsServer(signal)) await Promise.all(servers.map(({ process }) => process.ended));
}
