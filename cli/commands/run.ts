/** `npm start`: deploys, verifies and measures a stack of the platform `host`, and writes its report. */
import { totalmem } from "node:os";
import { BadInput, messageOf } from "../../lib/errors";
import type { Mode } from "../../valkey/node";
import type { Deployment } from "../../valkey/deployment";
import { Host } from "../../platforms/host/host";
import type { Programs } from "../../platforms/host/programs/programs";
import { findPrograms } from "../../platforms/host/programs/programs";
import { RunDirectory, stopAbandonedRuns } from "../../platforms/host/run-directory";
import { availableCores } from "../../platforms/host/cpu";
import { measureAll } from "../../benchmarks/run/measure-all";
import { formatObjective } from "../../benchmarks/capacity/objective";
import type { CapacitySearch } from "../../benchmarks/capacity/measure-capacity";
import type { BenchmarkPlan } from "../../benchmarks/run/measure-all";
import { allRunsDirectories, packagesDirectory, runsDirectory } from "../../lib/system/paths";
import { mixedLoadDrivers, assertLoadGeneratorsInstalled } from "../../benchmarks/measuring/mixed-load-drivers";
import { LocalValkeyBenchmarkDriver } from "../../benchmarks/load/valkey-benchmark/local-driver";
import { LocalOpenLoopDriver } from "../../benchmarks/load/open-loop/local-driver";
import { renderReport } from "../../benchmarks/report/page";
import { Artifacts, shortPath, timestampOf } from "../../benchmarks/run/artifacts";
import { ResultsCollector } from "../../benchmarks/run/collector";
import { nodeCount } from "../../valkey/topology/placement";
import { detectFeatures } from "../../benchmarks/load/valkey-benchmark/features";
import type { Verification } from "../../valkey/verification/verify";
import { verify } from "../../valkey/verification/verify";
import type { OptionOverrides } from "../../stacks/config/sections/option-overrides";
import { parseConfig } from "../../stacks/config/parse";
import { print } from "../terminal/terminal";
import { STACKS_DIRECTORY } from "../../stacks/config/sections/paths";
import {
  configuredCapacitySearch,
  fittedWorkload,
  hostPlans,
  configuredMixedWorkloads,
} from "../../stacks/plan/benchmark-plans";
import type { HostStackConfig } from "../../stacks/config/schema/stack";
import { readStackFile } from "../../stacks/config/sections/stack-file";
import { runSteps, StepFailure } from "../terminal/steps";
import type { Step } from "../terminal/steps";
import type { CapacityOptions } from "./capacity";
import { requestedCapacitySearch, capacityStep } from "./capacity";
import {
  connectCommand,
  stopAndWrite,
  measuredNames,
  measuredTitle,
  printFailures,
  printResults,
  formatRounds,
} from "./run-output";
import { COMMAND, IS_PACKAGE } from "../../lib/system/package";

/** Options of `run` and `capacity`. */
export interface RunOptions {
  readonly stack: string;
  readonly overrides: OptionOverrides;
  /** Mode of the deployments to run; undefined to run the deployments of all modes. */
  readonly mode: string | undefined;
  /** Options of the search for capacities. If set, the search replaces the stack's measurements. */
  readonly capacity?: CapacityOptions | undefined;
}

/**
 * Runs a stack.
 * @returns 0 when every deployment passed verification and was measured, 1 when a deployment failed verification
 * @throws BadInput, Failure, Interrupted. Before it throws, it stops servers and writes partial results
 */
export async function runStack(options: RunOptions, interruption: AbortSignal): Promise<number> {
  const config = readConfig(options);
  const capacity = options.capacity === undefined ? undefined : requestedCapacitySearch(config, options.capacity);
  const timestamp = timestampOf(new Date());
  const artifacts = Artifacts.open(process.cwd(), timestamp, config.benchmark.output, renderReport);
  const collector = new ResultsCollector(artifacts, { timestamp, stack: options.stack, configuration: config });
  const run = new StackRun(config, { ...options, capacity }, collector, interruption);
  let reason: string | null = null;
  try {
    await run.execute();
    if (!run.passed) reason = "verification failed; nothing was measured";
  } catch (error) {
    // If a server exited, its exit is reported, because it explains the failure better than connection errors.
    const cause = run.serverFailure ?? error;
    reason = messageOf(cause);
    throw cause;
  } finally {
    await stopAndWrite(
      () => run.stop(),
      collector,
      artifacts,
      reason,
      (results) => {
        if (reason === null || !run.passed) printFailures(run.verifications);
        if (reason === null) printResults(results, run.verifications, artifacts);
        else print("", `Partial results (marked incomplete): ${shortPath(artifacts.directory)}`);
      },
    );
  }
  run.printKept();
  return run.passed ? 0 : 1;
}

