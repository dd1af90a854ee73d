/** How long a write takes until it is in the bucket. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { median } from "../../../../lib/statistics/median";
import type { Deployment } from "../../../../valkey/deployment";
import type { Benchmark } from "../../benchmark";
import { atMost, singleRow } from "../../row";
import { ArchivedLoad, stopArchive } from "./archived-load";

const ID = "backup-rpo";
const SECONDS = 90;
/** Time between two writes whose way into the bucket is measured, milliseconds. */
const PROBE_MS = 10;
const PROBE = "backup-probe";
/** Time for which the archive may still write what has arrived, milliseconds. */
const LAST_MS = 2_000;

export const backupRpo: Benchmark = {
  title: "The time from a write until it is in the bucket",
  ids: [ID],
  run: (context) =>
    ArchivedLoad.use(context, async (load) => {
      const command = await load.archive();
      const probe = await Probe.start(load.deployment);
      const { tally } = await load.run(SECONDS);
      await probe.stop();
      await sleep(LAST_MS);
      await stopArchive(command);
      const seconds = arrivals(load.bucket.directory).map((each) => each / 1000);
      const ordered = seconds.toSorted((a, b) => a - b);
      const p99 = ordered[Math.floor(ordered.length * 0.99)] ?? NaN;
      const said = /Highest RPO ([\d.]+) s/.exec(command.output)?.[1] ?? "none";
      const what =
        `longest time from a write until its increment is in the bucket, of ${seconds.length} writes in ${SECONDS} s ` +
        `(${probe.sent} were sent; median ${median(seconds).toFixed(2)} s, p99 ${p99.toFixed(2)} s; the command says ` +
        `${said} s), at ${load.text}: ${((100 * tally.acknowledgedInTime) / tally.offered).toFixed(1)} % answered in time`;
      // A write that never arrives is worse than a late one.
      const highest = seconds.length < probe.sent ? Infinity : (ordered.at(-1) ?? Infinity);
      context.emit(singleRow({ id: ID, what, unit: "s" }, Math.min(highest, SECONDS), atMost(1)));
    }),
};

/** Writes the present time at intervals. */
class Probe {
  sent = 0;
  #ends = false;

  private constructor(private readonly running: (probe: Probe) => Promise<void>) {}

  static async start({ nodes: [primary], connect }: Deployment): Promise<Probe> {
    if (primary === undefined) throw new Error("there is no node");
    const connection = await connect(primary);
    const probe = new Probe(() => writing);
    const writing = (async () => {
      while (!probe.#ends) {
        await connection.set(PROBE, Date.now());
        probe.sent++;
        await sleep(PROBE_MS);
      }
      connection.disconnect();
    })();
    return probe;
  }

  async stop(): Promise<void> {
    this.#ends = true;
    await this.running(this);
  }
}

/** Milliseconds from each probe's write until its object was complete, as the files of the S3 server say. */
function arrivals(directory: string): number[] {
  const files = readdirSync(directory, { recursive: true, encoding: "utf8" });
  const pattern = new RegExp(`\\$${PROBE.length}\r\n${PROBE}\r\n\\$13\r\n(\\d{13})\r\n`, "g");
  return files
    .filter((file) => /\/i\d{16}\..*_S3rver_object$/.test(file))
    .flatMap((file) => {
      // The server writes the metadata last.
      const done = statSync(join(directory, file.replace(/_object$/, "_metadata.json"))).mtimeMs;
      const text = readFileSync(join(directory, file), "latin1");
      return [...text.matchAll(pattern)].map(([, time]) => done - Number(time));
    });
}
