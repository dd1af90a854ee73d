import { allRunsDirectories, packagesDirectory, runsDirectory } from "../../lib/system/paths";
import type { ReportProgress } from "../../lib/progress";
import { Host } from "../../platforms/host/host";
import { type Programs, findPrograms } from "../../platforms/host/programs/programs";
import { RunDirectory, stopAbandonedRuns } from "../../platforms/host/run-directory";
import type { Deployment } from "../../valkey/deployment";
import { formatEndpoint } from "../../valkey/node";
import { runSteps } from "../terminal/steps";

const quiet = (): void => undefined;

/** Stops the processes that killed runs have left before it looks for the programs. */
export async function findServerPrograms(
  signal: AbortSignal,
  report: ReportProgress = quiet,
  onStopped: (processes: number) => void = quiet,
): Promise<Programs> {
  onStopped(await stopAbandonedRuns(...allRunsDirectories()));
  return findPrograms(packagesDirectory(), report, signal);
}

export class LocalServers {
  #host: Host | undefined;

  constructor(readonly interruption: AbortSignal) {}

  create(name: string, programs: Programs): Host {
    return this.adopt(new Host(RunDirectory.create(runsDirectory(), name), programs));
  }

  adopt(host: Host): Host {
    this.#host = host;
    return host;
  }

  get host(): Host {
    if (this.#host === undefined) throw new Error("the servers have not been prepared");
    return this.#host;
  }

  get openHost(): Host | undefined {
    return this.#host;
  }

  get loadGenerators(): { readonly run: RunDirectory; readonly benchmark: string } {
    const { run, programs } = this.host;
    return { run, benchmark: programs.benchmark };
  }

  get signal(): AbortSignal {
    return AbortSignal.any([this.interruption, ...(this.#host === undefined ? [] : [this.#host.unexpectedExit])]);
  }

  /** After an interruption, and after the exit of a server, other errors are only consequences. */
  readonly causeOf = (error: unknown): unknown => {
    if (this.interruption.aborted) return this.interruption.reason;
    const exit: unknown = this.#host?.unexpectedExit.reason;
    return exit instanceof Error ? exit : error;
  };

  readonly stop = async (): Promise<void> => {
    const host = this.#host;
    if (host !== undefined)
      await runSteps([{ title: "Stop the servers", run: () => host.stop().then(() => undefined) }]);
  };
}

export function connectCommand(host: Host, { name, mode, nodes }: Deployment): string[] {
  const [first] = nodes;
  if (first === undefined) return [];
  const cluster = mode === "cluster" ? "-c " : "";
  const addresses = nodes.map(({ endpoint }) => formatEndpoint(endpoint)).join(" ");
  return [
    `  VALKEYCLI_AUTH=$(cat ${host.passwordFile(name)}) ${host.programs.cli} ${cluster}-p ${first.endpoint.port}   # ${name}: ${addresses}`,
  ];
}
