/** Restored deployments and archives with one change hidden in each, which the project must find and name. */
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { messageOf } from "../../../../lib/errors";
import type { ServerComparison } from "../../../../valkey/restoring/compare-servers";
import type { StagedShard } from "../../../../valkey/restoring/staging";
import type { Restore } from "../../../../valkey/archive/catalog";
import { readCatalog } from "../../../../valkey/archive/catalog";
import { DirectoryStore } from "../../../../valkey/archive/store";
import { form } from "../../../../valkey/formation/form";
import { writeDataSet } from "../../../support/valkey/data-set";
import type { Benchmark, BenchmarkContext } from "../../benchmark";
import { atLeast, singleRow } from "../../row";
import type { Workbench } from "../../workbench";
import { hostPlan } from "../../workbench";
import type { Change } from "./hidden-changes";
import { CHANGES, withChangedServers, writeChangedKeys } from "./hidden-changes";
import { restoreInto, shapeOf, stage } from "./restored";
import { RunningArchive, restoreOf } from "./running-archive";

const ID = "backup-hidden";
const SHAPE = { primaries: 1, replicasPerPrimary: 0 };
const SHARDS = 3;
const KEYS = 300;

export const backupHidden: Benchmark = {
  title: "Changes that are hidden in restored servers and in files of archives",
  ids: [ID],
  run: async (context) => {
    const { workbench } = context;
    const base = hostPlan("hidden", "replication", SHAPE);
    const plan = { ...base, settings: { ...base.settings, "repl-diskless-sync-delay": 0 } };
    await workbench.withServers([plan], async ({ host, deployments: [source], signal }) => {
      if (source === undefined) throw new Error("no deployment was started");
      await form(source, SHAPE, { signal });
      const [node] = source.nodes;
      if (node === undefined) throw new Error("there is no node");
      const connection = await source.connect(node);
      const folder = join(host.run.path, "archive");
      const store = new DirectoryStore(folder);
      const archive = await RunningArchive.start(store, source, join(host.run.path, "spool"), signal);
      await archive.caughtUp(signal);
      await writeDataSet(connection, 77, KEYS);
      await connection.select(0);
      await writeChangedKeys(connection);
      connection.disconnect();
      await archive.caughtUp(signal);
      await archive.stop();
      const restore = await restoreOf(store);
      const staged = await stage(host, restore, signal);
      const found = [
        await findNothing(workbench, restore, staged, context),
        ...(await findInServers(workbench, restore, staged, context)),
        ...(await findInFiles(workbench, folder, context)),
      ];
      const [unchanged, ...changed] = found;
      const count = changed.filter(Boolean).length;
      const what =
        `one change hidden in each of ${changed.length} restored deployments and archives (${CHANGES.length} in ` +
        `servers, ${FILE_CHANGES.length} in files): those that are found and named, and without a change, nothing is ` +
        `found${unchanged === true ? "" : " (this is not so)"}`;
      context.emit(singleRow({ id: ID, what, unit: "sets" }, unchanged === true ? count : 0, atLeast(changed.length)));
    });
  },
};

type Report = Pick<BenchmarkContext, "report">;

/** Whether the comparison of an unchanged deployment finds nothing. */
async function findNothing(
  workbench: Workbench,
  restore: Restore,
  staged: readonly StagedShard[],
  { report }: Report,
): Promise<boolean> {
  const names = await compareChanged(workbench, restore, staged);
  report(`no change: ${names.length === 0 ? "nothing found" : names.join(", ")}`);
  return names.length === 0;
}

async function findInServers(
  workbench: Workbench,
  restore: Restore,
  staged: readonly StagedShard[],
  { report }: Report,
): Promise<boolean[]> {
  const found: boolean[] = [];
  for (const change of CHANGES) {
    const names = await compareChanged(workbench, restore, staged, change);
    const isNamed = names.join() === change.named.toSorted().join();
    report(`${change.what}: ${isNamed ? "named" : `not named, but: ${names.join(", ")}`}`);
    found.push(isNamed);
  }
  return found;
}

