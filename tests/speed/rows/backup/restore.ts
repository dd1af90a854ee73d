/** The command `restore` beside copies of key after key, with a million keys. */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { residentPeakBytes } from "../../proc";
import { Failure } from "../../../../lib/errors";
import { median } from "../../../../lib/statistics/median";
import { formatBytes } from "../../../../lib/units";
import { DirectoryStore } from "../../../../valkey/archive/store";
import type { Deployment } from "../../../../valkey/deployment";
import { form } from "../../../../valkey/formation/form";
import { Place } from "../../../support/command";
import type { Benchmark, BenchmarkContext } from "../../benchmark";
import { atLeast, atMost, comparedRow, singleRow } from "../../row";
import type { BenchServers, Workbench } from "../../workbench";
import { hostPlan } from "../../workbench";
import { countKeys, copyKeys, fillMixed } from "./key-by-key";
import { RunningArchive, restoreOf } from "./running-archive";

const PLAIN = "backup-restore";
const PIPELINED = "backup-restore-pipelined";
const COMPARED = "backup-restore-compared";
const MEMORY = "backup-restore-memory";
const KEYS = 1_000_000;
const ARCHIVED = { primaries: 3, replicasPerPrimary: 0 };
const TARGET = { primaries: 5, replicasPerPrimary: 0 };
/** Keys in one round trip of a good tool. */
const PIPELINE = 64;
/** Keys that the plain script copies. Its whole time is that of all keys at the same rate. */
const PLAIN_KEYS = 200_000;
/** Times that the command and the tool copy all keys. */
const REPEATS = 2;
const POLL_MS = 100;
const INSTANTS_MS = 3_000;

interface CommandTimes {
  /** Seconds from the start of the command until the restored servers have passed verification. */
  readonly verified: number;
  /** Seconds until every key was compared, too. */
  readonly compared: number;
  readonly peakBytes: number;
}

export const backupRestore: Benchmark = {
  title: "The command `restore` beside DUMP and RESTORE of key after key",
  ids: [PLAIN, PIPELINED, COMPARED, MEMORY],
  run: async (context) => {
    const { workbench, report } = context;
    const base = hostPlan("million", "cluster", ARCHIVED);
    const plan = { ...base, settings: { ...base.settings, "repl-diskless-sync-delay": 0 } };
    await workbench.withServers([plan], async ({ host, deployments: [source], signal }) => {
      if (source === undefined) throw new Error("no deployment was started");
      await form(source, ARCHIVED, { signal });
      await fillMixed(source, KEYS);
      const store = new DirectoryStore(join(host.run.path, "archive"));
      const archive = await RunningArchive.start(store, source, join(host.run.path, "spool"), signal);
      await archive.caughtUp(signal);
      // All shards need an instant after the last base.
      await sleep(INSTANTS_MS);
      await archive.caughtUp(signal);
      await archive.stop();
      const size = (await restoreOf(store)).shards.reduce((sum, { set }) => sum + set.base.size, 0);
      report(`archived ${KEYS} keys in ${formatBytes(size)}`);
      const command: CommandTimes[] = [];
      const pipelined: number[] = [];
      let plain = NaN;
      for (let repeat = 0; repeat < REPEATS; repeat++) {
        command.push(await restoreByCommand(join(host.run.path, "archive"), context));
        pipelined.push(await copyInto(workbench, source, KEYS, PIPELINE));
        report(`DUMP and RESTORE, ${PIPELINE} keys in a round trip: ${pipelined.at(-1)?.toFixed(1)} s`);
        if (repeat > 0) continue;
        plain = ((await copyInto(workbench, source, PLAIN_KEYS, 1)) * KEYS) / PLAIN_KEYS;
        report(`DUMP and RESTORE, one key after the other: ${plain.toFixed(1)} s`);
      }
      emitRows(context, { command, pipelined: median(pipelined), plain, size });
    });
  },
};

interface Times {
  readonly command: readonly CommandTimes[];
  readonly pipelined: number;
  readonly plain: number;
  readonly size: number;
}

