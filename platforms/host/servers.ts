import { closeSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { compact } from "../../lib/compact";
import { connect } from "../../valkey/connection";
import { Failure } from "../../lib/errors";
import { holdsInTime } from "../../lib/polling";
import { parseInfo } from "../../valkey/topology/replies";
import { identifyProcess, signalProcess } from "../../lib/system/process-identity";
import { findFreePorts } from "./ports";
import { type ProcessExit, type RunningProcess, formatExit, pinnedCommand, startRecorded } from "./processes";
import type { Programs } from "./programs/programs";
import type { RunDirectory } from "./run-directory";
import { mountDisk } from "./side-effects";
import { type ServerPlan, serverConfig } from "./server-config";
import { withConnection } from "../../valkey/connections";

export interface ServerProcess {
  readonly plan: ServerPlan;
  readonly port: number;
  readonly busPort: number | undefined;
  readonly directory: string;
  /** Directory with the server's data: either `directory`, or a file system that is mounted in `directory`. */
  readonly dataDirectory: string;
  readonly process: RunningProcess;
}

export interface ServerStart {
  readonly plan: ServerPlan;
  readonly ports?: readonly [port: number, busPort: number] | undefined;
}

const PORT_ATTEMPTS = 5;
const START_TIMEOUT_MS = 30_000;
const STOP_GRACE_MS = 2000;

/**
 * A server gets a different port if its own is taken before it binds it.
 * @param onExit called when a server ends later, for any reason
 * @throws Failure when one ends or does not answer in time; the others run until the run is stopped
 */
export async function startServers(
  run: RunDirectory,
  programs: Programs,
  wanted: readonly ServerStart[],
  onExit: (server: ServerProcess, exit: ProcessExit) => void,
  signal: AbortSignal,
): Promise<ServerProcess[]> {
  const free = await findFreePorts(wanted.length * 2);
  const servers = await Promise.all(
    wanted.map(({ plan, ports }, i) =>
      startServer(run, programs, plan, ports ?? [free[2 * i] ?? 0, free[2 * i + 1] ?? 0], signal),
    ),
  );
  for (const server of servers)
    void server.process.ended.then((exit) => {
      onExit(server, exit);
    });
  return servers;
}

async function startServer(
  run: RunDirectory,
  programs: Programs,
  plan: ServerPlan,
  firstPorts: readonly number[],
  signal: AbortSignal,
): Promise<ServerProcess> {
  const directory = run.nodeDirectory(plan.deployment, plan.name);
  const dataDirectory =
    plan.diskBytes === undefined ? directory : await mountDisk(run, join(directory, "data"), plan.diskBytes);
  let ports = firstPorts;
  for (let attempt = 1; ; attempt++) {
    signal.throwIfAborted();
    const [port = 0, busPort = 0] = ports;
    const server = launch(run, programs, plan, { directory, dataDirectory }, port, busPort);
    const exit = await acceptsConnections(server, signal);
    if (exit === undefined) return server;
    if (attempt >= PORT_ATTEMPTS || !/Address already in use|Failed listening on port/.test(logTail(server)))
      throw unexpectedExitFailure(server, exit);
    ports = await findFreePorts(2);
  }
}

function launch(
  run: RunDirectory,
  programs: Programs,
  plan: ServerPlan,
  places: Pick<ServerProcess, "directory" | "dataDirectory">,
  port: number,
  busPort: number,
): ServerProcess {
  const { directory } = places;
  const config = join(directory, "valkey.conf");
  for (const file of ["log", "output"]) rmSync(join(directory, file), { force: true });
  // A Sentinel keeps its state in its configuration file. If its port is unchanged, it continues with that file.
  if (plan.sentinel !== true || !keepsPort(config, port))
    writeFileSync(
      config,
      serverConfig(plan, { directory, dataDirectory: places.dataDirectory, port, busPort }, programs),
      { mode: 0o600 },
    );
  const output = openSync(join(directory, "output"), "a", 0o600);
  try {
    const [command, ...args] = pinnedCommand(
      plan.cpus,
      programs.server,
      compact([config, plan.sentinel === true ? "--sentinel" : undefined]),
    );
    const process = startRecorded(run, plan.name, command, args, { cwd: directory, stdio: ["ignore", output, output] });
    return { plan, port, busPort: plan.cluster ? busPort : undefined, ...places, process };
  } finally {
    closeSync(output);
  }
}

function keepsPort(config: string, port: number): boolean {
  try {
    return readFileSync(config, "utf8").split("\n").includes(`port ${port}`);
  } catch {
    return false;
  }
}

async function acceptsConnections(server: ServerProcess, signal: AbortSignal): Promise<ProcessExit | undefined> {
  let exit: ProcessExit | undefined;
  void server.process.ended.then((ended) => (exit = ended));
  const isDecided = async (): Promise<boolean> => (await answers(server)) || exit !== undefined;
  if (await holdsInTime(isDecided, { timeoutMs: START_TIMEOUT_MS, intervalMs: 10, signal })) return exit;
  const { plan, port } = server;
  throw new Failure(
    `${plan.name} does not answer on port ${port} after ${START_TIMEOUT_MS / 1000} s${quoteLog(server)}`,
  );
}

/** A different program may have taken the port. */
async function answers({ plan, port, process }: ServerProcess): Promise<boolean> {
  try {
    const opening = connect(plan.name, { host: plan.host, port }, { password: plan.password });
    const info = await withConnection(opening, (connection) => connection.info("server"));
    return parseInfo(info).get("process_id") === String(process.pid);
  } catch {
    return false;
  }
}

/** SIGTERM, and SIGKILL after a grace period. @returns when the server has ended */
export async function stopServer({ process }: Pick<ServerProcess, "process">): Promise<void> {
  const identity = identifyProcess(process.pid);
  if (identity === undefined) return;
  signalProcess(identity, "SIGTERM");
  const kill = setTimeout(() => {
    signalProcess(identity, "SIGKILL");
  }, STOP_GRACE_MS);
  await process.ended;
  clearTimeout(kill);
}

export function unexpectedExitFailure(server: ServerProcess, exit: ProcessExit): Failure {
  const { plan, port, process } = server;
  const which = `${plan.name} (port ${port}, pid ${process.pid})`;
  return new Failure(`${which} exited unexpectedly: ${formatExit(exit)}${quoteLog(server)}`);
}

function quoteLog(server: ServerProcess): string {
  const lines = logTail(server).trim().split("\n").slice(-5);
  return lines.length === 0 || lines[0] === ""
    ? ""
    : `; the last lines of its log:\n${lines.map((line) => `    ${line}`).join("\n")}`;
}

/** The server prints to its output until it opens its log. */
function logTail(server: ServerProcess): string {
  return ["output", "log"].map((name) => readTail(join(server.directory, name))).join("");
}

function readTail(file: string): string {
  try {
    return readFileSync(file, "utf8").slice(-4000);
  } catch {
    return "";
  }
}
