/**
 * Real servers for tests: the programs that a user's commands find, in a separate run directory that is removed
 * afterwards.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type Connection, connect } from "../../../valkey/connection";
import type { Deployment } from "../../../valkey/deployment";
import type { Endpoint, NodeAccess } from "../../../valkey/node";
import { Host } from "../../../platforms/host/host";
import type { HostDeploymentPlan } from "../../../platforms/host/deployment-plan";
import { type Programs, findPrograms, inspectPrograms } from "../../../platforms/host/programs/programs";
import { fetchPrograms, unpackedPrograms } from "../../../platforms/host/programs/debian-packages";
import { RunDirectory } from "../../../platforms/host/run-directory";
import type { EndpointReference } from "../../../platforms/deployment-reference";
import { form } from "../../../valkey/formation/form";
import { parseInfo } from "../../../valkey/topology/replies";
import type { Shape } from "../../../valkey/topology/placement";
import { verify } from "../../../valkey/verification/verify";
import { cacheDirectory, packagesDirectory } from "../../../lib/system/paths";
import { type Condition, awaitCondition } from "../../../lib/polling";

export const ZONES = ["a", "b", "c"] as const;
export const never = new AbortController().signal;

let programs: Promise<Programs> | undefined;

/** @throws BadInput if there is no Valkey, so that tests fail and are not skipped */
export function realPrograms(): Promise<Programs> {
  programs ??= findPrograms(packagesDirectory(), () => undefined, never);
  return programs;
}

/** Valkey 8.1, the last without atomic slot migration, from Debian's packages; undefined where those cannot be had. */
export async function olderPrograms(): Promise<Programs | undefined> {
  // Not in the packages directory of commands, which would find the older version there.
  const packages = join(cacheDirectory(), "packages-8.1");
  const unpacked = unpackedPrograms(packages).find((path) => path.includes("valkey_8."));
  try {
    const programs = await inspectPrograms(
      unpacked ?? (await fetchPrograms(packages, () => undefined, never, "trixie")),
      "Debian packages",
    );
    return typeof programs === "string" ? undefined : programs;
  } catch {
    return undefined;
  }
}

/** The VALKEY_HOME with which a command uses the same programs. */
export async function valkeyHome(): Promise<string> {
  return dirname((await realPrograms()).server);
}

/** Settings of a deployment in a sandbox. A replica is synchronized at once, and nothing is saved unless a test says so. */
const SETTINGS = { save: "", "repl-diskless-sync-delay": 0 };
type Settings = HostDeploymentPlan["settings"];

export class Sandbox {
  #directory = "";
  #host: Host | undefined;

  static async open(programs?: Programs): Promise<Sandbox> {
    const sandbox = new Sandbox();
    await sandbox.open(programs);
    return sandbox;
  }

  get host(): Host {
    if (this.#host === undefined) throw new Error("the sandbox is not open");
    return this.#host;
  }

  async open(programs?: Programs): Promise<void> {
    this.#directory = mkdtempSync(join(tmpdir(), "valkey-test-"));
    this.#host = new Host(RunDirectory.create(this.#directory, "test"), programs ?? (await realPrograms()));
  }

  cluster(name: string, primaries: number, replicasPerPrimary: number, settings: Settings = {}): Promise<Deployment> {
    return this.#start({ name, mode: "cluster", shape: { primaries, replicasPerPrimary }, settings });
  }

  replication(name: string, replicas: number, settings: Settings = {}): Promise<Deployment> {
    return this.#start({ name, mode: "replication", shape: { primaries: 1, replicasPerPrimary: replicas }, settings });
  }

  async formedCluster(...args: Parameters<Sandbox["cluster"]>): Promise<Deployment> {
    const deployment = await this.cluster(...args);
    await form(deployment, { primaries: args[1], replicasPerPrimary: args[2] });
    return deployment;
  }

  async formedReplication(...args: Parameters<Sandbox["replication"]>): Promise<Deployment> {
    const deployment = await this.replication(...args);
    await form(deployment, { primaries: 1, replicasPerPrimary: args[1] });
    return deployment;
  }

  #start(plan: Omit<HostDeploymentPlan, "zones">): Promise<Deployment> {
    return this.host.start({ ...plan, settings: { ...SETTINGS, ...plan.settings }, zones: ZONES }, never);
  }

  async close(): Promise<void> {
    await this.#host?.stop();
    // A keeper notices within seconds that its server has ended, and may write until then.
    rmSync(this.#directory, { recursive: true, force: true, maxRetries: 30, retryDelay: 100 });
  }
}

export function referenceTo(
  { name, mode, zones = [], directives, nodes }: Deployment,
  shape: Shape,
): EndpointReference {
  return { platform: "endpoints", name, mode, shape, zones, nodes, directives: Object.fromEntries(directives) };
}

export function nodeOptions({ nodes }: Deployment): string[] {
  return nodes.flatMap(({ endpoint, zone }) => ["--node", `127.0.0.1:${endpoint.port}=${zone ?? ""}`]);
}

export function serverOptions(deployment: Deployment): string[] {
  return ["--mode", deployment.mode, ...nodeOptions(deployment)];
}

export function passwordOf({ access }: Deployment): NodeJS.ProcessEnv {
  return { VALKEY_PASSWORD: access.password };
}

export async function failing(deployment: Deployment): Promise<string[]> {
  return (await verify(deployment)).verdict.assertions.flatMap(({ pass, id, found }) =>
    pass ? [] : [`${id}: ${found}`],
  );
}

export async function withNode<T>(
  deployment: Deployment,
  index: number,
  use: (connection: Connection) => Promise<T>,
): Promise<T> {
  const node = deployment.nodes[index];
  if (node === undefined) throw new Error(`there is no node ${index}`);
  const connection = await deployment.connect(node);
  try {
    return await use(connection);
  } finally {
    connection.disconnect();
  }
}

export function callNode(
  deployment: Deployment,
  index: number,
  ...[command, ...words]: readonly [string, ...(string | number)[]]
): Promise<unknown> {
  return withNode(deployment, index, (connection) => connection.call(command, ...words));
}

/** Every node's CLUSTER NODES, without the times of the last pings. */
export function clusterViews(deployment: Deployment): Promise<string[]> {
  return Promise.all(
    deployment.nodes.map(async (_node, index) =>
      String(await callNode(deployment, index, "CLUSTER", "NODES")).replaceAll(/ \d+ \d+ (?=\d+ connected)/g, " "),
    ),
  );
}

export async function replicationOf(deployment: Deployment, index: number): Promise<ReadonlyMap<string, string>> {
  return parseInfo(await withNode(deployment, index, (connection) => connection.info("replication")));
}

export function eventuallyAccepts(name: string, endpoint: Endpoint, access: NodeAccess = {}): Promise<void> {
  const accepts = (): Promise<boolean> =>
    connect(name, endpoint, access).then(
      (connection) => {
        connection.disconnect();
        return true;
      },
      () => false,
    );
  return eventually("it answers", accepts);
}

/** A server with damaged data may answer before it has read the damaged part. Then it ends. */
export function endsByItself(deployment: Deployment, index: number): Promise<void> {
  const isRefused = (error: unknown): boolean => String(error).includes("ECONNREFUSED");
  return eventually("it ends", () => callNode(deployment, index, "PING").then(() => false, isRefused));
}

export function eventually(what: string, condition: Condition, timeoutMs = 20_000): Promise<void> {
  return awaitCondition(what, condition, { timeoutMs });
}