/** Reads the configuration of a stack. @throws BadInput when the stack, its file or the options cannot be used */
function readConfig({ stack, overrides, mode }: RunOptions): HostStackConfig {
  const machine = { cores: availableCores(), memoryBytes: totalmem() };
  if (mode !== undefined && mode !== "cluster" && mode !== "replication")
    throw BadInput.of("--mode", "unknown-mode", `is ${mode}: expected cluster or replication`);
  const raw = readStackFile(STACKS_DIRECTORY, stack);
  // Deployments that are left out are removed before validation, so the load need not suit them.
  const parsed = parseConfig(
    `stack ${stack}`,
    mode === undefined ? raw : onlyMode(raw, mode, stack),
    machine,
    overrides,
  );
  const { platform } = parsed;
  if (platform.type !== "host")
    throw BadInput.of(
      `stack ${stack}`,
      "other-platform",
      `its platform is ${platform.type}, but this command deploys only to the platform host; use npx pulumi up -s ${stack}${IS_PACKAGE ? " in a checkout" : ""}`,
    );
  assertLoadGeneratorsInstalled(configuredMixedWorkloads(parsed));
  return { ...parsed, platform };
}

function onlyMode(raw: Readonly<Record<string, unknown>>, mode: Mode, stack: string): Record<string, unknown> {
  const { deployments } = raw;
  const wanted = Object.entries(typeof deployments === "object" && deployments !== null ? deployments : {}).filter(
    ([, each]: [string, unknown]) => typeof each === "object" && each !== null && "mode" in each && each.mode === mode,
  );
  if (wanted.length === 0)
    throw BadInput.of("--mode", "no-deployment", `stack ${stack} has no deployment in ${mode} mode`);
  return { ...raw, deployments: Object.fromEntries(wanted) };
}

/** One run: its servers, verifications and results so far. */
class StackRun {
  readonly verifications: Verification[] = [];
  readonly #deployments: Deployment[] = [];
  readonly #formation = new Map<string, number>();
  #host: Host | undefined;

  constructor(
    private readonly config: HostStackConfig,
    private readonly options: Omit<RunOptions, "capacity"> & { readonly capacity: CapacitySearch | undefined },
    private readonly collector: ResultsCollector,
    private readonly interruption: AbortSignal,
  ) {}

  get passed(): boolean {
    return this.verifications.length > 0 && this.verifications.every(({ verdict }) => verdict.pass);
  }

  /** Error of a server that exited by itself. */
  get serverFailure(): Error | undefined {
    const reason: unknown = this.#host?.unexpectedExit.reason;
    return !this.interruption.aborted && reason instanceof Error ? reason : undefined;
  }

  async execute(): Promise<void> {
    await runSteps([this.#prepare(), this.#start(), this.#form(), this.#verify()]);
    if (this.passed)
      await runSteps([
        this.options.capacity === undefined ? this.#measure() : this.#findCapacity(this.options.capacity),
      ]);
  }

  async stop(): Promise<void> {
    if (this.#host === undefined) return;
    const host = this.#host;
    if (this.config.benchmark.keep && !this.#signal().aborted && this.#deployments.length > 0) {
      host.run.keep();
      return;
    }
    await runSteps([{ title: "Stop the servers", run: () => host.stop().then(() => undefined) }]);
  }

  /** Prints how to connect to kept deployments, and how to stop them. */
  printKept(): void {
    const host = this.#host;
    if (host?.run.kept !== true) return;
    print("", "The deployments keep running. To connect:");
    print(...this.#deployments.flatMap((deployment) => connectCommand(host, deployment)));
    print("To stop them:", `  ${COMMAND} stop ${host.run.id}`);
  }

  #signal(): AbortSignal {
    return this.#host === undefined
      ? this.interruption
      : AbortSignal.any([this.interruption, this.#host.unexpectedExit]);
  }

  #ready(): Host {
    if (this.#host === undefined) throw new Error("the servers have not been prepared");
    return this.#host;
  }

  #prepare(): Step {
    return {
      title: "Find Valkey",
      run: async (report) => {
        const ended = await stopAbandonedRuns(...allRunsDirectories());
        if (ended > 0) report(`stopped ${ended} processes that a killed run had left`);
        const programs: Programs = await findPrograms(packagesDirectory(), report, this.interruption);
        this.collector.setPrograms(programs);
        this.#host = new Host(RunDirectory.create(runsDirectory(), this.options.stack), programs);
        return `Valkey ${programs.version} from ${programs.source}${ended > 0 ? `; stopped ${ended} processes of a killed run` : ""}`;
      },
    };
  }

  #start(): Step {
    const plans = hostPlans(this.config.platform, this.config);
    const servers = plans.reduce((sum, { shape }) => sum + nodeCount(shape), 0);
    return {
      title: `Start ${servers} servers in ${this.config.platform.zones.length} zones`,
      run: async () => {
        const host = this.#ready();
        this.#deployments.push(...(await Promise.all(plans.map((plan) => host.start(plan, this.#signal())))));
        return `${servers} servers run in ${this.config.platform.zones.length} zones`;
      },
    };
  }

  #form(): Step {
    const plans = hostPlans(this.config.platform, this.config);
    return {
      title: `Form ${plans.map(({ name }) => name).join(" and ")}`,
      run: async (report) => {
        const signal = this.#signal();
        await Promise.all(
          this.#deployments.map(async (deployment) => {
            const shape = plans.find(({ name }) => name === deployment.name)?.shape;
            if (shape === undefined) throw new Error(`there is no plan for the deployment ${deployment.name}`);
            const result = await this.#ready().form(deployment, shape, { signal, report });
            this.#formation.set(deployment.name, result.milliseconds);
          }),
        );
        signal.throwIfAborted();
        return `Formed ${[...this.#formation].map(([name, ms]) => `${name} in ${(ms / 1000).toFixed(1)} s`).join(", ")}`;
      },
    };
  }

