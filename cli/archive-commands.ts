/** The commands for archives: `archive`, `backups` and `restore`. */
import type { Command } from "commander";
import { addNodeOptions, addServerOptions, addTlsOptions, appendValue } from "./options/options";

interface Context {
  readonly program: Command;
  readonly signal: AbortSignal;
  /** Called with the exit status of the command. */
  readonly finish: (status: number) => void;
}

/** Adds the options that describe an S3 bucket. */
function addBucketOptions(command: Command): Command {
  return command
    .optionsGroup("Bucket (credentials from the environment or the machine's role):")
    .option("--endpoint <url>", "URL of an S3 server; without it, AWS")
    .option("--region <name>", "region of the bucket; without it, AWS_REGION, or us-east-1 with --endpoint")
    .option("--encryption <kind>", "none, AES256, aws:kms or aws:kms:KEY; none is the bucket's default (default: none)")
    .option("--path-style", "bucket in the path of requests; always with --endpoint")
    .optionsGroup("Options:");
}

type Values = Readonly<Record<string, unknown>>;

/** Adds the commands `archive`, `backups` and `restore` to the command line. */
export function addArchiveCommands(context: Context): void {
  addArchive(context);
  addBackups(context);
  addRestore(context);
}

function addArchive({ program, signal, finish }: Context): void {
  const command = program
    .command("archive")
    .description(
      "Follow a replica of each shard, and write its data and every later change into a folder or an S3 bucket, until " +
        "Ctrl-C. The command restore restores any time between",
    )
    .argument("[stack]", "name of a deployed stack of the platform host (default: the servers of the options)");
  addBucketOptions(addServerOptions(command))
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
    .action(async (stack: string | undefined, values: Values) => {
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
    .action(async (place: string, values: Values) => {
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
    .option("--stack <name>", "deployed stack")
    .option("--deployment <name>", "deployment of the stack (required if the stack has several)");
  addTlsOptions(addNodeOptions(command)).action(async (archive: string, values: Values) => {
    const { restore } = await import("./commands/restore.js");
    finish(await restore(archive, values, signal));
  });
}
