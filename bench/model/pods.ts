/**
 * Pods of the model on this machine: processes that the real scripts start and probe, a kubelet that starts ended
 * containers again, and the Service of the primary. Every pod has an address of its own.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes, randomInt } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, truncateSync } from "node:fs";
import { utimesSync, writeFileSync } from "node:fs";
import { type Server, type Socket, createServer, connect as connectSocket } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Failure, messageOf } from "../../lib/errors";
import { holdsInTime } from "../../lib/polling";
import { sendSignal } from "../../lib/system/process-identity";
import { type RecordedProcess, signalChildGroup, startRecorded } from "../../platforms/host/processes";
import type { Programs } from "../../platforms/host/programs/programs";
import { RunDirectory, stopRun } from "../../platforms/host/run-directory";
import { serverConfig } from "../../platforms/host/server-config";
import { PodScripts } from "../../tests/support/valkey/pod-scripts";
import { type Connection, connect } from "../../valkey/connection";
import type { Deployment } from "../../valkey/deployment";
import type { DeploymentNode, Endpoint } from "../../valkey/node";
import { withNeededReplicas } from "../../valkey/planning/derived-settings";
import { toDirectives } from "../../valkey/settings/settings";
import { slotTags } from "../../valkey/topology/slot-tags";
import type { ModelMode, Persistence } from "./events";
import type { Fact } from "./oracle";

const NAME = "model";
/** `onSilentReplica`: the defaults, but shorter where they end. */
const ON_SILENT_REPLICA: Readonly<Record<Persistence, string>> = {
  none: "default",
  snapshots: "default",
  "append-only": "15",
};
export const PROBE_MS = 2000;
const PROBE_TIMEOUT_MS = 8000;
const LOOK_MS = 200;
const RESTART_MS = 300;
/** Longest start that needs no explanation: some questions to silent servers, on a busy machine. */
const UNEXPLAINED_SECONDS = 10;
/** Time within which what was written need not be on a disk (`appendfsync everysec`). */
const UNSYNCED_MS = 1000;
/** Node timeout of the cluster, and time after which Sentinels consider a server down. */
export const SILENT_MS = 5000;
const SENTINEL = { count: 3, quorum: 2, downAfterMs: SILENT_MS, failoverTimeoutMs: 10_000 };
/** Replicas of the data set under test. */
const REPLICAS = 2;
const PERSIST: Readonly<Record<Persistence, Parameters<typeof toDirectives>[0]>> = {
  none: { save: "", appendonly: false },
  snapshots: { save: "3600 1000000", appendonly: false },
  "append-only": { save: "", appendonly: true },
};
const START = { replication: "start-replication.sh", sentinels: "start-replication.sh", cluster: "start-cluster.sh" };
const READY = { replication: "ready-replication.sh", sentinels: "ready-replication.sh", cluster: "ready-cluster.sh" };
const HAND_OVER = { replication: undefined, sentinels: "hand-over-replication.sh", cluster: "hand-over.sh" };
const HAND_OVER_SECONDS = "8";
/** Key of probes, which are not compared. */
export const PROBE_KEY = "probe";
/** Keys that begin so are in the shard of the first three nodes. */
const tag = (mode: ModelMode): string => (mode === "cluster" ? `{${slotTags()[0] ?? ""}}` : "");
const KEY = /w\d{6}/g;

/** A pod: a server or a Sentinel, with what the kubelet knows of it. */
export interface Pod {
  readonly node: DeploymentNode;
  readonly directory: string;
  readonly isSentinel: boolean;
  process?: RecordedProcess | undefined;
  probe?: ChildProcess | undefined;
  /** Whether the kubelet starts its container when it ends. */
  wanted: boolean;
  frozen: boolean;
  full: boolean;
  ready: boolean;
  answers: boolean;
  role: string;
  startedAt: number;
  /** Output of its scripts since the last start. */
  said: string;
  /** Sizes of its append-only file. */
  sizes: { at: number; file: string; size: number }[];
}

