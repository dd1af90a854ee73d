/** The module of a command is loaded only when the command runs. */
import { type CommandOptions, Command } from "commander";
import type { OptionValues } from "./running/options";
import {
  addBenchmarkOptions,
  addNodeOptions,
  addSearchOptions,
  addServerOptions,
  addStudyOptions,
  addTlsOptions,
  addUnverifiedServerOptions,
  benchmarkOverrides,
  appendValue,
  givenValues,
  parseNumber,
  searchOverrides,
  textOption,
} from "./running/options";
import { COMMAND, VERSION } from "../lib/system/package";

interface Context {
  readonly program: Command;
  /** Signal that is aborted, with Interrupted as its reason, when the user asks the command to stop. */
  readonly signal: AbortSignal;
  readonly finish: (status: number) => void;
}

export function buildProgram(signal: AbortSignal, finish: (status: number) => void): Command {
  const program = new Command(COMMAND)
    .description(
      "Deploys Valkey in replication and cluster mode, verifies it, and measures it: results with error bounds and " +
        "validity warnings.",
    )
    .version(VERSION, "--version", "version of this program")
    .configureOutput({ writeErr: () => undefined })
    .exitOverride();
  const context: Context = { program, signal, finish };
  const add = [addRun, addPlan, addVerify, addStatus, addWatch, addMeasure, addCapacity, addStudy, addBreak, addSoak];
  const others = [addArchive, addBackups, addRestore, addCompare, addRecommend, addStop, addCompletion];
  for (const addCommand of [...add, ...others]) addCommand(context);
  return program;
}

function addRun({ program, signal, finish }: Context): void {
  const command = onStack(
    program,
    "run",
    "local",
    "Measure a stack on this machine: start, verify, measure and stop its servers",
    { isDefault: true },
  );
  addBenchmarkOptions(withModeOption(command))
    .option("--keep", "leave the servers running after the run")
    .option("--keep-runner", 'same as --keep; the published document "Valkey on EKS" uses this name')
    .action(async (stack: string, values: OptionValues) => {
      const { runStack } = await import("./commands/run.js");
      finish(
        await runStack({ stack, overrides: benchmarkOverrides(values), mode: textOption(values["mode"]) }, signal),
      );
    });
}

function addPlan({ program, finish }: Context): void {
  program
    .command("plan")
    .description(
      "Print the plan of a stack: what it creates, how long it takes and what it costs. Sends no request to a cloud " +
        "or a cluster",
    )
    .argument("[stack]", "name of a stack (default: a table of all stacks)")
    .option("--json", "whole plan as JSON")
    .option(
      "--set <path=value>",
      "value to use instead of the one in the stack file, such as deployments.billion.primaries=300; may be repeated",
      appendValue,
    )
    .action(async (stack: string | undefined, values: OptionValues) => {
      const { printPlan } = await import("./commands/plan.js");
      finish(printPlan(stack, values));
    });
}

function addVerify({ program, signal, finish }: Context): void {
  const command = program
    .command("verify")
    .description(
      "Verify servers that exist already, a stack that Pulumi has deployed, or a run that was kept with --keep",
    )
    .argument("[stack]", "name of a deployed stack, or ID of a kept run (default: the servers of the options)");
  addServerOptions(command)
    .option("--json", "verdict as JSON; FAIL also has its causes, what they mean for clients, and what to type next")
    .action(async (stack: string | undefined, values: OptionValues) => {
      if (stack === undefined) {
        const { verifyServers } = await import("./commands/verify.js");
        finish(await verifyServers(values));
      } else {
        await printStackStatus(stack, "verdict", values, { signal, finish });
      }
    });
}

function addStatus({ program, signal, finish }: Context): void {
  program
    .command("status")
    .description(
      "Print the state of the nodes of a stack that Pulumi has deployed, or of a run that was kept with --keep: roles, " +
        "versions, memory, replication lag, and the verdict. The exit status is the same as that of verify",
    )
    .argument("<stack>", "name of the stack, in the current directory's Pulumi project, or ID of a kept run")
    .option("--json", "nodes and verdicts as JSON")
    .option(
      "--watch",
      "print the findings of the stack's controllers as they appear, until Ctrl-C; with --json, one line " +
        "for each verification by a controller",
    )
    .action(async (stack: string, { watch, ...values }: OptionValues) => {
      if (watch !== true) return printStackStatus(stack, "nodes", values, { signal, finish });
      const { watchControllers } = await import("./commands/watch-controllers.js");
      const { deployedTargets } = await import("./targets/deployed-stack.js");
      finish(await watchControllers(await deployedTargets(stack, process.cwd()), values["json"] === true, signal));
    });
}

