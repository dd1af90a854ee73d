/** valkey-server processes on this machine: started together, known to be up, watched, each with a directory of its own. */
import { closeSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "../../valkey/connection";
import { Failure } from "../../lib/errors";
import { holdsInTime } from "../../lib/polling";
import { parseInfo } from "../../valkey/topology/info";
import { identifyProcess, signalProcess } from "../../lib/process-identity";
import { findFreePorts } from "./ports";
import type { ProcessExit, RunningProcess } from "./processes";
import { formatExit, pinnedCommand, startRecorded } from "./processes";
import type { Programs } from "./programs";
import type { RunDirectory } from "./run-directory";
import { mountDisk } from "./side-effects";
import type { ServerPlan } from "./server-config";
import { serverConfig } from "./server-config";

export interface ServerProcess {
  readonly plan: ServerPlan;
  readonly port: number;
  readonly busPort: number | undefined;
  readonly directory: string;
  /** Where its data are: the directory, or the file system in it. */
  readonly dataDirectory: string;
  readonly process: RunningProcess;
}

/** A server as it was, with the ports it shall have again where that matters. */
export interface ServerStart {
  readonly plan: ServerPlan;
  /** @default free ones */
  readonly ports?: readonly [port: number, busPort: number] | undefined;
}

/** How often a server may find its port taken before that is an error. */
const PORT_ATTEMPTS = 5;
const START_TIMEOUT_MS = 30_000;
const STOP_GRACE_MS = 2000;

/**
 * Starts servers side by side and returns when every one accepts connections. A server whose port was
 * taken meanwhile gets another.
 * @param onDeath called when one of them ends later on without being told to
 * @throws Failure when a server ends or stays silent; the others then still run and are the run's to stop
 */
export async function startServers(
  run: RunDirectory,
  programs: Programs,
  wanted: readonly ServerStart[],
  onDeath: (server: ServerProcess, exit: ProcessExit) => void,
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
      onDeath(server, exit);
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

type Places = Pick<ServerProcess, "directory" | "dataDirectory">;

function launch(
  run: RunDirectory,
  programs: Programs,
  plan: ServerPlan,
  places: Places,
  port: number,
  busPort: number,
): ServerProcess {
  const { directory } = places;
  const config = join(directory, "valkey.conf");
  for (const file of ["log", "output"]) rmSync(join(directory, file), { force: true });
  // A Sentinel keeps what it knows in its file: at the same place it goes on from there.
  if (plan.sentinel !== true || !keepsPort(config, port))
    writeFileSync(
      config,
      serverConfig(plan, { directory, dataDirectory: places.dataDirectory, port, busPort }, programs),
      { mode: 0o600 },
    );
  const output = openSync(join(directory, "output"), "a", 0o600);
  try {
    const [command, ...args] = pinnedCommand(plan.cpus, programs.server, [
      config,
      ...(plan.sentinel === true ? ["--sentinel"] : []),
    ]);
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

/** Waits until the server answers; returns how it ended if it does that instead. */
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

/** Whether it is this very process that answers on the port: another program may have taken it. */
async function answers({ plan, port, process }: ServerProcess): Promise<boolean> {
  try {
    const connection = await connect(plan.name, { host: plan.host, port }, { password: plan.password });
    try {
      return parseInfo(await connection.info("server")).get("process_id") === String(process.pid);
    } finally {
      connection.disconnect();
    }
  } catch {
    return false;
  }
}

/** Ends a server, by SIGTERM and after a grace period by SIGKILL, and returns when it has ended. */
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

/** A failure that names the server, how it ended and the last it logged. */
export function unexpectedExitFailure(server: ServerProcess, exit: ProcessExit): Failure {
  return new Failure(
    `${server.plan.name} (port ${server.port}, pid ${server.process.pid}) ended by itself: ${formatExit(exit)}${quoteLog(server)}`,
  );
}

function quoteLog(server: ServerProcess): string {
  const lines = logTail(server).trim().split("\n").slice(-5);
  return lines.length === 0 || lines[0] === ""
    ? ""
    : `; the last it said:\n${lines.map((line) => `    ${line}`).join("\n")}`;
}

/** The end of the log, then of what was printed before there was a log. */
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