function emitRows({ wanted, emit }: BenchmarkContext, { command, pipelined, plain, size }: Times): void {
  const verified = median(command.map((each) => each.verified));
  const compared = median(command.map((each) => each.compared));
  const peak = Math.max(...command.map(({ peakBytes }) => peakBytes)) / 2 ** 20;
  const what =
    `${KEYS} keys of all types (${formatBytes(size)}) from ${ARCHIVED.primaries} shards into ${TARGET.primaries}: ` +
    `the command \`restore\` from its start`;
  const often = `medians of ${REPEATS} interleaved runs`;
  const rows = [
    comparedRow(
      {
        id: PLAIN,
        what:
          `${what} until verification passes, beside DUMP and RESTORE of one key after the other into servers that run ` +
          `(of ${PLAIN_KEYS} keys, times ${KEYS / PLAIN_KEYS}); ${often}`,
        unit: "s",
      },
      { ours: verified, reference: plain },
      "reference/ours",
      atLeast(3),
    ),
    comparedRow(
      {
        id: PIPELINED,
        what: `${what} until verification passes, beside DUMP and RESTORE of ${PIPELINE} keys in a round trip; ${often}`,
        unit: "s",
      },
      { ours: verified, reference: pipelined },
      "reference/ours",
      atLeast(3),
    ),
    comparedRow(
      {
        id: COMPARED,
        what: `${what} until every key is compared, beside DUMP and RESTORE of one key after the other; ${often}`,
        unit: "s",
      },
      { ours: compared, reference: plain },
      "reference/ours",
      atLeast(3),
    ),
    singleRow({ id: MEMORY, what: `${what}: highest resident memory of the command`, unit: "MiB" }, peak, atMost(1024)),
  ];
  for (const row of rows) if (wanted.has(row.id)) emit(row);
}

/** Restores as a user does. */
async function restoreByCommand(
  folder: string,
  { workbench: { signal }, report }: BenchmarkContext,
): Promise<CommandTimes> {
  const place = new Place();
  try {
    const began = performance.now();
    const seconds = (): number => (performance.now() - began) / 1000;
    const shape = ["--mode", "cluster", "--shards", String(TARGET.primaries)];
    const command = await place.start(["restore", folder, "--into", "local", ...shape, "--check"]);
    let peakBytes = 0;
    const timer = setInterval(() => {
      if (command.child.exitCode === null)
        peakBytes = Math.max(peakBytes, residentPeakBytes(command.child.pid ?? 0) || 0);
    }, POLL_MS);
    const stop = (): void => void command.child.kill("SIGINT");
    signal.addEventListener("abort", stop);
    try {
      await command.printed(/Verify: PASS/);
      const verified = seconds();
      await command.printed(/Compared every key/);
      const compared = seconds();
      const { status, output } = await command.ended;
      if (status !== 0) throw new Failure(`restore ended with status ${status}: ${output}`);
      report(
        `restore: ${verified.toFixed(1)} s until verified, ${compared.toFixed(1)} s with the comparison, ` +
          `${formatBytes(peakBytes)} of memory`,
      );
      return { verified, compared, peakBytes };
    } finally {
      clearInterval(timer);
      signal.removeEventListener("abort", stop);
      signal.throwIfAborted();
    }
  } finally {
    await place.close();
  }
}

/** Copies keys into new servers. @returns seconds without the start of the servers */
function copyInto(workbench: Workbench, source: Deployment, keys: number, pipeline: number): Promise<number> {
  const base = hostPlan("copied", "cluster", TARGET);
  const copy = async ({ deployments: [target], signal }: BenchServers): Promise<number> => {
    if (target === undefined) throw new Error("no deployment was started");
    await form(target, TARGET, { signal });
    const began = performance.now();
    await copyKeys(source, target, keys, pipeline);
    const seconds = (performance.now() - began) / 1000;
    const copied = await countKeys(target);
    if (copied < keys) throw new Failure(`${copied} keys were copied instead of ${keys}`);
    return seconds;
  };
  return workbench.withServers([base], copy);
}
