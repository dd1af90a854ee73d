/**
 * Unpacks Valkey, Redis (for comparisons) or HAProxy (for tests) from Debian or Ubuntu without root. apt fetches from
 * this machine's mirror and checks signatures, with separate state and cache. Programs of a newer suite run through the
 * loader in the unpacked tree, because they need its C library.
 */
import { execFile } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { compact } from "../../../lib/compact";
import { Failure, messageOf } from "../../../lib/errors";

const run = promisify(execFile);
const PROGRAM_TEMPLATE = join(__dirname, "unpacked-program.sh");

interface Suite {
  readonly suite: string;
  readonly component: string;
  /** Package version with which this project is tested. A different one is used and reported. */
  readonly pinned: string | undefined;
  /** Name of the suite that has the dependencies of this suite's packages. @default this suite has them itself */
  readonly base?: string;
}

const SUITES: Readonly<Record<string, readonly Suite[]>> = {
  debian: [
    { suite: "forky", component: "main", pinned: "9.1.2-1" },
    { suite: "trixie", component: "main", pinned: "8.1.1+dfsg1-3+deb13u2" },
    { suite: "bookworm-backports", component: "main", pinned: "8.0.1+dfsg1-1~bpo12+1", base: "bookworm" },
  ],
  ubuntu: [
    { suite: "resolute", component: "universe", pinned: undefined },
    { suite: "devel", component: "universe", pinned: undefined },
  ],
};

/** Packages are PRODUCT-server and PRODUCT-tools, programs PRODUCT-server, -cli and -benchmark. */
export type Product = "valkey" | "redis";
export const programNames = (product: Product): readonly string[] =>
  ["server", "cli", "benchmark"].map((program) => `${product}-${program}`);

type Unpackable = Product | "haproxy";
const packagesOf = (product: Unpackable): readonly string[] =>
  product === "haproxy" ? [product] : [`${product}-server`, `${product}-tools`];
const programsIn = (product: Unpackable): readonly string[] =>
  product === "haproxy" ? [product] : programNames(product);

/** Redis 7.0 is the first version with `shutdown-on-sigterm`. */
export const MIN_MAJOR_VERSION: Readonly<Record<Unpackable, number>> = { valkey: 8, redis: 7, haproxy: 3 };

/** Without these small packages, apt would fetch all of systemd for a dependency. */
const SMALL_ALTERNATIVES = ["systemd-standalone-tmpfiles", "systemd-standalone-sysusers"];

export function unpackedPrograms(packages: string, product: Unpackable = "valkey"): string[] {
  if (!existsSync(packages)) return [];
  const trees = readdirSync(packages).filter((name) => name.startsWith(`${product}_`));
  return trees.sort((a, b) => b.localeCompare(a, "en", { numeric: true })).map((name) => join(packages, name, "bin"));
}

export function hasApt(): boolean {
  return process.platform === "linux" && existsSync("/usr/bin/apt-get") && existsSync("/usr/bin/dpkg-deb");
}

/** From the newest suite. @param only other suites are not used @throws Failure with a reason for each suite */
export async function fetchPrograms(
  packages: string,
  report: (line: string) => void,
  signal: AbortSignal,
  only?: string,
  product: Unpackable = "valkey",
): Promise<string> {
  const distribution = readDistribution();
  const suites = SUITES[distribution.id]?.filter(({ suite }) => only === undefined || suite === only);
  if (suites === undefined)
    throw new Failure(
      `no suite of ${distribution.id} has packages of Valkey; install Valkey 8.0 or newer, or set VALKEY_HOME`,
    );
  mkdirSync(packages, { recursive: true });
  const mirrors = await findMirrors(distribution.codename, signal);
  if (mirrors.length === 0)
    throw new Failure(
      "the configuration of apt has no mirror of this distribution; apt-get indextargets lists what apt knows",
    );
  const reasons: string[] = [];
  for (const mirror of mirrors) {
    for (const suite of suites) {
      signal.throwIfAborted();
      const work = mkdtempSync(join(packages, ".fetch-"));
      try {
        return await fetchFrom(mirror, suite, distribution.id, { packages, work, report, signal, product });
      } catch (error) {
        signal.throwIfAborted();
        reasons.push(`${suite.suite}: ${lastLine(error)}`);
      } finally {
        rmSync(work, { recursive: true, force: true });
      }
    }
  }
  throw new Failure(
    `no suite offers ${product} for this machine:\n${reasons.map((reason) => `  - ${reason}`).join("\n")}`,
  );
}

