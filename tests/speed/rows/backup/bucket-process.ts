/** A real S3 server beside the process that measures. */
import type { ChildProcess } from "node:child_process";
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { Failure } from "../../../../lib/errors";
import { BucketStore } from "../../../../valkey/archive/bucket/bucket-store";
import type { BucketLocation } from "../../../../valkey/archive/bucket/location";
import { BUCKET, CREDENTIALS } from "../../../support/valkey/s3-server";

export class BucketProcess {
  private constructor(
    /** Directory of the bucket's objects. */
    readonly directory: string,
    readonly endpoint: string,
    private readonly child: ChildProcess,
  ) {}

  /** @param directory new directory for the objects */
  static async start(directory: string): Promise<BucketProcess> {
    mkdirSync(directory, { recursive: true });
    // The library of the bucket reads the credentials from the environment.
    Object.assign(process.env, CREDENTIALS);
    const child = fork(join(__dirname, "..", "..", "processes", "s3-main.ts"), [directory], {
      execArgv: ["--import", "tsx"],
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    return new BucketProcess(join(directory, BUCKET), await reply(child), child);
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** Opens a prefix of the bucket. */
  open(prefix: string, signal: AbortSignal): Promise<BucketStore> {
    const location: BucketLocation = {
      ...{ bucket: BUCKET, prefix, endpoint: this.endpoint, region: undefined, pathStyle: true },
      encryption: { kind: "none" },
    };
    return BucketStore.open(location, signal);
  }

  /** Location of a prefix on the command line. */
  argumentsFor(prefix: string): string[] {
    return [`s3://${BUCKET}/${prefix}`, "--endpoint", this.endpoint];
  }

  /**
   * `away` closes the port and all connections, and `back` opens the port again. From `refuse` until `accept`, each
   * request is refused.
   */
  async tell(word: "away" | "back" | "refuse" | "accept"): Promise<void> {
    this.child.send(word);
    await reply(this.child);
  }

  async close(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    this.child.kill("SIGKILL");
    await once(this.child, "exit");
  }
}

async function reply(child: ChildProcess): Promise<string> {
  const ended = once(child, "exit").then(() => {
    throw new Failure("the S3 server ended");
  });
  const [message] = (await Promise.race([once(child, "message"), ended])) as [string];
  ended.catch(() => undefined);
  return message;
}
