import { type Problem, BadInput, Failure, messageOf, problem } from "../../../lib/errors";
import { existsSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { fetchPrograms, hasApt, unpackedPrograms, type Product } from "./debian-packages";
import { type Programs, findPrograms, inspectPrograms } from "./programs";

export const ENGINE_PATTERN = /^(valkey|redis)(-\d+(\.\d+){0,2})?$|^\//;

const SUITES: Readonly<Record<string, string>> = {
  "valkey-8.0": "bookworm-backports",
  "valkey-8.1": "trixie",
  "valkey-9.1": "forky",
  "redis-8.0": "trixie",
};

interface PackageDirectories {
  readonly packages: string;
  /** Differs from `packages`, because `findPrograms` uses all programs there. */
  readonly comparison: string;
}

/** @param engines undefined for the default Valkey @throws BadInput with a reason for every engine not found */
export async function findEngines(
  engines: ReadonlySet<string | undefined>,
  places: PackageDirectories,
  report: (line: string) => void,
  signal: AbortSignal,
): Promise<Map<string | undefined, Programs>> {
  const found = new Map<string | undefined, Programs>();
  const problems: Problem[] = [];
  for (const engine of engines) {
    try {
      found.set(engine, await findEngine(engine, places, report, signal));
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof BadInput || error instanceof Failure)) throw error;
      problems.push(problem("no-engine", engine ?? "valkey", messageOf(error)));
    }
  }
  if (problems.length > 0) throw new BadInput("engines", problems);
  return found;
}

async function findEngine(
  engine: string | undefined,
  { packages, comparison }: PackageDirectories,
  report: (line: string) => void,
  signal: AbortSignal,
): Promise<Programs> {
  if (engine === undefined || engine === "valkey") return findPrograms(packages, report, signal);
  if (isAbsolute(engine)) return inspectDirectory(engine);
  const [name = "", version] = engine.split("-");
  const product: Product = name === "redis" ? "redis" : "valkey";
  const looked: string[] = [];
  for (const [directory, source] of placesOf(product, packages, comparison)) {
    const programs = await inspectPrograms(directory, source, product);
    if (typeof programs === "string") looked.push(programs);
    else if (isVersion(programs, version)) return programs;
    else looked.push(`${directory} has ${programs.version}`);
  }
  if (!hasApt())
    throw new Failure(
      [
        "it is not installed, and this machine has no apt to fetch it; install it, and name the directory of its programs",
        ...looked,
      ].join("; "),
    );
  const programs = await inspectPrograms(
    await fetchPrograms(comparison, report, signal, SUITES[engine], product),
    "Debian packages",
    product,
  );
  if (typeof programs === "string") throw new Failure(programs);
  if (!isVersion(programs, version))
    throw new Failure([`the newest package has version ${programs.version}`, ...looked].join("; "));
  return programs;
}

async function inspectDirectory(directory: string): Promise<Programs> {
  const product: Product =
    existsSync(join(directory, "redis-server")) && !existsSync(join(directory, "valkey-server")) ? "redis" : "valkey";
  const programs = await inspectPrograms(directory, directory, product);
  if (typeof programs === "string") throw new Failure(programs);
  return programs;
}

function placesOf(product: Product, packages: string, others: string): [directory: string, source: string][] {
  const home = process.env["VALKEY_HOME"];
  const homes =
    home === undefined || home === ""
      ? []
      : ["bin", "src", "."].map((name): [string, string] => [join(home, name), "VALKEY_HOME"]);
  const onPath = (process.env["PATH"] ?? "")
    .split(delimiter)
    .filter((directory) => directory !== "")
    .map((directory): [string, string] => [directory, "the PATH"]);
  const unpacked = [packages, others]
    .flatMap((place) => unpackedPrograms(place, product))
    .map((directory): [string, string] => [directory, "Debian packages"]);
  return [...homes, ...onPath, ...unpacked].filter(([directory]) => existsSync(join(directory, `${product}-server`)));
}

function isVersion({ version }: Programs, wanted: string | undefined): boolean {
  return wanted === undefined || version === wanted || version.startsWith(`${wanted}.`);
}
