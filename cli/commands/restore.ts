/**
 * `npm start -- restore`: restores an archive on this machine, and compares every key of the restored servers with the
 * archive.
 */
import type { Problem } from "../../lib/errors";
import { BadInput, problem, problemText } from "../../lib/errors";
import { packagesDirectory } from "../../lib/system/paths";
import type { Programs } from "../../platforms/host/programs/programs";
import { findPrograms } from "../../platforms/host/programs/programs";
import type { Catalog, Choice, Restore } from "../../valkey/archive/catalog";
import { chooseRestore, formatTime, newerShards, readCatalog, readRestore } from "../../valkey/archive/catalog";
import { holdingSets } from "../../valkey/archive/keeping/holds";
import type { TtlRule } from "../../valkey/restoring/key-selection";
import { KeySelection, TTL_RULES } from "../../valkey/restoring/key-selection";
import { refuseDamage, unloadable } from "../../valkey/restoring/chosen-sets";
import type { RestoreShape } from "../../valkey/restoring/restore-shape";
import { parseInstant } from "../../valkey/restoring/instant";
import { chooseShape, databasesProblem, namedDatabases } from "../../valkey/restoring/restore-shape";
import type { Place } from "../../valkey/archive/store";
import type { Mode } from "../../valkey/node";
import { SLOT_COUNT } from "../../valkey/topology/slots";
import type { ReplayTarget } from "../restoring/replay";
import { readReplay, replay } from "../restoring/replay";
import type { RestoreOrder } from "../restoring/restore-run";
import { RestoreRun } from "../restoring/restore-run";
import { placeAt } from "../../valkey/archive/bucket/open-place";
import { print } from "../terminal/terminal";
import { connectCommand, printFailures } from "./run-output";

const LATEST = "latest";
export const DEFAULT_REPLICAS = 0;
export const DEFAULT_TTL: TtlRule = "absolute";
const MOST_REPLICAS = 5;
/** Highest number of servers that one restore starts. */
const MOST_SERVERS = 1000;

/**
 * Restores an archive, verifies the restored servers, and compares their keys with the archive. Then the servers run
 * until Ctrl-C, unless `check` is set.
 * @returns 0 if verification and comparison pass, else 1
 * @throws BadInput with every problem, before any server starts; Failure; Interrupted
 */
export async function restore(
  location: string,
  values: Readonly<Record<string, unknown>>,
  interruption: AbortSignal,
): Promise<number> {
  const { order, programs, target } = await readInput(location, values, interruption);
  const holding = <T>(work: () => Promise<T>): Promise<T> => holdingSets(order.place, order.restored, print, work);
  if (target !== undefined) return holding(() => replay(order, target, programs, interruption));
  const run = new RestoreRun(order, programs, interruption);
  try {
    await holding(() => run.execute());
    printFailures(run.verifications);
    print("", ...run.report);
    if (run.passed && order.keys.isAll) await run.recordProof();
    if (values["check"] !== true) await run.serve(connectCommand);
    return run.passed ? 0 : 1;
  } finally {
    await run.stop();
  }
}

interface Input {
  readonly order: RestoreOrder;
  readonly programs: Programs;
  /** Running deployment that receives the keys; undefined if the restore starts a new deployment. */
  readonly target: ReplayTarget | undefined;
}