  #verify(): Step {
    return {
      title: "Verify",
      run: async () => {
        const verifications = await Promise.all(this.#deployments.map((deployment) => verify(deployment)));
        this.#signal().throwIfAborted();
        for (const verification of verifications)
          this.collector.addTopology(verification, this.#formation.get(verification.facts.deployment) ?? null);
        this.verifications.push(...verifications);
        const line = `Verified ${verifications.map(({ verdict }) => `${verdict.deployment}: ${verdict.pass ? "PASS" : "FAIL"}`).join(", ")}`;
        if (!this.passed) throw new StepFailure(line);
        return line;
      },
    };
  }

  #findCapacity(wanted: CapacitySearch): Step {
    return capacityStep({
      wanted,
      deployments: () =>
        this.#verified().map(({ deployment, verification }) => ({ deployment, shards: verification.verdict.shards })),
      runners: async () => ({
        valkeyBenchmark: await this.#runner(),
        openLoop: new LocalOpenLoopDriver({ run: this.#ready().run, serversHere: true }),
        signal: this.#signal(),
      }),
      collector: this.collector,
    });
  }

  async #runner(): Promise<LocalValkeyBenchmarkDriver> {
    const {
      run,
      programs: { benchmark },
    } = this.#ready();
    return new LocalValkeyBenchmarkDriver({
      run,
      benchmark,
      features: await detectFeatures(benchmark),
      serversHere: true,
    });
  }

  #verified(): BenchmarkPlan["verified"] {
    return this.#deployments.flatMap((deployment) => {
      const verification = this.verifications.find(({ facts }) => facts.deployment === deployment.name);
      return verification === undefined ? [] : [{ deployment, verification }];
    });
  }

  #measure(): Step {
    const workload = fittedWorkload(this.config);
    const mixes = configuredMixedWorkloads(this.config);
    const capacity = configuredCapacitySearch(this.config);
    return {
      title: `Measure ${measuredNames({ workload, mixedWorkloads: mixes })}: ${formatRounds(this.config.benchmark.repeats)}${capacity === undefined ? "" : `, and the highest load at which ${formatObjective(capacity.objective)}`}`,
      run: async (report) => {
        const host = this.#ready();
        const plan: BenchmarkPlan = {
          verified: this.#verified(),
          workload,
          mixedWorkloads: mixes,
          repeats: this.config.benchmark.repeats,
          capacity,
        };
        if (this.config.capacity !== undefined && capacity === undefined)
          report("skipped the search for capacity: with these options, no open-loop workload remains");
        const began = Date.now();
        await measureAll(
          plan,
          { valkeyBenchmark: await this.#runner(), ...mixedLoadDrivers(host.run, true, mixes), signal: this.#signal() },
          this.collector,
          report,
        );
        this.#signal().throwIfAborted();
        if (workload.tests.length > 0 && workload.keySpace !== this.config.benchmark.keySpace)
          report(
            `used ${workload.keySpace} keys instead of ${this.config.benchmark.keySpace}, because a cluster needs a multiple of 16384`,
          );
        return measuredTitle(plan, Date.now() - began);
      },
    };
  }
}