function addWatch({ program, signal, finish }: Context): void {
  const command = program
    .command("watch")
    .description(
      "Verify servers that exist already, a stack that Pulumi has deployed, or a run that was kept with --keep, at " +
        "intervals until Ctrl-C, and print what changes. The exit status is 0 if every deployment passed its last " +
        "verification, else 1",
    )
    .argument("[stack]", "name of a deployed stack, or ID of a kept run (default: the servers of the options)");
  addServerOptions(command)
    .option("--every <s>", "seconds between two verifications (default: 30)")
    .option(
      "--metrics <port>",
      "serve metrics for Prometheus at [HOST:]PORT/metrics, and the last verifications as JSON at /looks",
    )
    .option("--json", "one line of JSON for each verification")
    .action(async (stack: string | undefined, values: OptionValues) => {
      const { watchDeployments } = await import("./commands/watch.js");
      finish(await watchDeployments(stack, values, signal));
    });
}

async function printStackStatus(
  stack: string,
  detail: "nodes" | "verdict",
  { json, ...others }: OptionValues,
  { signal, finish }: Pick<Context, "signal" | "finish">,
): Promise<void> {
  const { refuseServerOptions, printStatus } = await import("./commands/status.js");
  refuseServerOptions("verify", others);
  finish(await printStatus(stack, json === true ? "json" : detail, signal));
}

function addMeasure({ program, signal, finish }: Context): void {
  const command = program
    .command("measure")
    .description("Verify and measure servers that exist already. Removes its own keys afterwards");
  addBenchmarkOptions(addServerOptions(command))
    .option(
      "--overwrite",
      "overwrite and remove existing keys whose names the benchmark uses, and keys that a killed run left",
    )
    .action(async (values: OptionValues) => {
      const { measureExternalServers } = await import("./commands/measure.js");
      finish(await measureExternalServers(values, benchmarkOverrides(values), signal));
    });
}

function addCapacity({ program, signal, finish }: Context): void {
  const command = onStack(
    program,
    "capacity",
    "local",
    "Find the highest offered rate at which each deployment of a stack meets a latency objective",
  );
  addSearchOptions(withModeOption(command))
    .option("--objective <p=time>", "percentile and its highest value, such as p99=2ms (default: the stack's)")
    .option("--initial-rate <rps>", "first offered rate (default: 1000)")
    .option("--max-rate <rps>", "highest offered rate (default: 10000000)")
    .option("--precision <part>", "relative precision of the capacity (default: 0.1)")
    .option("--confirmations <n>", "highest number of repeats at the capacity and at the next higher load (default: 3)")
    .action(async (stack: string, values: OptionValues) => {
      const { capacityOptions } = await import("./commands/capacity.js");
      const { runStack } = await import("./commands/run.js");
      const options = { stack, overrides: searchOverrides(values), mode: textOption(values["mode"]) };
      finish(await runStack({ ...options, capacity: capacityOptions(values) }, signal));
    });
}

function addStudy({ program, signal, finish }: Context): void {
  const command = program
    .command("study")
    .description(
      "Study a stack on this machine: measure its treatments in rounds, until their comparisons are " +
        "precise enough. Finished measurements are kept after Ctrl-C",
    )
    .argument("<study>", "topologies, io-threads, engines, density, billion, or a stack with valkey:study");
  addStudyOptions(command)
    .option("--resume", "continue the study in --output, or the last study")
    .option("--precision <part>", "target relative precision (default: the stack's)", parseNumber)
    .option("--budget <s>", "longest duration in seconds (default: the stack's)", parseNumber)
    .option("--seed <n>", "seed of the measurements' order (default: random)", parseNumber)
    .action(async (name: string, values: OptionValues) => {
      const { runNamedStudy } = await import("./commands/study.js");
      const resume = values["resume"] === true;
      const overrides = benchmarkOverrides(values);
      const study = givenValues(values, ["precision", "budget", "seed"]);
      finish(await runNamedStudy({ name, resume, overrides, study }, signal));
    });
}

