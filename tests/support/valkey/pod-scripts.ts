/**
 * The scripts of pods, with servers of this machine: names of pods lead to servers, and `localhost` to the pod's own. The
 * scripts know port 6379 alone, so the programs that they find translate.
 */
import { execFile } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Programs } from "../../../platforms/host/programs/programs";
import type { Deployment } from "../../../valkey/deployment";
import type { Endpoint } from "../../../valkey/node";

const SCRIPTS = join(__dirname, "../../../components/kubernetes/scripts");
/** Suffix after a pod's name in its host name. */
const DOMAIN = ".pods";
const SERVICE = "service.pods";

/** Body of a `sleep` for scripts. They sleep for 3 s until DNS has names or clients have noticed something: neither is here. */
export const SHORT_SLEEP = '[ "$1" != 3 ] || set -- 0.1\nexec /bin/sleep "$@"';

/** The clock of the container: seconds in the file CLOCK are added to the time. */
const CONTAINER_CLOCK = `[ -n "\${CLOCK-}" ] || exec /bin/date "$@"
case "$*" in
  '+%s') seconds=$(/bin/date "$@") && echo $((seconds + $(cat "$CLOCK" 2>/dev/null || echo 0))) ;;
  *) exec /bin/date "$@" ;;
esac`;

/** Damages a snapshot or a part of an append-only file, so that a server does not load it. */
export function damage(path: string): void {
  const { size } = statSync(path);
  writeFileSync(path, Buffer.concat([readFileSync(path).subarray(0, size / 2), Buffer.alloc(size / 4, "x")]));
}

export function newestFile(directory: string): string {
  const names = readdirSync(directory).filter((name) => name.endsWith(".incr.aof"));
  return join(directory, names.sort().at(-1) ?? "");
}

/**
 * A power loss: a server's disk lacks its last writes.
 * @param directory directory of the append-only file, which has every write so far
 * @returns a function that takes later writes out of the file, once the server has been killed
 */
export function loseLaterWrites(directory: string): () => void {
  const path = newestFile(directory);
  const { size } = statSync(path);
  return () => {
    truncateSync(path, size);
  };
}

export class PodScripts {
  readonly #directory = mkdtempSync(join(tmpdir(), "valkey-pods-"));

