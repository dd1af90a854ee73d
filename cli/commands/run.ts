import { BadInput } from "../../lib/errors";
import { counted } from "../../lib/units";
import type { Mode } from "../../valkey/node";
import type { Deployment } from "../../valkey/deployment";
import type { Host } from "../../platforms/host/host";
import type { HostDeploymentPlan } from "../../platforms/host/deployment-plan";
import { keepRun, referenceTo } from "../../platforms/kept-deployments";
import { findCapacities, type BenchmarkPlan } from "../../benchmarks/run/measure-all";
import { formatObjective } from "../../benchmarks/capacity/objective";
import type { CapacitySearch } from "../../benchmarks/capacity/measure-capacity";
import { localLoadDrivers, assertLoadGeneratorsInstalled } from "../../benchmarks/measuring/local-load-drivers";
import { detectFeatures } from "../../benchmarks/load/valkey-benchmark/arguments";
import { assertRunnerSupports } from "../../benchmarks/measuring/runner-support";
import type { ResultsCollector } from "../../benchmarks/run/collector";
import { nodeCount } from "../../valkey/topology/placement";
import { type Verification, verify } from "../../valkey/verification/verify";
import type { OptionOverrides } from "../../stacks/config/sections/option-overrides";
import { print } from "../terminal/terminal";
import {
  configuredCapacitySearch,
  fittedWorkload,
  hostPlans,
  configuredMixedWorkloads,
} from "../../stacks/plan/benchmark-plans";
import type { HostStackConfig } from "../../stacks/config/schema/stack";
import { connectCommand, findServerPrograms, LocalServers } from "../running/local-servers";
import { havePassed, runWithResults } from "../running/run-to-end";
import { readStack, requireHost } from "../running/stack-config";
import { runSteps, StepFailure, type Step } from "../terminal/steps";
import { type CapacityOptions, requestedCapacitySearch } from "./capacity";
import { measureStep } from "./measure";
import { COMMAND, IS_PACKAGE } from "../../lib/system/package";

export interface RunOptions {
  readonly stack: string;
  readonly overrides: OptionOverrides;
  readonly mode: string | undefined;
  /** If set, the search replaces the stack's measurements. */
  readonly capacity?: CapacityOptions | undefined;
}

/** @returns 0 when every deployment passed verification and was measured, 1 when a deployment failed verification */
export async function runStack(options: RunOptions, interruption: AbortSignal): Promise<number> {
  const { stack } = options;
  const config = readConfig(options);
  const capacity = options.capacity && requestedCapacitySearch(config, options.capacity);
  const servers = new LocalServers(interruption);
  const deployments: Deployment[] = [];
  const status = await runWithResults(
    { stack, configuration: config, output: config.benchmark.output },
    servers.causeOf,
    (collector) => new StackRun(stack, config, capacity, { servers, deployments, collector }),
  );
  printKept(servers.openHost, deployments);
  return status;
}

function printKept(host: Host | undefined, deployments: readonly Deployment[]): void {
  if (host?.run.kept !== true) return;
  print("", "The deployments keep running. To connect:");
  print(...deployments.flatMap((deployment) => connectCommand(host, deployment)));
  const actions = ["verify", "watch", "stop"] as const;
  print(...actions.flatMap((action) => [`To ${action} them:`, `  ${COMMAND} ${action} ${host.run.id}`]));
}