interface Fetch {
  readonly product: Unpackable;
  readonly packages: string;
  readonly work: string;
  readonly report: (line: string) => void;
  readonly signal: AbortSignal;
}

async function fetchFrom(
  mirror: string,
  suite: Suite,
  distribution: string,
  { product, packages, work, report, signal }: Fetch,
): Promise<string> {
  report(`reading the packages of ${suite.suite}`);
  const names = compact([suite.suite, suite.base]);
  const sources = names.map((name) => `deb ${trust(distribution)}${mirror} ${name} ${suite.component}\n`).join("");
  const options = aptOptions(work, sources);
  await run("apt-get", [...options, "update"], { signal });
  const { stdout: policy } = await run("apt-cache", [...options, "policy", packagesOf(product)[0] ?? ""], { signal });
  const version = /Candidate: (\S+)/.exec(policy)?.[1];
  if (version === undefined || version === "(none)") throw new Failure(`it has no package of ${product}`);
  // The versions of Debian's Redis packages begin with an epoch, as in 5:8.0.2-3.
  const upstream = version.replace(/^\d+:/, "");
  const oldest = MIN_MAJOR_VERSION[product];
  if (Number.parseInt(upstream, 10) < oldest)
    throw new Failure(`it has ${product} ${version}, but ${oldest}.0 or newer is required`);
  if (product === "valkey" && suite.pinned !== undefined && version !== suite.pinned)
    report(`the suite ${suite.suite} now has Valkey ${version}; this project is tested with Valkey ${suite.pinned}`);

  const target = join(packages, `${product}_${upstream}_${suite.suite}`);
  if (existsSync(target)) return join(target, "bin");
  report(`fetching ${product} ${version} from ${suite.suite}`);
  const wanted = packagesOf(product).map((name) => `${name}=${version}`);
  await run("apt-get", [...options, "install", "-d", "-y", ...wanted, ...SMALL_ALTERNATIVES], { signal }).catch(() => {
    signal.throwIfAborted();
    // Older suites do not have these packages, and do not need them.
    return run("apt-get", [...options, "install", "-d", "-y", ...wanted], { signal });
  });
  const tree = join(work, "tree");
  const archives = join(work, "cache", "archives");
  mkdirSync(join(tree, "root"), { recursive: true });
  for (const name of readdirSync(archives).filter((file) => file.endsWith(".deb"))) {
    await run("dpkg-deb", ["-x", join(archives, name), join(tree, "root")], { signal });
  }
  writePrograms(tree, product);
  writeFileSync(
    join(tree, "packages.txt"),
    `${readdirSync(archives)
      .filter((file) => file.endsWith(".deb"))
      .join("\n")}\n`,
  );
  await moveInPlace(tree, target, product);
  return join(target, "bin");
}

/** The rest of the system's apt configuration, such as proxies, still applies. */
function aptOptions(work: string, sources: string): string[] {
  for (const directory of ["lists/partial", "cache/archives/partial", "none"])
    mkdirSync(join(work, directory), { recursive: true });
  writeFileSync(join(work, "status"), "");
  writeFileSync(join(work, "sources.list"), sources);
  const settings = {
    "Dir::State": work,
    "Dir::State::lists": join(work, "lists"),
    "Dir::State::status": join(work, "status"),
    "Dir::Cache": join(work, "cache"),
    "Dir::Cache::archives": join(work, "cache/archives"),
    "Dir::Etc::sourcelist": join(work, "sources.list"),
    "Dir::Etc::sourceparts": join(work, "none"),
    "Dir::Etc::preferences": join(work, "none/preferences"),
    "Dir::Etc::preferencesparts": join(work, "none"),
    // Without this option, apt as root switches to a user that cannot write to this directory.
    "APT::Sandbox::User": "",
    "APT::Install-Recommends": "false",
    "Acquire::Languages": "none",
    // Suites that change daily have signatures that expire after a few days, and mirrors may lag behind.
    "Acquire::Check-Valid-Until": "false",
    "Acquire::Retries": "2",
    "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
    "Acquire::IndexTargets::deb::CNF::DefaultEnabled": "false",
  };
  return ["-q", ...Object.entries(settings).flatMap(([key, value]) => ["-o", `${key}=${value}`])];
}