export class ModelPods {
  readonly pods: readonly Pod[];
  readonly deployment: Deployment;
  readonly facts: Fact[] = [];
  readonly log: string[] = [];
  readonly unexplained: string[] = [];
  readonly #began = performance.now();
  readonly #scripts: PodScripts;
  readonly #run: RunDirectory;
  readonly #service: Server;
  #designated = `${NAME}-0`;
  /** Time limit of a client, milliseconds. A new deployment gets more. */
  #timeoutMs = 20_000;
  #closed = false;

  constructor(
    readonly mode: ModelMode,
    readonly persistence: Persistence,
    runs: string,
    private readonly programs: Programs,
  ) {
    this.#run = RunDirectory.create(runs, NAME);
    this.#scripts = new PodScripts(programs);
    const network = `127.${randomInt(1, 255)}.${randomInt(1, 255)}`;
    const nodes = (kind: string, first: number, port: number, count: number): DeploymentNode[] =>
      Array.from({ length: count }, (_, index) => ({
        ...{ name: `${NAME}${kind}-${index}`, zone: "abc"[index % 3], machine: "here", busPort: 16379 },
        endpoint: { host: `${network}.${first + index}`, port },
      }));
    const servers = nodes("", 1, 6379, mode === "cluster" ? 5 : 3);
    const sentinels = mode === "sentinels" ? nodes("-sentinel", 11, 26379, SENTINEL.count) : [];
    const access = { password: randomBytes(12).toString("hex") };
    this.deployment = {
      ...{ name: NAME, mode: mode === "cluster" ? "cluster" : "replication", nodes: servers, access },
      ...{ shape: mode === "cluster" ? { primaries: 3 } : { primaries: 1, replicasPerPrimary: REPLICAS } },
      directives: toDirectives(PERSIST[persistence]),
      ...(sentinels.length === 0 ? {} : { sentinels: { settings: SENTINEL, nodes: sentinels } }),
      connect: (node, timeoutMs) => {
        const own = sentinels.some(({ name }) => name === node.name) ? { ...access, username: "admin" } : access;
        return connect(node.name, node.endpoint, own, timeoutMs);
      },
    };
    const service = { host: `${network}.100`, port: 6379 };
    this.#scripts.designate(this.#designated);
    this.#scripts.find(this.deployment, 0, service);
    if (sentinels.length > 0) this.#scripts.findSentinels(this.deployment);
    this.#service = createServer((socket) => {
      this.#lead(socket);
    }).listen(service.port, service.host);
    this.pods = [...servers, ...sentinels].map((node) => this.#pod(node, sentinels.includes(node)));
  }

  #pod(node: DeploymentNode, isSentinel: boolean): Pod {
    const directory = this.#run.nodeDirectory(NAME, node.name);
    mkdirSync(join(directory, "data"));
    writeFileSync(join(directory, "servers"), `${this.deployment.nodes.length}\n`);
    const own = {
      ...{ "repl-diskless-sync-delay": 0, "repl-timeout": 10, "cluster-node-timeout": SILENT_MS },
      // Only one shard has replicas, and the others would take one of them.
      "cluster-allow-replica-migration": false,
      ...withNeededReplicas({}, REPLICAS),
      ...PERSIST[this.persistence],
    };
    const stop = this.mode === "replication" ? "save" : "default";
    const { password = "" } = this.deployment.access;
    const plan = {
      ...{ deployment: NAME, name: node.name, cluster: this.mode === "cluster", zone: node.zone, password },
      ...{ host: node.endpoint.host, directives: new Map([...toDirectives(own), ["shutdown-on-sigterm", stop]]) },
    };
    const location = { directory, dataDirectory: join(directory, "data"), port: node.endpoint.port, busPort: 16379 };
    writeFileSync(join(directory, "valkey.conf"), serverConfig(plan, location, this.programs), { mode: 0o600 });
    return {
      ...{ node, directory, isSentinel, wanted: false, frozen: false, full: false, ready: false },
      ...{ answers: false, role: "", startedAt: 0, said: "", sizes: [] },
    };
  }

  /** Starts all pods, forms a cluster, and waits until all are ready. @throws Failure when that takes too long */
  async open(): Promise<void> {
    for (const pod of this.pods) {
      this.start(pod);
      void this.#probeAgainAndAgain(pod);
      if (!pod.isSentinel) void this.#lookAgainAndAgain(pod);
    }
    if (this.mode === "cluster") await this.#form();
    const isComplete = async (): Promise<boolean> =>
      this.shard.slice(1).every(({ role }) => role === "slave") &&
      (await this.write([PROBE_KEY], 2)).replicas === 2 &&
      this.shard.every(({ ready }) => ready);
    if (!(await holdsInTime(isComplete, { timeoutMs: 60_000, intervalMs: 200 })))
      throw new Failure(`the deployment of the model was not complete in time:\n${this.log.join("\n")}`);
    this.#timeoutMs = 1500;
  }

  async #form(): Promise<void> {
    const [first, ...others] = this.servers;
    if (first === undefined) throw new Error("there is no node");
    await holdsInTime(() => this.servers.every(({ answers }) => answers), { timeoutMs: 20_000 });
    const slots = new Map([
      [0, ["0", "5460"]],
      [3, ["5461", "10922"]],
      [4, ["10923", "16383"]],
    ]);
    for (const [index, pod] of this.servers.entries()) {
      await this.call(pod, "CLUSTER", "SET-CONFIG-EPOCH", String(index + 1));
      const own = slots.get(index);
      if (own !== undefined) await this.call(pod, "CLUSTER", "ADDSLOTSRANGE", ...own);
    }
    // A node of a busy machine forgets a node that it does not reach in time.
    const isMet = async (): Promise<boolean> => {
      for (const { node } of others) await this.call(first, "CLUSTER", "MEET", node.endpoint.host, "6379", "16379");
      await sleep(500);
      return String(await this.call(first, "CLUSTER", "INFO")).includes(`cluster_known_nodes:${this.servers.length}`);
    };
    await holdsInTime(isMet, { timeoutMs: 30_000 });
    const id = String(await this.call(first, "CLUSTER", "MYID"));
    for (const pod of this.servers.slice(1, 3)) {
      const follows = (): Promise<boolean> =>
        this.call(pod, "CLUSTER", "REPLICATE", id).then(
          () => true,
          () => false,
        );
      await holdsInTime(follows, { timeoutMs: 20_000 });
    }
  }

  /** The servers of the data set under test come first. */
  get servers(): readonly Pod[] {
    return this.pods.filter(({ isSentinel }) => !isSentinel);
  }

  get shard(): readonly Pod[] {
    return this.servers.slice(0, 3);
  }

  get now(): number {
    return performance.now() - this.#began;
  }

  note(text: string): void {
    this.log.push(`${(this.now / 1000).toFixed(1).padStart(6)} s  ${text}`);
  }

  #record(fact: Fact): void {
    this.facts.push(fact);
  }

  call(pod: Pod, ...command: [string, ...string[]]): Promise<unknown> {
    return this.#with(pod.node.endpoint, (connection) => connection.call(...command));
  }

  async #with<T>(endpoint: Endpoint, use: (connection: Connection) => Promise<T>): Promise<T> {
    const connection = await connect("the server", endpoint, this.deployment.access, this.#timeoutMs);
    try {
      return await use(connection);
    } finally {
      connection.disconnect();
    }
  }

  #environment(pod: Pod, script: string): ReturnType<PodScripts["container"]> {
    const domain = ".pods";
    const { quorum, count, downAfterMs, failoverTimeoutMs } = SENTINEL;
    const of: Readonly<Record<ModelMode, Record<string, string>>> = {
      replication: { PRIMARY_SERVICE: `service${domain}` },
      cluster: { SERVICE: `service${domain}`, POD_IP: pod.node.endpoint.host },
      sentinels: {
        ...{ SENTINELS: domain, COUNT: String(count), QUORUM: String(quorum), POD_IP: pod.node.endpoint.host },
        ...{ DOWN_AFTER: String(downAfterMs), FAILOVER_TIMEOUT: String(failoverTimeoutMs) },
      },
    };
    return this.#scripts.container(script, pod.node.name, pod.directory, { MAX_LAG: "10", ...of[this.mode] });
  }

  /** The command of a script, on a full disk if the pod has one: then no file can grow. */
  #command(pod: Pod, script: string, args: readonly string[]): [args: string[], env: Record<string, string>] {
    const { command, env } = this.#environment(pod, script);
    const limit = pod.full ? ["prlimit", "--fsize=0:unlimited"] : [];
    return [["-c", `trap '' XFSZ; exec "$@"`, "sh", ...limit, ...command, ...args], env];
  }

  start(pod: Pod): void {
    pod.wanted = true;
    if (pod.process !== undefined) return;
    const { name, endpoint } = pod.node;
    const server = this.mode === "cluster" ? this.programs.server : this.#scripts.translated;
    const own =
      this.mode === "cluster"
        ? ["--cluster-announce-ip", endpoint.host, "--cluster-announce-hostname", `${name}.pods`]
        : [];
    const [args, env] = pod.isSentinel
      ? this.#command(pod, "sentinel.sh", [])
      : this.#command(pod, START[this.mode], [
          ON_SILENT_REPLICA[this.persistence],
          server,
          join(pod.directory, "valkey.conf"),
          ...own,
        ]);
    Object.assign(pod, { said: "", startedAt: this.now });
    const cwd = join(pod.directory, "data");
    const started = startRecorded(this.#run, name, "/bin/sh", args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
    pod.process = started;
    for (const stream of [started.child.stdout, started.child.stderr])
      stream?.on("data", (text: Buffer) => {
        if (pod.isSentinel) return;
        pod.said += text.toString();
        this.note(`${name} says: ${text.toString().trim()}`);
      });
    void started.ended.then(async () => {
      this.#judgeWait(pod);
      this.#silence(pod);
      // A full disk ends a server, which then has what its disk has.
      if (pod.wanted && pod.full) this.#fault(pod);
      Object.assign(pod, { process: undefined, ready: false });
      await sleep(RESTART_MS);
      if (pod.wanted && !this.#closed) this.start(pod);
    });
  }

  /** A start script that takes longer than it takes to ask must have said why. */
  #judgeWait(pod: Pod): void {
    const seconds = (this.now - pod.startedAt) / 1000;
    if (
      pod.isSentinel ||
      pod.startedAt === 0 ||
      pod.full ||
      seconds < UNEXPLAINED_SECONDS ||
      pod.said.includes("start-")
    )
      return;
    this.unexplained.push(`${pod.node.name} has started for ${seconds.toFixed(1)} s and has not said why`);
  }

  #silence(pod: Pod): void {
    if (pod.answers) this.note(`${pod.node.name} is silent`);
    pod.answers = false;
    if (!pod.isSentinel) this.#record({ kind: "silent", at: this.now, server: pod.node.name });
  }

  #signal(pod: Pod, signal: "SIGSTOP" | "SIGCONT" | "SIGKILL"): void {
    if (pod.process !== undefined) signalChildGroup(pod.process, signal);
    if (pod.probe?.pid !== undefined && pod.probe.exitCode === null && pod.probe.signalCode === null)
      sendSignal(-pod.probe.pid, signal);
  }

  /** Freezes a pod like a machine, whose kernel receives nothing either: its primary drops the link to it. */
  async freeze(pod: Pod): Promise<void> {
    if (pod.frozen || pod.process === undefined) return;
    this.#signal(pod, "SIGSTOP");
    pod.frozen = true;
    this.#silence(pod);
    for (const other of this.shard.filter(({ answers, role }) => answers && role === "master")) {
      const links = String(await this.call(other, "CLIENT", "LIST", "TYPE", "replica").catch(() => ""));
      const address = new RegExp(`addr=(${pod.node.endpoint.host}:\\d+)`).exec(links)?.[1];
      if (address !== undefined) await this.call(other, "CLIENT", "KILL", "ADDR", address).catch(() => undefined);
    }
  }

  thaw(pod: Pod): void {
    if (!pod.frozen) return;
    pod.frozen = false;
    pod.startedAt = pod.startedAt === 0 ? 0 : this.now;
    this.#signal(pod, "SIGCONT");
  }

  /**
   * Ends a pod's container. The kubelet does not start it until `start`.
   * @param how `lose` also takes the disk; `power` cuts what the disk has not synchronized
   */
  async end(pod: Pod, how: "kill" | "power" | "lose" | "stop"): Promise<void> {
    pod.wanted = false;
    const { process } = pod;
    if (how === "stop" && process !== undefined && !pod.frozen) {
      const script = HAND_OVER[this.mode];
      if (script !== undefined && pod.answers) await this.#runScript(pod, script, [HAND_OVER_SECONDS], 15_000);
      if (process.child.exitCode === null && process.child.signalCode === null) sendSignal(-process.pid, "SIGTERM");
      await Promise.race([process.ended, sleep(5000)]);
    }
    this.#signal(pod, "SIGKILL");
    await process?.ended;
    pod.frozen = false;
    if (how === "power") this.#cut(pod);
    if (how === "lose") {
      rmSync(join(pod.directory, "data"), { recursive: true, force: true });
      mkdirSync(join(pod.directory, "data"));
    }
    this.#fault(pod);
  }

  /** Notes what a server's disk has after a fault. */
  #fault({ isSentinel, directory, node }: Pod): void {
    if (isSentinel) return;
    const keys = keysOnDisk(join(directory, "data"));
    this.note(`the disk of ${node.name} has ${keys.size} keys`);
    this.#record({ kind: "fault", at: this.now, server: node.name, keys });
  }

  /** Cuts the append-only file to its size of a second ago. */
  #cut({ directory, sizes }: Pod): void {
    const file = appendOnlyFile(directory);
    const known = sizes.filter((each) => each.file === file && each.at <= this.now - UNSYNCED_MS).at(-1);
    if (file !== undefined && known !== undefined && statSync(file).size > known.size) truncateSync(file, known.size);
  }

  /** Lets the clock of a pod's machine step. Files keep their times of before. */
  step({ directory }: Pod, hours: number): void {
    const clock = join(directory, "clock");
    const former = existsSync(clock) ? Number(readFileSync(clock, "utf8")) : 0;
    writeFileSync(clock, String(former + hours * 3600));
    for (const entry of readdirSync(join(directory, "data"), { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name);
      // A temporary file may be gone.
      const time = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
      if (time === undefined) continue;
      const stepped = time / 1000 - hours * 3600;
      utimesSync(path, stepped, stepped);
    }
  }

  /** Fills or empties a pod's disk. */
  fill(pod: Pod, full: boolean): void {
    pod.full = full;
    if (pod.process === undefined) return;
    const args = ["--pid", String(pod.process.pid), `--fsize=${full ? "0" : "unlimited"}:unlimited`];
    spawn("prlimit", args, { stdio: "ignore" });
  }

  async #probeAgainAndAgain(pod: Pod): Promise<void> {
    const script = pod.isSentinel ? "ready-sentinel.sh" : READY[this.mode];
    let failures = 0;
    while (!this.#closed) {
      await sleep(PROBE_MS);
      const { process } = pod;
      if (process === undefined || !(pod.answers || pod.frozen || pod.isSentinel)) continue;
      const isReady = !pod.frozen && (await this.#runScript(pod, script, [], PROBE_TIMEOUT_MS));
      failures = isReady ? 0 : failures + 1;
      if (pod.process === process) pod.ready = isReady || (pod.ready && failures < 2);
    }
  }

  async #runScript(pod: Pod, script: string, more: readonly string[], timeoutMs: number): Promise<boolean> {
    const [args, env] = this.#command(pod, script, more);
    const child = spawn("/bin/sh", args, { env, cwd: join(pod.directory, "data"), stdio: "ignore", detached: true });
    pod.probe = child;
    const timer = setTimeout(() => child.pid !== undefined && sendSignal(-child.pid, "SIGKILL"), timeoutMs);
    const code = await new Promise((done) => child.once("close", done).once("error", done));
    clearTimeout(timer);
    return code === 0;
  }

  async #lookAgainAndAgain(pod: Pod): Promise<void> {
    while (!this.#closed) {
      await sleep(LOOK_MS);
      const { process } = pod;
      if (process === undefined || pod.frozen) continue;
      const file = appendOnlyFile(pod.directory);
      // A rewrite may have removed it meanwhile.
      const size = file === undefined ? undefined : statSync(file, { throwIfNoEntry: false })?.size;
      if (file !== undefined && size !== undefined) pod.sizes = [...pod.sizes.slice(-20), { at: this.now, file, size }];
      const role = await this.call(pod, "ROLE").catch(() => undefined);
      if (Array.isArray(role) && pod.process === process) this.#looked(pod, String(role[0]));
    }
  }

  #looked(pod: Pod, role: string): void {
    if (pod.frozen) return;
    const { name } = pod.node;
    const at = this.now;
    if (!pod.answers) {
      this.#judgeWait(pod);
      this.#record({ kind: "answers", at, server: name });
      this.note(`${name} answers as ${role}`);
    } else if (role !== pod.role) {
      if (role === "master") this.#record({ kind: "promoted", at, server: name, byHand: false });
      this.note(`${name} becomes ${role}`);
    }
    Object.assign(pod, { answers: true, role, startedAt: 0 });
  }

  /** The pod to which clients are led as the primary; undefined if they find none. */
  async leader(): Promise<Pod | undefined> {
    const named = await this.#named();
    for (const pod of named) {
      const role = await this.call(pod, "ROLE").catch(() => undefined);
      if (Array.isArray(role) && role[0] === "master") return pod;
    }
    return undefined;
  }

  async #named(): Promise<Pod[]> {
    switch (this.mode) {
      case "replication":
        return this.shard.filter(({ node, ready }) => node.name === this.#designated && ready);
      case "cluster":
        return [...this.shard].sort((a, b) => Number(b.role === "master") - Number(a.role === "master"));
      case "sentinels": {
        for (const sentinel of this.pods.filter(({ isSentinel, frozen }) => isSentinel && !frozen)) {
          const found = await this.call(sentinel, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME).catch(() => undefined);
          if (Array.isArray(found)) return this.shard.filter(({ node }) => node.endpoint.host === found[0]);
        }
        return [];
      }
    }
  }

  /** Writes keys as a client does. @param wait replicas to wait for. @returns acknowledged keys and replicas that confirmed them */
  async write(keys: readonly string[], wait: number): Promise<{ acknowledged: string[]; replicas: number }> {
    let acknowledged: string[] = [];
    let replicas = 0;
    for (const pod of await this.#named()) {
      if (pod.frozen) continue;
      const send = async (connection: Connection): Promise<void> => {
        const replies = await Promise.allSettled(keys.map((key) => connection.set(`${tag(this.mode)}${key}`, "v")));
        acknowledged = keys.filter((_, index) => replies[index]?.status === "fulfilled");
        if (acknowledged.length > 0 && wait > 0) replicas = await connection.wait(wait, 1000).catch(() => 0);
      };
      await this.#with(pod.node.endpoint, send).catch(() => undefined);
      if (acknowledged.length === 0) continue;
      const told = acknowledged.filter((key) => key !== PROBE_KEY);
      this.#record({ kind: "acknowledged", at: this.now, server: pod.node.name, keys: told, replicas });
      return { acknowledged, replicas };
    }
    return { acknowledged, replicas };
  }

  async promote(pod: Pod): Promise<void> {
    const command: [string, ...string[]] =
      this.mode === "cluster" ? ["CLUSTER", "FAILOVER", "TAKEOVER"] : ["REPLICAOF", "NO", "ONE"];
    await this.call(pod, ...command).catch((error: unknown) => {
      this.note(messageOf(error));
    });
    this.#record({ kind: "promoted", at: this.now, server: pod.node.name, byHand: this.mode === "cluster" });
  }

  /** Notes what every server that answers has. @returns the keys of each */
  async observe(): Promise<ReadonlyMap<Pod, ReadonlySet<string>>> {
    const found = new Map<Pod, ReadonlySet<string>>();
    const look = async (pod: Pod): Promise<void> => {
      const list = await this.call(pod, "KEYS", "*").catch(() => undefined);
      if (!Array.isArray(list) || pod.frozen || !pod.answers) return;
      const keys = new Set(list.flatMap((key) => String(key).match(KEY) ?? []));
      found.set(pod, keys);
      this.#record({ kind: "has", at: this.now, server: pod.node.name, keys });
    };
    await Promise.all(this.shard.filter(({ frozen, answers }) => answers && !frozen).map(look));
    return found;
  }

  /** The Service leads to the designated primary of a replication, and to any node of a cluster, if it is ready. */
  #lead(socket: Socket): void {
    const ready = this.servers.filter(
      ({ node, ready: isReady }) => isReady && (this.mode === "cluster" || node.name === this.#designated),
    );
    const target = ready[randomInt(Math.max(1, ready.length))];
    socket.on("error", () => undefined);
    if (target === undefined) return void socket.destroy();
    const localAddress = socket.remoteAddress;
    const led = connectSocket({ ...target.node.endpoint, ...(localAddress === undefined ? {} : { localAddress }) });
    led.on("error", () => socket.destroy()).on("close", () => socket.destroy());
    socket.on("close", () => led.destroy());
    socket.pipe(led);
    led.pipe(socket);
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const pod of this.pods) Object.assign(pod, { wanted: false });
    this.#service.close();
    for (const pod of this.pods) this.#signal(pod, "SIGKILL");
    for (const { process } of this.pods) await process?.ended;
    await stopRun(this.#run.path);
    this.#scripts.close();
  }
}

/** Path of the append-only file to which a server appends now. */
function appendOnlyFile(directory: string): string | undefined {
  const files = join(directory, "data", "appendonlydir");
  try {
    const manifest = readFileSync(join(files, "appendonly.aof.manifest"), "utf8");
    const name = /^file (\S+) seq \d+ type i/m.exec(manifest.split("\n").reverse().join("\n"))?.[1];
    return name === undefined || !existsSync(join(files, name)) ? undefined : join(files, name);
  } catch {
    return undefined;
  }
}

/** Keys in the files of a server. Names of keys stand in all of them as they are. */
function keysOnDisk(data: string): ReadonlySet<string> {
  const files = join(data, "appendonlydir");
  // Until a rewrite ends, what is written since then is in a temporary file, which a start does not load.
  const names = existsSync(files) ? readdirSync(files).filter((name) => !name.startsWith("temp-")) : [];
  const paths = existsSync(files) ? names.map((name) => join(files, name)) : [join(data, "dump.rdb")];
  return new Set(
    paths.filter((path) => existsSync(path)).flatMap((path) => readFileSync(path, "latin1").match(KEY) ?? []),
  );
}