function readConfig({ stack, overrides, mode }: RunOptions): HostStackConfig {
  if (mode !== undefined && mode !== "cluster" && mode !== "replication")
    throw BadInput.of("--mode", "unknown-mode", `is ${mode}: expected cluster or replication`);
  // Deployments that are left out are removed before validation, so the load need not suit them.
  const parsed = readStack(stack, (raw) => (mode === undefined ? raw : onlyMode(raw, mode, stack)), overrides);
  const config = requireHost(
    stack,
    parsed,
    `, but this command deploys only to the platform host; use npx pulumi up -s ${stack}${IS_PACKAGE ? " in a checkout" : ""}`,
  );
  assertLoadGeneratorsInstalled(configuredMixedWorkloads(config));
  return config;
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

interface RunContext {
  readonly servers: LocalServers;
  readonly deployments: Deployment[];
  readonly collector: ResultsCollector;
}

class StackRun {
  readonly verifications: Verification[] = [];
  readonly #formation = new Map<string, number>();
  readonly #plans: readonly HostDeploymentPlan[];

  constructor(
    private readonly stack: string,
    private readonly config: HostStackConfig,
    private readonly capacity: CapacitySearch | undefined,
    private readonly context: RunContext,
  ) {
    this.#plans = hostPlans(config.platform, config);
  }

  async execute(): Promise<void> {
    await runSteps([this.#prepare(), this.#start(), this.#form(), this.#verify()]);
    if (havePassed(this.verifications))
      await runSteps([this.capacity === undefined ? this.#measure() : this.#findCapacity(this.capacity)]);
  }

  async stop(): Promise<void> {
    const { servers, deployments } = this.context;
    if (!this.config.benchmark.keep || servers.signal.aborted || deployments.length === 0) return servers.stop();
    const { run } = servers.host;
    const targets = this.#plans.flatMap(({ name, shape }) =>
      deployments.filter((each) => each.name === name).map((each) => referenceTo(each, shape)),
    );
    keepRun(run, targets);
  }

  #prepare(): Step {
    const { servers, collector } = this.context;
    return {
      title: "Find Valkey",
      run: async (report) => {
        let ended = "";
        const programs = await findServerPrograms(servers.interruption, report, (count) => {
          if (count === 0) return;
          report(`stopped ${count} processes that a killed run had left`);
          ended = `; stopped ${count} processes of a killed run`;
        });
        if (this.capacity === undefined) {
          const loads = {
            workload: fittedWorkload(this.config),
            mixedWorkloads: configuredMixedWorkloads(this.config),
          };
          assertRunnerSupports(loads, { features: await detectFeatures(programs.benchmark), count: 1 });
        }
        collector.setPrograms(programs);
        servers.create(this.stack, programs);
        return `Valkey ${programs.version} from ${programs.source}${ended}`;
      },
    };
  }

  #start(): Step {
    const count = this.#plans.reduce((sum, { shape }) => sum + nodeCount(shape), 0);
    const zones = `${this.config.platform.zones.length} zones`;
    const { servers, deployments } = this.context;
    return {
      title: `Start ${count} servers in ${zones}`,
      run: async () => {
        deployments.push(...(await Promise.all(this.#plans.map((plan) => servers.host.start(plan, servers.signal)))));
        return `${count} servers run in ${zones}`;
      },
    };
  }

  #form(): Step {
    const { servers, deployments } = this.context;
    return {
      title: `Form ${this.#plans.map(({ name }) => name).join(" and ")}`,
      run: async (report) => {
        const { signal } = servers;
        await Promise.all(
          deployments.map(async (deployment) => {
            const shape = this.#plans.find(({ name }) => name === deployment.name)?.shape;
            if (shape === undefined) throw new Error(`there is no plan for the deployment ${deployment.name}`);
            const result = await servers.host.form(deployment, shape, { signal, report });
            this.#formation.set(deployment.name, result.milliseconds);
          }),
        );
        signal.throwIfAborted();
        return `Formed ${[...this.#formation].map(([name, ms]) => `${name} in ${(ms / 1000).toFixed(1)} s`).join(", ")}`;
      },
    };
  }

  #verify(): Step {
    const { servers, deployments, collector } = this.context;
    return {
      title: "Verify",
      run: async () => {
        const verifications = await Promise.all(deployments.map((deployment) => verify(deployment)));
        servers.signal.throwIfAborted();
        for (const verification of verifications)
          collector.addTopology(verification, this.#formation.get(verification.facts.deployment) ?? null);
        this.verifications.push(...verifications);
        const line = `Verified ${verifications.map(({ verdict }) => `${verdict.deployment}: ${verdict.pass ? "PASS" : "FAIL"}`).join(", ")}`;
        if (!havePassed(verifications)) throw new StepFailure(line);
        return line;
      },
    };
  }

  #findCapacity(wanted: CapacitySearch): Step {
    const { servers, collector } = this.context;
    const objective = formatObjective(wanted.objective);
    const deployments = this.#verified().map(({ deployment, verification }) => ({
      deployment,
      shards: verification.verdict.shards,
    }));
    return {
      title: `Find the capacity: ${objective}`,
      run: async (report) => {
        const { signal } = servers;
        const drivers = { ...(await localLoadDrivers({ ...servers.loadGenerators, serversHere: true }, [])), signal };
        await findCapacities({ ...wanted, deployments }, 1, drivers, collector, report);
        signal.throwIfAborted();
        return `Found the capacity of ${counted(deployments.length, "deployment")}: ${objective}`;
      },
    };
  }

  #verified(): BenchmarkPlan["verified"] {
    return this.context.deployments.flatMap((deployment) => {
      const verification = this.verifications.find(({ facts }) => facts.deployment === deployment.name);
      return verification === undefined ? [] : [{ deployment, verification }];
    });
  }

  #measure(): Step {
    const { servers, collector } = this.context;
    const { repeats, keySpace } = this.config.benchmark;
    const workload = fittedWorkload(this.config);
    const capacity = configuredCapacitySearch(this.config);
    const mixedWorkloads = configuredMixedWorkloads(this.config);
    const plan = { verified: this.#verified(), workload, mixedWorkloads, repeats, capacity };
    const step = measureStep(plan, servers, true, collector);
    return {
      title: step.title,
      run: async (report) => {
        if (this.config.capacity !== undefined && capacity === undefined)
          report("skipped the search for capacity: with these options, no open-loop workload remains");
        const done = await step.run(report);
        servers.signal.throwIfAborted();
        if (workload.tests.length > 0 && workload.keySpace !== keySpace)
          report(`used ${workload.keySpace} keys instead of ${keySpace}, because a cluster needs a multiple of 16384`);
        return done;
      },
    };
  }
}
