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
import { type Shape, nodeCount } from "../../valkey/topology/placement";
import { type HostDeploymentPlan, hostDirectives, planAddedServers, planServers } from "./deployment-plan";
import { type RestartOptions, ServerLauncher, ServerRegistry, toNode } from "./launcher";
import { LOOPBACK } from "./ports";
import type { Programs } from "./programs/programs";
import { type RunDirectory, stopRun } from "./run-directory";
import { type PlacedServer, findRecordedServers } from "./server-records";
import { type ServerProcess, stopServer } from "./servers";
import { primaryPasswordDirective } from "./server-config";
import { unmountDisk } from "./side-effects";
import { identifyProcess, signalProcess } from "../../lib/system/process-identity";
import { withConnection } from "../../valkey/connections";

export class Host {
  readonly #registry = new ServerRegistry();
  readonly #launcher: ServerLauncher;

  constructor(
    readonly run: RunDirectory,
    readonly programs: Programs,
  ) {
    this.#launcher = new ServerLauncher(run, programs, this.#registry);
  }

  /** Its reason is a Failure. */
  get unexpectedExit(): AbortSignal {
    return this.#launcher.unexpectedExit;
  }

  /** They do not know each other yet. @throws Failure; the signal's reason */
  async start(plan: HostDeploymentPlan, signal: AbortSignal): Promise<Deployment> {
    const password = plan.password ?? randomBytes(24).toString("hex");
    const { servers, sentinels } = planServers(plan, password);
    await this.#launcher.start("servers", plan.name, servers, signal);
    writeFileSync(this.passwordFile(plan.name), password, { mode: 0o600 });
    await this.#launcher.start("sentinels", plan.name, sentinels, signal);
    return this.#deployment(plan, password);
  }

  /**
   * Servers without a record were being started by a killed process, and are stopped.
   * @param plan as started; only the shape may differ
   * @param formerPassword tried if a server refuses the plan's password
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

  /** In replication mode, also writes the primary into the replicas' files, so that they follow it after a restart. */
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

  /** Also in configuration files. @throws Failure when a server refuses a value; then no value has changed */
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

  /** Also in configuration files. Connections stay open. @param deployment its `access` may have the former password */
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

  /** Continues an interrupted change. @returns the deployment in its new shape */
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

  /** Only this user can read it. */
  passwordFile(deployment: string): string {
    return passwordFileIn(this.run.path, deployment);
  }

  /** The running nodes, including nodes that an interrupted resize has not added or removed yet. */
  nodes(deployment: string): DeploymentNode[] {
    return this.#registry.list("servers", deployment).map(toNode);
  }

  sentinels(deployment: string): DeploymentNode[] {
    return this.#registry.list("sentinels", deployment).map(toNode);
  }

  servers(deployment: string): readonly ServerProcess[] {
    return this.#registry.list("servers", deployment).map(({ server }) => server);
  }

  async stop(): Promise<void> {
    if (this.run.kept) return;
    this.#launcher.expectAllExits();
    await stopRun(this.run.path);
  }

  /** @returns when the servers have ended; at once if the signal does not end servers */
  async signal(deployment: string, names: readonly string[], signal: ServerSignal): Promise<void> {
    if (endsServer(signal)) this.expectExit(deployment, names);
    await signalServers(this.#registry.named(deployment, names), signal);
  }

  /** Marks the exit of the given servers as expected from now on, whatever causes it. */
  expectExit(deployment: string, names: readonly string[]): void {
    this.#launcher.expectExit(this.#registry.named(deployment, names));
  }

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

export const passwordFileIn = (run: string, deployment: string): string => join(run, deployment, "password");

/** So that `verify` can read the zone later. Servers before 8.1 do not have `availability-zone`. */
async function setZones(deployment: Deployment): Promise<void> {
  await Promise.all(
    deployment.nodes.map((node) =>
      withConnection(deployment.connect(node), (connection) =>
        connection.config("SET", "availability-zone", node.zone ?? "").catch(() => undefined),
      ),
    ),
  );
}

type ServerSignal = "SIGKILL" | "SIGTERM" | "SIGSTOP" | "SIGCONT";

function endsServer(signal: ServerSignal): boolean {
  return signal === "SIGKILL" || signal === "SIGTERM";
}

function hasExited({ process }: ServerProcess): boolean {
  return identifyProcess(process.pid) === undefined;
}

async function signalServers(servers: readonly ServerProcess[], signal: ServerSignal): Promise<void> {
  for (const { process } of servers) {
    const identity = identifyProcess(process.pid);
    if (identity !== undefined) signalProcess(identity, signal);
  }
  if (endsServer(signal)) await Promise.all(servers.map(({ process }) => process.ended));
}
