import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { BadInput, messageOf } from "../../../lib/errors";
import { fetchPrograms, hasApt, MIN_MAJOR_VERSION, programNames, unpackedPrograms } from "./debian-packages";
import type { Product } from "./debian-packages";

const run = promisify(execFile);

export interface Programs {
  readonly product: Product;
  readonly version: string;
  readonly server: string;
  readonly cli: string;
  readonly benchmark: string;
  readonly source: string;
}

/**
 * Valkey 8.0 or newer, in VALKEY_HOME if it is set, else the PATH, unpacked packages, packages through apt.
 * @throws BadInput with a reason for each place, and how to install Valkey
 */
export async function findPrograms(
  packages: string,
  report: (line: string) => void,
  signal: AbortSignal,
  environment: NodeJS.ProcessEnv = process.env,
): Promise<Programs> {
  const home = environment["VALKEY_HOME"];
  if (home !== undefined && home !== "") {
    const directory = ["bin", "src", "."]
      .map((name) => join(home, name))
      .find((path) => existsSync(join(path, "valkey-server")));
    if (directory === undefined)
      throw noServers([
        `VALKEY_HOME is ${home}, but neither this directory nor its bin/ nor its src/ contains valkey-server`,
      ]);
    const programs = await inspectPrograms(directory, "VALKEY_HOME");
    if (typeof programs === "string") throw noServers([programs]);
    return programs;
  }
  const looked: string[] = [];
  for (const [directory, source] of candidates(packages, environment["PATH"] ?? "")) {
    const programs = await inspectPrograms(directory, source);
    if (typeof programs !== "string") return programs;
    looked.push(programs);
  }
  if (looked.length === 0) looked.push("no directory of the PATH has valkey-server");
  if (!hasApt()) throw noServers(looked);
  try {
    const programs = await inspectPrograms(await fetchPrograms(packages, report, signal), "Debian packages");
    if (typeof programs !== "string") return programs;
    looked.push(programs);
  } catch (error) {
    signal.throwIfAborted();
    looked.push(`packages: ${messageOf(error)}`);
  }
  throw noServers(looked);
}

function candidates(packages: string, path: string): [directory: string, source: string][] {
  const onPath = path
    .split(delimiter)
    .filter((directory) => directory !== "" && existsSync(join(directory, "valkey-server")));
  return [
    ...onPath.map((directory): [string, string] => [directory, "the PATH"]),
    ...unpackedPrograms(packages).map((directory): [string, string] => [directory, "Debian packages"]),
  ];
}

/** @returns the programs, or a sentence that says why they cannot be used */
export async function inspectPrograms(
  directory: string,
  source: string,
  product: Product = "valkey",
): Promise<Programs | string> {
  const [server = "", cli = "", benchmark = ""] = programNames(product).map((program) => join(directory, program));
  const paths = { server, cli, benchmark };
  const missing = Object.values(paths).filter((file) => !existsSync(file));
  if (missing.length > 0)
    return `${directory} lacks ${missing.map((file) => file.slice(directory.length + 1)).join(" and ")}`;
  try {
    const { stdout } = await run(paths.server, ["--version"]);
    const version = /\bv=(\d+\.\d+\.\d+)/.exec(stdout)?.[1];
    if (version === undefined) return `${paths.server} --version prints no version: ${stdout.trim()}`;
    const oldest = MIN_MAJOR_VERSION[product];
    if (Number.parseInt(version, 10) < oldest)
      return `${paths.server} has version ${version}, but ${oldest}.0 or newer is required`;
    return { product, version, ...paths, source };
  } catch (error) {
    return `${paths.server} does not run: ${messageOf(error).split("\n")[0] ?? ""}`;
  }
}

function noServers(looked: readonly string[]): BadInput {
  return BadInput.of("no usable Valkey server on this machine", "no-server", [
    ...looked,
    `install Valkey: ${installHint()}`,
    "or set VALKEY_HOME to the directory of a Valkey server",
  ]);
}

function installHint(): string {
  if (process.platform === "darwin") return "brew install valkey";
  const release = existsSync("/etc/os-release") ? readFileSync("/etc/os-release", "utf8") : "";
  const hints: [RegExp, string][] = [
    [/^ID(_LIKE)?=.*\b(fedora|rhel|centos)\b/m, "dnf install valkey"],
    [/^ID(_LIKE)?=.*\balpine\b/m, "apk add valkey valkey-cli valkey-benchmark"],
    [/^ID(_LIKE)?=.*\barch\b/m, "pacman -S valkey"],
    [/^ID(_LIKE)?=.*\b(suse|opensuse)\b/m, "zypper install valkey"],
    [/^ID(_LIKE)?=.*\b(debian|ubuntu)\b/m, "apt-get install valkey (from a suite that has 8.0 or newer)"],
  ];
  return hints.find(([pattern]) => pattern.test(release))?.[1] ?? "see valkey.io/download";
}