  constructor(private readonly real: Programs) {
    mkdirSync(join(this.#directory, "scripts"));
    for (const name of readdirSync(SCRIPTS)) {
      const text = readFileSync(join(SCRIPTS, name), "utf8");
      // Paths in the container.
      const here = text
        .replaceAll("/data/", "${DATA:-/data}/")
        .replace(/^dir \/data$/m, "dir ${DATA:-/data}")
        .replaceAll("/valkey/config/", "${CONFIG_DIRECTORY:-/valkey/config}/");
      writeFileSync(this.script(name), here);
    }
    this.#write("date", CONTAINER_CLOCK);
    // Until the pods are known.
    this.#write("valkey-cli", "exit 1");
    this.#write("translated-server", `exec '${real.server}' "$@"`);
    this.#write("sleep", SHORT_SLEEP);
  }

  /**
   * Programs whose server starts as the container of a pod does, by `start-cluster.sh`. The name of a
   * server's directory is the name of its pod.
   */
  programs(onSilentReplica: "wait" | "default" | number): Programs {
    return this.#startingBy(
      `start-cluster.sh ${onSilentReplica} '${this.real.server}' "$@" --cluster-announce-hostname "\${PWD##*/}${DOMAIN}"`,
    );
  }

  /** The same in replication mode without Sentinels, by `start-replication.sh`. */
  replicationPrograms(onSilentReplica: "wait" | "default" | number): Programs {
    return this.#startingBy(`start-replication.sh ${onSilentReplica} '${this.translated}' "$@"`);
  }

  #startingBy(command: string): Programs {
    const variables = {
      ...this.#environment(),
      SERVERS: DOMAIN,
      PRIMARY_SERVICE: SERVICE,
      PRIMARY_FILE: this.#primaryFile,
      SERVICE,
      POD_IP: "127.0.0.1",
    };
    const server = this.#write(
      "server",
      [
        ...Object.entries(variables).map(([name, value]) => `export ${name}='${value}'`),
        `export POD_NAME="\${PWD##*/}" DATA="$PWD"`,
        `export DEPLOYMENT="\${POD_NAME%-*}"`,
        `exec sh ${this.script(command)}`,
      ].join("\n"),
    );
    return { ...this.real, server };
  }

  /** Path of a script. */
  script(name: string): string {
    return join(this.#directory, "scripts", name);
  }

  /** Environment of a script in a pod without Sentinels. @param data directory of the server's data */
  environmentOf(pod: string, data: string): Record<string, string> {
    const own = { POD_NAME: pod, DEPLOYMENT: pod.replace(/-\d+$/, ""), SERVERS: DOMAIN, DATA: data };
    return { ...this.#environment(), ...own, PRIMARY_SERVICE: SERVICE, PRIMARY_FILE: this.#primaryFile };
  }

  /**
   * Command and environment of a script in the container of a pod.
   * @param directory has the server's configuration, the file CLOCK, and the disk `data`
   */
  container(
    script: string,
    pod: string,
    directory: string,
    more: Readonly<Record<string, string>>,
  ): { readonly command: readonly [string, string]; readonly env: Record<string, string> } {
    const own = { POD_NAME: pod, HOSTNAME: pod, DEPLOYMENT: pod.replace(/(-sentinel)?-\d+$/, ""), SERVERS: DOMAIN };
    const places = { DATA: join(directory, "data"), CONFIG_DIRECTORY: directory, CLOCK: join(directory, "clock") };
    const env = { ...this.#environment(), ...own, ...places, PRIMARY_FILE: this.#primaryFile, ...more };
    return { command: ["sh", this.script(script)], env };
  }

  get translated(): string {
    return join(this.#directory, "translated-server");
  }

  designate(pod: string): void {
    writeFileSync(this.#primaryFile, pod);
  }

  get #primaryFile(): string {
    return join(this.#directory, "primary");
  }

  /**
   * Has the scripts find nodes by the names and addresses of their pods; of two with one address it is the first.
   * @param primary to which the Service leads
   * @param service where the Service itself listens. @default nowhere
   */
  find(
    { nodes: servers, access, sentinels }: Pick<Deployment, "nodes" | "access" | "sentinels">,
    primary = 0,
    service?: Endpoint,
  ): void {
    for (const file of ["password", "sentinel-password"])
      writeFileSync(join(this.#directory, file), access.password ?? "");
    const nodes = [...servers, ...(sentinels?.nodes ?? [])];
    const led = service ?? servers[primary]?.endpoint;
    const known = nodes.map(({ name, endpoint }) => ({ names: [`${name}${DOMAIN}`, endpoint.host], endpoint }));
    if (led !== undefined) known.push({ names: [SERVICE], endpoint: led });
    const cases = known.map(
      ({ names, endpoint: { host, port } }) => `${names.join(" | ")}) set -- -h ${host} -p ${port} "$@" ;;`,
    );
    this.#write(
      "translated-server",
      [
        "for word; do",
        "shift",
        `case $word in\n${known.map(({ names: [name = ""], endpoint: { host, port } }) => `${name}) word=${host} port=${port} ;;`).join("\n")}`,
        "6379) word=${port:-6379} ;;\nesac",
        'set -- "$@" "$word"',
        `done\nexec '${this.real.server}' "$@"`,
      ].join("\n"),
    );
    // A pod that others meet is at its own ports. Other commands name pods: REPLICAOF, FAILOVER TO.
    const own = nodes.map(
      ({ name, endpoint: { host, port }, busPort = 0 }) => `${name}) address=${host} ports='${port} ${busPort}' ;;`,
    );
    const words = known.map(
      ({ names: [name = ""], endpoint: { host, port } }) => `s/${name}[.]* 6379/${host} ${port}/`,
    );
    // Servers follow addresses here, and pods follow names.
    const followed = known.map(
      ({ names: [name = ""], endpoint: { host } }) => `s/^\\(master_host:\\|\\)${host}\\r*$/\\1${name}/`,
    );
    // A server that a hand-over closes to clients listens to its own pod, at its own address here.
    const closed = sentinels === undefined ? "" : "s/^CONFIG SET bind .*/CONFIG SET bind $address/; ";
    this.#write(
      "valkey-cli",
      [
        "host=$2",
        "shift 4",
        `[ "$host" != localhost ] || host=$POD_NAME${DOMAIN}`,
        `case $host in\n${cases.join("\n")}\n*) exit 1 ;;\nesac`,
        `case $POD_NAME in\n${own.join("\n")}\nesac`,
        `sed "${closed}s/^\\(CLUSTER MEET .*\\) 6379$/\\1 $ports/; ${words.join("; ")}" | '${this.real.cli}' "$@" | sed "${followed.join("; ")}"`,
      ].join("\n"),
    );
  }

  /** Has Sentinels know nodes by their addresses, and listen at the address of their own pod. */
  findSentinels({ nodes, sentinels }: Deployment): void {
    const all = [...nodes, ...(sentinels?.nodes ?? [])];
    const addresses = all.map(({ name, endpoint: { host } }) => `s/${name}${DOMAIN}/${host}/g`);
    this.#write(
      "valkey-server",
      [
        `case $POD_NAME in\n${all.map(({ name, endpoint: { host } }) => `${name}) bind=${host} ;;`).join("\n")}\nesac`,
        `sed -i "s/^bind \\*.*/bind $bind\\nbind-source-addr $bind/; ${addresses.join("; ")}" "$1"`,
        `exec '${this.real.server}' "$@"`,
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

  async run(script: string, pod: string, ...args: readonly string[]): Promise<void> {
    await this.runWith({}, script, pod, ...args);
  }

  async runWith(
    variables: Readonly<Record<string, string>>,
    script: string,
    pod: string,
    ...args: readonly string[]
  ): Promise<void> {
    const own = {
      ...{ POD_NAME: pod, DEPLOYMENT: pod.replace(/-\d+$/, ""), SERVERS: DOMAIN },
      PRIMARY_FILE: this.#primaryFile,
    };
    const env = { ...this.#environment(), ...own, ...variables };
    await promisify(execFile)("sh", [this.script(script), ...args], { env });
  }

  close(): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }

  #environment(): Record<string, string> {
    return {
      PATH: `${this.#directory}:${process.env["PATH"] ?? ""}`,
      VALKEY_PASSWORD_FILE: join(this.#directory, "password"),
    };
  }

  #write(name: string, text: string): string {
    const path = join(this.#directory, name);
    // A script may be starting the former program at this moment.
    writeFileSync(`${path}.new`, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    renameSync(`${path}.new`, path);
    return path;
  }
}