function addBreak({ program, signal, finish }: Context): void {
  const command = onStack(
    program,
    "break",
    "failures",
    "Run the fault scenarios of a stack on this machine or in pods, and check afterwards which " +
      "acknowledged writes are lost",
  );
  const collectNames = (value: string, previous: readonly string[] | undefined): string[] => [
    ...(previous ?? []),
    ...value.split(","),
  ];
  command
    .option(
      "--scenario <names>",
      "names of scenarios, separated by commas; may be repeated (default: all)",
      collectNames,
    )
    .option("--repeats <n>", "repeats of each scenario (default: the stack's)", parseNumber)
    .option("--rate <n>", "offered rate, writes per second (default: the stack's)", parseNumber)
    .option("--output <dir>", "directory of the results (default: results/TIME)")
    .option("--plan", "print the planned scenarios, and inject nothing")
    .action(async (stack: string, values: OptionValues) => {
      const { breakStack } = await import("./commands/break.js");
      finish(await breakStack(stack, values, signal));
    });
}

function addSoak({ program, signal, finish }: Context): void {
  const command = onStack(
    program,
    "soak",
    "failures",
    "Send a steady load to a stack on this machine for hours, and record memory, files, replication and " +
      "latency by window",
  );
  command
    .option("--duration <time>", "duration, such as 90s, 30m, 2h or 3d (default: 2h)")
    .option(
      "--window <time>",
      "duration of each window of the report (default: 10s, or longer so that there are at most 1000 windows)",
    )
    .option("--rate <rps>", "offered rate per deployment, requests per second (default: 1000)", parseNumber)
    .option("--reads <part>", "part of the requests that read, 0 to 1 (default: 0.5)", parseNumber)
    .option("--keyspace-len <n>", "distinct keys (default: 100000)", parseNumber)
    .option("--datasize <bytes>", "value size (default: 256)", parseNumber)
    .option("--max-disk <size>", "size of the servers' files at which the soak stops (default: 10gb)")
    .option("--resume", "continue the soak in --output, or the last soak")
    .option("--output <dir>", "directory of the results (default: results/TIME-soak)")
    .action(async (stack: string, values: OptionValues) => {
      const { soakStack } = await import("./commands/soak.js");
      finish(await soakStack(stack, values, signal));
    });
}

function addArchive({ program, signal, finish }: Context): void {
  const command = program
    .command("archive")
    .description(
      "Follow a replica of each shard, and write its data and every later change into a folder or an S3 bucket, until " +
        "Ctrl-C. The command restore restores any time between",
    )
    .argument(
      "[stack]",
      "name of a deployed stack of the platform host, or ID of a kept run (default: the servers of the options)",
    );
  addBucketOptions(addTlsOptions(addUnverifiedServerOptions(command)))
    .option("--into <place>", "folder, made if it does not exist, or s3://BUCKET/PREFIX (required)")
    .option(
      "--spool <folder>",
      "folder for what the place has not taken yet; without it, a folder in the archive or in the cache",
    )
    .option(
      "--base-every <time>",
      "time after which a shard gets a new set with a new base, from 10m to 30d (default: 1d)",
    )
    .option(
      "--keep <time>",
      "time that can be restored, such as 7d; older sets are deleted; without it, nothing is deleted",
    )
    .option("--for <time>", "time after which the command ends, such as 90s, 10m or 2h (default: none)")
    .option("--deployment <name>", "deployment of the stack (required if the stack has several)")
    .action(async (stack: string | undefined, values: OptionValues) => {
      const { archive } = await import("./commands/archive.js");
      finish(await archive(stack, values, signal));
    });
}

function addBackups({ program, signal, finish }: Context): void {
  const command = program
    .command("backups")
    .description("List what an archive has: the times that can be restored, sizes and keys")
    .argument("<place>", "folder of the archive, or s3://BUCKET/PREFIX");
  addBucketOptions(command)
    .option("--json", "sets as JSON")
    .action(async (place: string, values: OptionValues) => {
      const { printBackups } = await import("./commands/backups.js");
      finish(await printBackups(place, values, signal));
    });
}

