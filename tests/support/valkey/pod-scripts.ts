/**
 * The scripts of cluster pods, with servers of this machine: names of pods lead to servers, and `localhost` to the pod's
 * own. The scripts know port 6379 alone, so the client program that they find translates.
 */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Programs } from "../../../platforms/host/programs/programs";
import type { Deployment } from "../../../valkey/deployment";

const SCRIPTS = join(__dirname, "../../../components/kubernetes/scripts");
/** Suffix after a pod's name in its host name. */
const DOMAIN = ".pods";

export class PodScripts {
  readonly #directory = mkdtempSync(join(tmpdir(), "valkey-pods-"));

  constructor(private readonly real: Programs) {
    this.#write("valkey-cli", "exit 1");
  }

  /**
   * Programs whose server starts as the container of a pod does, by `start-cluster.sh SECONDS PATIENCE`. The name of a
   * server's directory is the name of its pod.
   */
  programs(seconds: number, patience: number): Programs {
    const environment = this.#environment("none");
    const server = this.#write(
      "server",
      [
        ...Object.entries(environment).map(([name, value]) => `export ${name}='${value}'`),
        `exec sh ${SCRIPTS}/start-cluster.sh ${seconds} ${patience} '${this.real.server}' "$@" --cluster-announce-hostname "\${PWD##*/}${DOMAIN}"`,
      ].join("\n"),
    );
    return { ...this.real, server };
  }

  /** Has the scripts find nodes by the names and addresses of their pods; of two with one address it is the first. */
  find({ nodes, access }: Pick<Deployment, "nodes" | "access">): void {
    writeFileSync(join(this.#directory, "password"), access.password ?? "");
    const cases = nodes.map(
      ({ name, endpoint: { host, port } }) => `${name}${DOMAIN} | ${host}) set -- -h ${host} -p ${port} "$@" ;;`,
    );
    // A pod that others meet is at its own ports.
    const own = nodes.map(({ name, endpoint: { port }, busPort = 0 }) => `${name}) ports='${port} ${busPort}' ;;`);
    this.#write(
      "valkey-cli",
      [
        "host=$2",
        "shift 4",
        `[ "$host" != localhost ] || host=$POD_NAME${DOMAIN}`,
        `case $host in\n${cases.join("\n")}\n*) exit 1 ;;\nesac`,
        `case $POD_NAME in\n${own.join("\n")}\n*) exec '${this.real.cli}' "$@" ;;\nesac`,
        `sed "s/^\\(CLUSTER MEET .*\\) 6379$/\\1 $ports/" | exec '${this.real.cli}' "$@"`,
      ].join("\n"),
    );
  }

  /** Has scripts that sleep for so long wait for a file instead. @returns the path of that file */
  holdSleep(seconds: number): string {
    const file = join(this.#directory, `slept-${seconds}`);
    this.#write(
      "sleep",
      `[ "$1" != ${seconds} ] || until [ -e ${file} ]; do /bin/sleep 0.05; done\nexec /bin/sleep 0.05`,
    );
    return file;
  }

  /** Runs a script as in the pod of that name. */
  async run(script: string, pod: string, ...args: readonly string[]): Promise<void> {
    await this.runWith({}, script, pod, ...args);
  }

  /** Runs a script with further variables of its container. */
  async runWith(
    variables: Readonly<Record<string, string>>,
    script: string,
    pod: string,
    ...args: readonly string[]
  ): Promise<void> {
    const env = { ...this.#environment(pod), ...variables };
    await promisify(execFile)("sh", [join(SCRIPTS, script), ...args], { env });
  }

  close(): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }

  #environment(pod: string): Record<string, string> {
    return {
      PATH: `${this.#directory}:${process.env["PATH"] ?? ""}`,
      VALKEY_PASSWORD_FILE: join(this.#directory, "password"),
      POD_NAME: pod,
    };
  }

  #write(name: string, text: string): string {
    const path = join(this.#directory, name);
    writeFileSync(path, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    return path;
  }
}