/** Restores, changes one thing, and compares. @returns what the comparison names, in the order of the texts */
async function compareChanged(
  workbench: Workbench,
  restore: Restore,
  staged: readonly StagedShard[],
  change?: Change,
): Promise<string[]> {
  const restoreChanged = workbench.withServers([], async ({ host, signal }) => {
    const { deployment, shape, compare } = await restoreInto(host, restore, shapeOf(restore, SHARDS), signal, staged);
    if (change !== undefined) await withChangedServers(deployment, shape, (servers) => change.apply(servers));
    return (await compare()).flatMap(namesOf).sort();
  });
  return restoreChanged.catch((error: unknown) => {
    workbench.signal.throwIfAborted();
    return [`an error: ${messageOf(error)}`];
  });
}

function namesOf({ comparison: { first, libraries, isEqual } }: ServerComparison): string[] {
  const names = [...first.map(({ key, kind }) => `${key.toString()}: ${kind}`), ...libraries];
  return isEqual && names.length > 0 ? ["equal, although there are differences"] : names;
}

/** A change of one file of an archive, and what the project must say about it. */
interface FileChange {
  readonly what: string;
  readonly says: RegExp;
  /** @param set folder of the archive's set */
  readonly apply: (set: string) => void;
}

const FILE_CHANGES: readonly FileChange[] = [
  {
    what: "a byte in the middle of the base",
    says: /base\.rdb is damaged/,
    apply: (set) => {
      flip(join(set, "base.rdb"));
    },
  },
  {
    what: "a byte of the last increment",
    says: /\.aof is damaged|increment.* is damaged/,
    apply: (set) => {
      flip(lastIncrement(set));
    },
  },
  {
    what: "a missing increment",
    says: /is missing/,
    apply: (set) => {
      rmSync(lastIncrement(set));
    },
  },
  {
    what: "a manifest that is cut off",
    says: /manifest|json/i,
    apply: (set) => {
      const manifest = join(set, "base.json");
      writeFileSync(manifest, readFileSync(manifest).subarray(0, 40));
    },
  },
];

function flip(file: string): void {
  const bytes = readFileSync(file);
  const middle = Math.floor(bytes.length / 2);
  bytes[middle] = (bytes[middle] ?? 0) ^ 1;
  writeFileSync(file, bytes);
}

function lastIncrement(set: string): string {
  const name = readdirSync(set)
    .filter((each) => /\.aof$/.test(each))
    .sort()
    .at(-1);
  if (name === undefined) throw new Error(`${set} has no increment: ${readdirSync(set).join()}`);
  return join(set, name);
}

async function findInFiles(workbench: Workbench, folder: string, { report }: Report): Promise<boolean[]> {
  const found: boolean[] = [];
  for (const [index, { what, says, apply }] of FILE_CHANGES.entries()) {
    const copy = `${folder}-${index}`;
    cpSync(folder, copy, { recursive: true });
    apply(onlySet(copy));
    const said = await restoreDamaged(workbench, copy);
    report(`${what}: ${said ?? "nothing found"}`);
    found.push(said !== undefined && says.test(said));
  }
  return found;
}

/** Restores an archive with a changed file. @returns what the project says about it; undefined if it finds nothing */
async function restoreDamaged(workbench: Workbench, folder: string): Promise<string | undefined> {
  const store = new DirectoryStore(folder);
  const { damaged } = await readCatalog(store, folder);
  if (damaged.length > 0) return damaged.map(({ text }) => text).join("; ");
  try {
    const restore = await restoreOf(store);
    return await workbench.withServers([], async ({ host, signal }) => {
      const compared = await (await restoreInto(host, restore, shapeOf(restore, SHARDS), signal)).compare();
      const names = compared.flatMap(namesOf);
      return names.length === 0 ? undefined : names.join("; ");
    });
  } catch (error) {
    workbench.signal.throwIfAborted();
    return messageOf(error);
  }
}

/** The folder of the only set of an archive. */
function onlySet(folder: string): string {
  const base = readdirSync(folder, { recursive: true, encoding: "utf8" }).find((each) => each.endsWith("base.rdb"));
  if (base === undefined || !existsSync(join(folder, base))) throw new Error(`${folder} has no base`);
  return join(folder, base, "..");
}