function addRestore({ program, signal, finish }: Context): void {
  const command = program
    .command("restore")
    .description(
      "Restore the data that an archive had at a given time, verify the servers, and compare every key, value and TTL. " +
        "Then the servers run until Ctrl-C. The exit status is 0 if everything is equal, else 1",
    )
    .argument("<archive>", "folder of the archive, or s3://BUCKET/PREFIX");
  addBucketOptions(command)
    .option("--into <place>", "place of the servers: local, which is this machine (required without --replay-into)")
    .option("--at <time>", "time to restore, such as 2026-11-24T08:00:00Z; without it, the last time of the archive")
    .option(
      "--mode <mode>",
      "cluster or replication; without it, the mode of the archive. With --node or --nodes, the mode of these servers",
    )
    .option("--shards <n>", "number of shards; without it, as many as the archive has, and at least 3 in cluster mode")
    .option("--replicas <n>", "replicas of each primary, 0 to 5 (default: 0)")
    .option("--keys <pattern>", "only keys that match, such as app:*; may be repeated", appendValue)
    .option(
      "--ttl <rule>",
      "absolute: keys expire at their times; remaining: with the time left at the restored time (default: absolute)",
    )
    .option("--check", "end after the comparison")
    .optionsGroup("Copy keys into a running deployment, with the password in VALKEY_PASSWORD or a stack:")
    .option("--replay-into", "copy the keys into the servers of the options, or of --stack, instead of --into")
    .option("--overwrite", "replace keys that the deployment has; without it, they are kept")
    .option("--stack <name>", "deployed stack, or ID of a kept run")
    .option("--deployment <name>", "deployment of the stack (required if the stack has several)");
  addTlsOptions(addNodeOptions(command)).action(async (archive: string, values: OptionValues) => {
    const { restore } = await import("./commands/restore.js");
    finish(await restore(archive, values, signal));
  });
}

function addCompare({ program, finish }: Context): void {
  program
    .command("compare")
    .description(
      "Compare results with the first of them: ratios, differences between machines and workloads, and " +
        "which ratios can be noise",
    )
    .argument("<results...>", "results.json files, or their directories")
    .option("--precision <part>", "relative difference that matters (default: 0.05)", parseNumber)
    .action(async (paths: string[], values: OptionValues) => {
      const { compareResults } = await import("./commands/compare.js");
      finish(compareResults(paths, values["precision"]));
    });
}

function addRecommend({ program, finish }: Context): void {
  program
    .command("recommend")
    .description(
      "Recommend the mode, the number of primaries, the machine type and io-threads for a load, from " +
        "measured capacity and prices",
    )
    .argument("[results...]", "results.json files, or their directories")
    .option("--rate <rps>", "peak rate, requests per second (required)")
    .option("--reads <part>", "part of the requests that read (default: 0.9)")
    .option(
      "--working-set <size>",
      "total size of keys and values, without replicas and overhead, such as 40gb (required)",
    )
    .option("--value-size <bytes>", "typical value size (default: 256)")
    .option("--pipeline <n>", "requests in flight per connection (default: 1)")
    .option("--p99 <ms>", "highest 99th percentile of latency (default: none)")
    .option("--replicas <n>", "replicas of each primary (default: 1)")
    .option("--region <name>", "region of the prices (default: us-west-2)")
    .action(async (paths: string[], values: OptionValues) => {
      const { recommendDeployment } = await import("./commands/recommend.js");
      finish(recommendDeployment(paths, values));
    });
}

function addStop({ program, finish }: Context): void {
  program
    .command("stop")
    .description("Stop deployments that earlier runs kept, and processes that killed runs left")
    .argument("[run]", "ID of the run to stop (default: print a list of the runs)")
    .option("--all", "stop all runs that are kept or left by a killed run")
    .action(async (run: string | undefined, values: OptionValues) => {
      const { stopKept } = await import("./commands/stop.js");
      finish(await stopKept(run, values["all"] === true));
    });
}

function addCompletion({ program, finish }: Context): void {
  program
    .command("completion")
    .description("Print a script that makes a shell complete commands, options and stacks of valkey-measured")
    .argument("<shell>", "bash, zsh or fish")
    .action(async (shell: string) => {
      const { printCompletion } = await import("./commands/completion.js");
      finish(printCompletion(shell, program));
    });
}

function addBucketOptions(command: Command): Command {
  return command
    .optionsGroup("Bucket (credentials from the environment or the machine's role):")
    .option("--endpoint <url>", "URL of an S3 server; without it, AWS")
    .option("--region <name>", "region of the bucket; without it, AWS_REGION, or us-east-1 with --endpoint")
    .option("--encryption <kind>", "none, AES256, aws:kms or aws:kms:KEY; none is the bucket's default (default: none)")
    .option("--path-style", "bucket in the path of requests; always with --endpoint")
    .optionsGroup("Options:");
}

function onStack(
  program: Command,
  name: string,
  standard: string,
  description: string,
  options: CommandOptions = {},
): Command {
  return program.command(name, options).description(description).argument("[stack]", "name of a stack", standard);
}

function withModeOption(command: Command): Command {
  return command.option("--mode <mode>", "deployments of one mode only: cluster or replication (default: both)");
}