async function readInput(
  location: string,
  { into, at = LATEST, ...values }: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<Input> {
  const problems: Problem[] = [];
  const target = readReplay({ into, ...values }, problems);
  const isNew = values["replayInto"] !== true;
  if (isNew && into !== "local")
    problems.push(
      problem("wrong-value", "--into", ` is ${JSON.stringify(into ?? "missing")}: expected local (this machine)`),
    );
  const time = String(at);
  const instant = parseInstant(time);
  if (instant === undefined && time !== LATEST)
    problems.push(
      problem(
        "wrong-time",
        "--at",
        ` is ${JSON.stringify(at)}: expected ${LATEST}, or a time such as 2026-11-24T08:00:00Z`,
      ),
    );
  const { replicas, ...wanted } = readShape(isNew ? values : {}, problems);
  const { keys, ttl } = readSelection(values, problems);
  let choice: Choice | string | undefined;
  let chosen: Restore | undefined;
  let shape: RestoreShape | string | undefined;
  let catalog: Catalog | undefined;
  let place: Place | undefined;
  const given = problems.length;
  const open = placeAt(location, values, problems);
  try {
    // A location that is wrong cannot be opened.
    if (problems.length === given) place = await open(signal);
    if (place !== undefined) catalog = await readCatalog(place, place.label);
    if (catalog !== undefined && (instant !== undefined || time === LATEST)) choice = chooseRestore(catalog, instant);
    if (catalog !== undefined && typeof choice === "string")
      problems.push(
        problem("not-archived", "--at", choice),
        ...catalog.damaged.map(({ text }) => problem("damaged", "", `DAMAGED ${text}`)),
      );
    else if (typeof choice === "object") shape = chooseShape(choice.period, wanted);
    if (typeof shape === "string") problems.push(problem("wrong-shape", "", shape));
    if (typeof choice === "object" && problems.length === 0) chosen = await readRestore(choice);
  } catch (error) {
    if (!(error instanceof BadInput)) throw error;
    problems.push(...error.problems.map((each) => problem(each.code, error.subject, problemText(each))));
  }
  if (typeof shape === "object") problems.push(...tooManyServers(shape, replicas));
  if (problems.length > 0 || !place || !catalog || !chosen || typeof shape !== "object")
    throw new BadInput("restore", problems);
  print(...catalog.damaged.map(({ text }) => `DAMAGED ${text}`));
  const newer = instant === undefined && typeof choice === "object" ? newerShards(catalog, choice) : [];
  if (newer.length > 0)
    print(
      `${newer.join("; ")}; the last time that all shards have is ${formatTime(Math.max(...chosen.shards.map(({ point }) => point.at)))}`,
    );
  if (instant === undefined) refuseDamage(catalog, chosen, "--at");
  const programs = await findPrograms(packagesDirectory(), () => undefined, signal);
  const unfit =
    !isNew || shape.isArchived || !keys.isAll
      ? undefined
      : databasesProblem(shape.mode, namedDatabases(chosen), programs.version);
  const refused = [...unloadable(chosen, programs.version), ...(unfit === undefined ? [] : [unfit])];
  if (refused.length > 0) throw BadInput.of("restore", "not-loadable", refused);
  return { order: { place, restored: chosen, shape, replicas, keys, ttl }, programs, target };
}

/** Reads from the options which keys are restored, and how TTLs are set. Wrong options are added to `problems`. */
function readSelection(
  { keys = [], ttl = DEFAULT_TTL }: Readonly<Record<string, unknown>>,
  problems: Problem[],
): { readonly keys: KeySelection; readonly ttl: TtlRule } {
  const patterns = Array.isArray(keys) ? keys.map(String) : [];
  if (patterns.includes(""))
    problems.push(problem("empty-pattern", "--keys", ' is "": expected a pattern such as app:*'));
  const rule = TTL_RULES.find((each) => each === ttl);
  if (rule === undefined)
    problems.push(problem("wrong-value", "--ttl", ` is ${JSON.stringify(ttl)}: expected ${TTL_RULES.join(" or ")}`));
  return { keys: new KeySelection(patterns), ttl: rule ?? DEFAULT_TTL };
}

interface WantedShape {
  readonly mode: Mode | undefined;
  readonly shards: number | undefined;
  readonly replicas: number;
}

/** Reads mode, number of shards and number of replicas from the options. Wrong options are added to `problems`. */
function readShape(
  { mode, shards, replicas = DEFAULT_REPLICAS }: Readonly<Record<string, unknown>>,
  problems: Problem[],
): WantedShape {
  const isMode = mode === "cluster" || mode === "replication";
  if (mode !== undefined && !isMode)
    problems.push(problem("wrong-value", "--mode", ` is ${JSON.stringify(mode)}: expected cluster or replication`));
  const number = (option: string, value: unknown, least: number, most: number): number | undefined => {
    const found = /^\d+$/.test(String(value)) ? Number(value) : Infinity;
    if (least <= found && found <= most) return found;
    problems.push(
      problem("wrong-value", option, ` is ${JSON.stringify(value)}: expected a whole number from ${least} to ${most}`),
    );
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
  if (servers <= MOST_SERVERS) return [];
  return [
    problem(
      "too-many-servers",
      "--shards",
      ` ${shards.length} with --replicas ${replicas} needs ${servers} servers; at most ${MOST_SERVERS} are allowed`,
    ),
  ];
}