/** apt then trusts only the distribution's keyring. Empty if this machine does not have it. */
function trust(distribution: string): string {
  const keyring = ["gpg", "pgp"]
    .map((end) => `/usr/share/keyrings/${distribution}-archive-keyring.${end}`)
    .find((file) => existsSync(file));
  return keyring === undefined ? "" : `[signed-by=${keyring}] `;
}

function writePrograms(tree: string, product: Unpackable): void {
  const files = readdirSync(join(tree, "root"), { recursive: true, encoding: "utf8" });
  const loader = files.find((file) => /(^|\/)ld-linux[^/]*\.so\.\d+$/.test(file));
  if (loader === undefined) throw new Failure("the packages contain no dynamic loader (ld-linux, from libc6)");
  const objects = files.filter((file) => /^(usr\/)?lib\/[^/]+\/lib[^/]*\.so\.[^/]*$/.test(file));
  const directories = [...new Set(objects.map((file) => dirname(file)))];
  const libraries = directories.map((path) => `$root/${path}`).join(":");
  const template = readFileSync(PROGRAM_TEMPLATE, "utf8");
  mkdirSync(join(tree, "bin"));
  for (const program of programsIn(product)) {
    const path = files.find((file) => file.endsWith(`bin/${program}`)) ?? "";
    const values: Readonly<Record<string, string>> = { loader, libraries, program, path };
    const file = join(tree, "bin", program);
    writeFileSync(
      file,
      template.replace(/@([a-z]+)@/g, (_word, name: string) => values[name] ?? ""),
    );
    chmodSync(file, 0o755);
  }
}

/** When complete, so that no incomplete tree is visible. Uses a `target` that a different run has unpacked. */
async function moveInPlace(tree: string, target: string, product: Unpackable): Promise<void> {
  try {
    renameSync(tree, target);
  } catch (error) {
    if (!existsSync(target)) throw error;
  }
  await run(join(target, "bin", programsIn(product)[0] ?? ""), ["-v"]);
}

/** Those of this machine's apt, the most likely first, without other repositories. */
async function findMirrors(codename: string, signal: AbortSignal): Promise<string[]> {
  const { stdout } = await run(
    "apt-get",
    ["indextargets", "--no-release-info", "--format", "$(CREATED_BY) $(RELEASE) $(REPO_URI)"],
    { signal },
  );
  const targets = stdout.split("\n").map((line) => line.split(" "));
  const having = (release: string): string[] =>
    targets.flatMap(([by, name, uri]) => (by === "Packages" && name === release && uri !== undefined ? [uri] : []));
  // Other repositories may have a release with the same name, but only the distribution itself has NAME-updates.
  return [...new Set([...having(`${codename}-updates`), ...having(codename)])].filter(
    (uri) => !uri.includes("-security"),
  );
}

function readDistribution(): { id: string; codename: string } {
  const release = new Map(
    readFileSync("/etc/os-release", "utf8")
      .split("\n")
      .map((line) => [line.split("=")[0] ?? "", line.slice(line.indexOf("=") + 1).replace(/^"|"$/g, "")]),
  );
  const ids = [release.get("ID") ?? "", ...(release.get("ID_LIKE") ?? "").split(" ")];
  const id = ids.find((name) => name in SUITES) ?? ids[0] ?? "unknown";
  const codename =
    release.get("UBUNTU_CODENAME") ?? release.get("DEBIAN_CODENAME") ?? release.get("VERSION_CODENAME") ?? "";
  return { id, codename };
}

function lastLine(error: unknown): string {
  const text =
    error instanceof Error && "stderr" in error && typeof error.stderr === "string" ? error.stderr : messageOf(error);
  const lines = text.trim().split("\n");
  return (lines.findLast((line) => line.startsWith("E:")) ?? lines.at(-1) ?? "").trim();
}
