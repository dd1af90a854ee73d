import { type Problem, BadInput, problem } from "../../lib/errors";
import { compact } from "../../lib/compact";
import type { Programs } from "../../platforms/host/programs/programs";
import type { Catalog, Choice, Restore } from "../../backup/archive/catalog";
import { chooseRestore, formatTime, newerShards, readCatalog, readRestore } from "../../backup/archive/catalog";
import { type TtlRule, TTL_RULES } from "../../model/backup";
import { KeySelection } from "../../backup/restoring/key-selection";
import { refuseDamage, unloadable } from "../../backup/restoring/chosen-sets";
import { type RestoreShape, chooseShape, databasesProblem, namedDatabases } from "../../backup/restoring/restore-shape";
import { parseInstant } from "../../backup/restoring/instant";
import type { Mode } from "../../valkey/node";
import { SLOT_COUNT } from "../../valkey/topology/slots";
import { type ReplayTarget, readReplay, replay } from "../restoring/replay";
import { type RestoreOrder, RestoreRun } from "../restoring/restore-run";
import { placeAt } from "../../backup/archive/bucket/open-place";
import { print } from "../terminal/terminal";
import { type OptionValues, problemsOf, wrongValue } from "../running/options";
import { findServerPrograms, LocalServers } from "../running/local-servers";
import { printFailures } from "../running/run-to-end";

const LATEST = "latest";
export const DEFAULT_REPLICAS = 0;
export const DEFAULT_TTL: TtlRule = "absolute";
const MOST_REPLICAS = 5;
const MOST_SERVERS = 1000;

export async function restore(location: string, values: OptionValues, interruption: AbortSignal): Promise<number> {
  const { order, programs, target } = await readInput(location, values, interruption);
  const servers = new LocalServers(interruption);
  if (target !== undefined) return replay(order, target, programs, servers);
  const run = new RestoreRun(order, programs, servers);
  try {
    await run.execute();
    printFailures(run.verifications, "the restored servers are not as planned");
    print("", ...run.report);
    if (run.passed && order.keys.isAll) await run.recordProof();
    if (values["check"] !== true) await run.serve();
    return run.passed ? 0 : 1;
  } finally {
    await servers.stop();
  }
}

async function readInput(
  location: string,
  { into, at = LATEST, ...values }: OptionValues,
  signal: AbortSignal,
): Promise<{ readonly order: RestoreOrder; readonly programs: Programs; readonly target: ReplayTarget | undefined }> {
  const problems: Problem[] = [];
  const target = readReplay({ into, ...values }, problems);
  const isNew = values["replayInto"] !== true;
  if (isNew && into !== "local") problems.push(wrongValue("--into", into ?? "missing", "local (this machine)"));
  const instant = at === LATEST ? LATEST : parseInstant(String(at));
  if (instant === undefined)
    problems.push(wrongValue("--at", at, `${LATEST}, or a time such as 2026-11-24T08:00:00Z`, "wrong-time"));
  const wanted = readShape(isNew ? values : {}, problems);
  const { keys, ttl } = readSelection(values, problems);
  let archived: Archived | undefined;
  try {
    archived = await readArchive(location, values, instant, wanted, problems, signal);
  } catch (error) {
    problems.push(...problemsOf(error));
  }
  if (archived === undefined || problems.length > 0) throw new BadInput("restore", problems);
  const { catalog, choice, shape, restored } = archived;
  print(...catalog.damaged.map(({ text }) => `DAMAGED ${text}`));
  if (instant === LATEST) {
    const newer = newerShards(catalog, choice);
    const last = formatTime(Math.max(...restored.shards.map(({ point }) => point.at)));
    if (newer.length > 0) print(`${newer.join("; ")}; the last time that all shards have is ${last}`);
    refuseDamage(catalog, restored, "--at");
  }
  const programs = await findServerPrograms(signal);
  const unfit =
    !isNew || shape.isArchived || !keys.isAll
      ? undefined
      : databasesProblem(shape.mode, namedDatabases(restored), programs.version);
  const refused = [...unloadable(restored, programs.version), ...compact([unfit])];
  if (refused.length > 0) throw BadInput.of("restore", "not-loadable", refused);
  return { order: { restored, shape, replicas: wanted.replicas, keys, ttl }, programs, target };
}

interface Archived {
  readonly catalog: Catalog;
  readonly choice: Choice;
  readonly shape: RestoreShape;
  readonly restored: Restore;
}

async function readArchive(
  location: string,
  values: OptionValues,
  instant: number | typeof LATEST | undefined,
  { replicas, ...wanted }: WantedShape,
  problems: Problem[],
  signal: AbortSignal,
): Promise<Archived | undefined> {
  const given = problems.length;
  const open = placeAt(location, values, problems);
  // A location that is wrong cannot be opened.
  if (problems.length > given) return undefined;
  const place = await open(signal);
  const catalog = await readCatalog(place);
  if (instant === undefined) return undefined;
  const choice = chooseRestore(catalog, instant === LATEST ? undefined : instant);
  if (typeof choice === "string") {
    const damaged = catalog.damaged.map(({ text }) => problem("damaged", "", `DAMAGED ${text}`));
    problems.push(problem("not-archived", "--at", choice), ...damaged);
    return undefined;
  }
  const shape = chooseShape(choice.period, wanted);
  if (typeof shape === "string") {
    problems.push(problem("wrong-shape", "", shape));
    return undefined;
  }
  const isReadable = problems.length === 0;
  problems.push(...tooManyServers(shape, replicas));
  return isReadable ? { catalog, choice, shape, restored: await readRestore(choice) } : undefined;
}

function readSelection(
  { keys = [], ttl = DEFAULT_TTL }: OptionValues,
  problems: Problem[],
): { readonly keys: KeySelection; readonly ttl: TtlRule } {
  const patterns = Array.isArray(keys) ? keys.map(String) : [];
  if (patterns.includes(""))
    problems.push(problem("empty-pattern", "--keys", ' is "": expected a pattern such as app:*'));
  const rule = TTL_RULES.find((each) => each === ttl);
  if (rule === undefined) problems.push(wrongValue("--ttl", ttl, TTL_RULES.join(" or ")));
  return { keys: new KeySelection(patterns), ttl: rule ?? DEFAULT_TTL };
}

interface WantedShape {
  readonly mode: Mode | undefined;
  readonly shards: number | undefined;
  readonly replicas: number;
}

function readShape({ mode, shards, replicas = DEFAULT_REPLICAS }: OptionValues, problems: Problem[]): WantedShape {
  const isMode = mode === "cluster" || mode === "replication";
  if (mode !== undefined && !isMode) problems.push(wrongValue("--mode", mode, "cluster or replication"));
  const number = (option: string, value: unknown, least: number, most: number): number | undefined => {
    const found = /^\d+$/.test(String(value)) ? Number(value) : Infinity;
    if (least <= found && found <= most) return found;
    problems.push(wrongValue(option, value, `a whole number from ${least} to ${most}`));
    return undefined;
  };
  return {
    mode: isMode ? mode : undefined,
    shards: shards === undefined ? undefined : number("--shards", shards, 1, SLOT_COUNT),
    replicas: number("--replicas", replicas, 0, MOST_REPLICAS) ?? DEFAULT_REPLICAS,
  };
}

function tooManyServers({ shards }: RestoreShape, replicas: number): Problem[] {
  const servers = shards.length * (1 + replicas);
  const message = ` ${shards.length} with --replicas ${replicas} needs ${servers} servers; at most ${MOST_SERVERS} are allowed`;
  return servers <= MOST_SERVERS ? [] : [problem("too-many-servers", "--shards", message)];
}
