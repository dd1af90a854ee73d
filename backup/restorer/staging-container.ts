/** Staging servers run in a second container, because the program's image has no valkey-server. */
import { existsSync } from "node:fs";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Failure } from "../../lib/errors";
import { awaitCondition, poll } from "../../lib/polling";
import { type Connection, connect } from "../../valkey/connection";
import type { Deployment } from "../../valkey/deployment";
import type { DeploymentNode } from "../../valkey/node";
import type { StagingServers } from "../restoring/staging";
import { type ServerSettings, toDirectives } from "../../valkey/settings/settings";

const PORT = 6_390;
const TIMEOUT_MS = 120_000;
const POLL_MS = 100;
const RESTART_MS = 60_000;
const LOG_CHARACTERS = 500;

export class StagingContainer implements StagingServers {
  #current: string | undefined;

  private constructor(
    readonly directory: string,
    readonly version: string,
  ) {}

  /** @throws Failure if the container does not start; the signal's reason */
  static async open(directory: string, signal: AbortSignal): Promise<StagingContainer> {
    const file = join(directory, "version");
    await waitUntil("the container of the staging servers runs", () => existsSync(file), signal);
    return new StagingContainer(directory, (await readFile(file, "utf8")).trim());
  }

  readonly directoryOf = (name: string): string => join(this.directory, name);

  readonly start = async (name: string, settings: ServerSettings, signal: AbortSignal): Promise<Deployment> => {
    const directory = this.directoryOf(name);
    await mkdir(directory, { recursive: true });
    await writeFile(join(directory, "valkey.conf"), configuration(directory, settings));
    await rm(this.#ended, { force: true });
    this.#current = name;
    const order = join(this.directory, "start");
    await writeFile(`${order}.new`, name);
    await rename(`${order}.new`, order);
    const deployment = deploymentOf(name);
    await waitUntil(
      `${name} accepts connections`,
      async () => {
        if (!existsSync(this.#ended)) return answers(deployment);
        this.#current = undefined;
        throw new Failure((await this.#reason(name)) ?? "the staging server has ended");
      },
      signal,
    );
    return deployment;
  };

  readonly stop = async (name: string): Promise<void> => {
    const connection = await connect(name, nodeOf(name).endpoint, {});
    // The server ends the connection in place of a reply.
    await connection.call("SHUTDOWN", ["NOSAVE", "NOW"]).catch(() => undefined);
    connection.disconnect();
    await waitUntil(`${name} stops`, () => existsSync(this.#ended), new AbortController().signal);
    this.#current = undefined;
  };

  async endedBecause(): Promise<string | undefined> {
    const name = this.#current;
    if (name === undefined) return undefined;
    const hasEnded = async (): Promise<boolean | undefined> =>
      existsSync(this.#ended) ? true : (await answers(deploymentOf(name))) ? false : undefined;
    // If the container was killed, it writes the reason after it has started again.
    await poll(hasEnded, { timeoutMs: RESTART_MS, intervalMs: POLL_MS });
    return this.#reason(name);
  }

  async #reason(name: string): Promise<string | undefined> {
    const status = await readFile(this.#ended, "utf8").catch(() => undefined);
    if (status === undefined || status.trim() === "0") return undefined;
    if (/^(killed|137)$/.test(status.trim()))
      return "the staging server was killed, most likely because the data of one archived shard need more memory than it has";
    const why = `the staging server ended with exit status ${status.trim()}`;
    const log = await readFile(join(this.directoryOf(name), "log"), "utf8").catch(() => "");
    return log === "" ? why : `${why}; its log ends with: ${log.slice(-LOG_CHARACTERS).trim()}`;
  }

  get #ended(): string {
    return join(this.directory, "ended");
  }
}

function configuration(directory: string, settings: ServerSettings): string {
  const own = { bind: "127.0.0.1", port: PORT, dir: directory, daemonize: false };
  const directives = [...toDirectives({ ...own, ...settings })];
  return directives.map(([name, value]) => `${name} ${value === "" ? '""' : value}\n`).join("");
}

const answers = (deployment: Deployment): Promise<boolean> =>
  deployment.connect(nodeOf(deployment.name)).then(
    (connection) => {
      connection.disconnect();
      return true;
    },
    () => false,
  );

const nodeOf = (name: string): DeploymentNode => ({
  name,
  machine: "",
  zone: undefined,
  endpoint: { host: "127.0.0.1", port: PORT },
});

function deploymentOf(name: string): Deployment {
  return {
    name,
    mode: "replication",
    shape: { primaries: 1, replicasPerPrimary: 0 },
    directives: new Map(),
    nodes: [nodeOf(name)],
    access: {},
    connect: (node): Promise<Connection> => connect(node.name, node.endpoint, {}),
  };
}

function waitUntil(what: string, condition: () => boolean | Promise<boolean>, signal: AbortSignal): Promise<void> {
  const check = (): Promise<boolean> => Promise.resolve(condition());
  return awaitCondition(what, check, { timeoutMs: TIMEOUT_MS, intervalMs: POLL_MS, signal });
}
