/** The command line. `npm start` is `run local`; every error is one message and an exit status. */
import type { CommandOptions } from "commander";
import { Command, CommanderError } from "commander";
import { BadInput, Failure, Interrupted, messageOf } from "../lib/errors";
import { exitStatusOf } from "./interruption";
import {
  addBenchmarkOptions,
  addBreakOptions,
  addServerOptions,
  benchmarkOverrides,
  breakOptions,
  studyOverrides,
  parseNumber,
} from "./options";
import { printError } from "./terminal";
import { addSoakOptions, soakOptions } from "./soak-options";

/** Bad input: nothing was started. */
const BAD_INPUT = 2;

function buildProgram(signal: AbortSignal, finish: (status: number) => void): Command {
  const program = new Command("npm start --")
    .description(
      "Deploys Valkey in replication and cluster mode, verifies it, benchmarks it, and reports figures that hold.",
    )
    .configureOutput({ writeErr: () => undefined })
    .exitOverride();
  const onStack = (name: string, standard: string, description: string, options: CommandOptions = {}): Command =>
    program
      .command(name, options)
      .description(description)
      .argument("[stack]", "a stack with a file in stacks/", standard);

  addBenchmarkOptions(
    onStack("run", "local", "deploy a stack on this machine, verify, benchmark, compare, stop", { isDefault: true }),
  )
    .option("--mode <mode>", "only the deployments in this mode: cluster or replication")
    .option("--keep", "leave the deployments up and say how to connect")
    .option("--keep-runner", "the same")
    .action(async (stack: string, values: Record<string, unknown>) => {
      const { runStack } = await import("./commands/run.js");
      const mode = values["mode"];
      finish(
        await runStack(
          { stack, overrides: benchmarkOverrides(values), mode: typeof mode === "string" ? mode : undefined },
          signal,
        ),
      );
    });

  program
    .command("plan")
    .description("what a stack would create, take and cost; nothing is asked of a cloud or a cluster")
    .argument("[stack]", "a stack with a file in stacks/; without, all of them in a line each")
    .option("--json", "all of it, for tools")
    .option(
      "--set <path=value>",
      "another value in place of the file's, for this time: deployments.billion.primaries=300; several times",
      (value: string, previous: string[] | undefined) => [...(previous ?? []), value],
    )
    .action(async (stack: string | undefined, values: Record<string, unknown>) => {
      const { printPlan } = await import("./commands/plan.js");
      finish(printPlan(stack, values));
    });

  addBenchmarkOptions(
    onStack(
      "capacity",
      "local",
      "the highest offered load that each deployment of a stack takes within a latency objective",
    ),
  )
    .option(
      "--objective <p=time>",
      "a percentile and the most it may be: p99=2ms; the stack's, where it has valkey:capacity",
    )
    .option("--initial-rate <rps>", "first offered load (default: 1000)")
    .option("--max-rate <rps>", "highest offered load (default: 10000000)")
    .option("--precision <part>", "how near the answer must be; 0.1")
    .option("--confirmations <n>", "how often the answer is offered again, at most; 3")
    .option("--mode <mode>", "only the deployments in this mode: cluster or replication")
    .action(async (stack: string, values: Record<string, unknown>) => {
      const { capacityOptions } = await import("./commands/capacity.js");
      const { runStack } = await import("./commands/run.js");
      const mode = values["mode"];
      const capacity = capacityOptions(values);
      finish(
        await runStack(
          { stack, overrides: benchmarkOverrides(values), mode: typeof mode === "string" ? mode : undefined, capacity },
          signal,
        ),
      );
    });

  addBreakOptions(
    onStack(
      "break",
      "failures",
      "break a stack on purpose while clients write, servers of this machine or pods that Pulumi has made, and account for every acknowledged write",
    ),
  ).action(async (stack: string, values: Record<string, unknown>) => {
    const { breakStack } = await import("./commands/break.js");
    finish(await breakStack(stack, breakOptions(values), signal));
  });

  addSoakOptions(
    onStack(
      "soak",
      "failures",
      "a stack on this machine under a steady load for hours: memory, files, replication and tails, window by window",
    ),
  ).action(async (stack: string, values: Record<string, unknown>) => {
    const { soakStack } = await import("./commands/soak.js");
    finish(await soakStack(soakOptions(stack, values), signal));
  });

  addServerOptions(
    program
      .command("verify")
      .description("the verdict on servers that exist already; the password from VALKEY_PASSWORD"),
  )
    .option("--json", "the verdict for tools")
    .action(async (values: Record<string, unknown>) => {
      const { verifyServers } = await import("./commands/verify.js");
      finish(await verifyServers(values));
    });

  addBenchmarkOptions(
    addServerOptions(
      program
        .command("bench")
        .description("verify servers that exist already, then benchmark them; keys are put there and removed again"),
    ),
  )
    .option("--overwrite", "even if keys of the benchmark's names are there already")
    .action(async (values: Record<string, unknown>) => {
      const { measureExternalServers } = await import("./commands/measure.js");
      finish(await measureExternalServers(values, benchmarkOverrides(values), signal));
    });

  addBenchmarkOptions(
    program
      .command("study")
      .description(
        "vary settings over cells, interleaved and repeated until each comparison is exact enough; Ctrl-C keeps what is finished",
      )
      .argument("<name>", "topologies, io-threads, engines, density, billion, or a stack with valkey:experiment"),
  )
    .option("--resume", "go on with the one that was begun last, or that is in --output")
    .option("--precision <part>", "to which part of a figure it should be known: 0.05", parseNumber)
    .option("--budget <s>", "seconds it may take", parseNumber)
    .option("--seed <n>", "of the order of measurements", parseNumber)
    .action(async (name: string, values: Record<string, unknown>) => {
      const { runNamedStudy } = await import("./commands/study.js");
      finish(
        await runNamedStudy(
          {
            name,
            resume: values["resume"] === true,
            overrides: benchmarkOverrides(values),
            experiment: studyOverrides(values),
          },
          signal,
        ),
      );
    });

  program
    .command("compare")
    .description("results of any age and machine against the first: what changed, ratios, which are noise")
    .argument("<results...>", "results.json, or directories that hold one")
    .option("--precision <part>", "part of a figure that matters: 0.05", Number)
    .action(async (paths: string[], values: Record<string, unknown>) => {
      const { compareResults } = await import("./commands/compare.js");
      const precision = values["precision"];
      finish(compareResults(paths, typeof precision === "number" ? precision : undefined));
    });

  program
    .command("recommend")
    .description(
      "mode, primaries, machine and io-threads for a load, from measured capacity and prices, with the arithmetic",
    )
    .argument("[results...]", "results.json, or directories that hold one")
    .option("--rate <rps>", "requests per second at the busiest")
    .option("--reads <part>", "part of them that read (0.9)")
    .option("--working-set <size>", "keys and values, each counted once: 40gb")
    .option("--value-size <bytes>", "of a typical value (256)")
    .option("--pipeline <n>", "requests that clients send at a time (1)")
    .option("--p99 <ms>", "within which 99 % are answered")
    .option("--replicas <n>", "of each primary (1)")
    .option("--region <name>", "whose prices (us-west-2)")
    .action(async (paths: string[], values: Record<string, unknown>) => {
      const { recommendDeployment } = await import("./commands/recommend.js");
      finish(recommendDeployment(paths, values));
    });

  program
    .command("stop")
    .description("stop deployments that were kept")
    .argument("[run]", "which; without it they are listed")
    .option("--all", "every one")
    .action(async (run: string | undefined, values: Record<string, unknown>) => {
      const { stopKept } = await import("./commands/stop.js");
      finish(await stopKept(run, values["all"] === true));
    });

  return program;
}

/**
 * One command from its arguments to its exit status; what it has to say goes to the terminal.
 * @param signal aborted with Interrupted when the user wants it to stop
 */
export async function commandLine(args: readonly string[], signal: AbortSignal): Promise<number> {
  let status = 0;
  try {
    await buildProgram(signal, (result) => (status = result)).parseAsync([...args], { from: "user" });
    return status;
  } catch (error) {
    return explain(error);
  }
}

function explain(error: unknown): number {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return 0;
    printError(`${error.message.replace(/^error: /, "")}\nSee npm start -- --help`);
    return BAD_INPUT;
  }
  if (error instanceof Interrupted) {
    printError(error.message);
    return exitStatusOf(error);
  }
  if (error instanceof BadInput || error instanceof Failure) {
    printError(error.message);
    return error instanceof BadInput ? BAD_INPUT : 1;
  }
  printError(`This is a defect of the program: ${messageOf(error)}`, error instanceof Error ? (error.stack ?? "") : "");
  return 1;
}
