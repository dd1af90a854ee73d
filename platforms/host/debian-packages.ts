/**
 * Valkey, or Redis to compare it with, from the packages of Debian or Ubuntu, unpacked into a directory: no root, nothing installed.
 *
 * apt itself fetches and checks them, with directories of its own in place of the system's, from the mirror
 * the system is configured for. A newer suite's programs need that suite's C library, so they run through
 * its loader from the unpacked tree.
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
import { Failure, messageOf } from "../../lib/errors";

const run = promisify(execFile);

/** A suite of a distribution that has Valkey, and the version this project is tested with. */
interface Suite {
  readonly suite: string;
  readonly component: string;
  /** Package version; when the suite has moved on, its present version is taken and the difference is reported. */
  readonly pinned: string | undefined;
  /** The suite that this one's packages depend on, where it is not complete in itself. */
  readonly base?: string;
}

/** Newest first. The suites of Ubuntu are given by name only: none of them is pinned. */
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

/** What is packaged as NAME-server and NAME-tools, and has programs NAME-server, NAME-cli and NAME-benchmark. */
export type Product = "valkey" | "redis";
export const programNames = (product: Product): readonly string[] =>
  ["server", "cli", "benchmark"].map((program) => `${product}-${program}`);
/** The oldest that this project deploys: Redis 7.0 is what it can be told to stop by, and what Valkey came from is 7.2. */
export const MIN_MAJOR_VERSION: Readonly<Record<Product, number>> = { valkey: 8, redis: 7 };

/** Named so that apt does not choose all of systemd to satisfy the packages' alternatives. */
const SMALL_ALTERNATIVES = ["systemd-standalone-tmpfiles", "systemd-standalone-sysusers"];

/** The directories of programs unpacked earlier, newest first. */
export function unpackedPrograms(packages: string, product: Product = "valkey"): string[] {
  if (!existsSync(packages)) return [];
  const trees = readdirSync(packages).filter((name) => name.startsWith(`${product}_`));
  return trees.sort((a, b) => b.localeCompare(a, "en", { numeric: true })).map((name) => join(packages, name, "bin"));
}

/** Whether this machine's packages can be used at all. */
export function hasApt(): boolean {
  return process.platform === "linux" && existsSync("/usr/bin/apt-get") && existsSync("/usr/bin/dpkg-deb");
}

/**
 * Fetches and unpacks a product from the newest suite that can be had.
 * @param packages where the tree goes; made if need be
 * @param report is told what happens, a line each
 * @param only the one suite to take them from, for an older Valkey
 * @returns the directory with the programs
 * @throws Failure when no suite can be had, with each suite's reason
 */
export async function fetchPrograms(
  packages: string,
  report: (line: string) => void,
  signal: AbortSignal,
  only?: string,
  product: Product = "valkey",
): Promise<string> {
  const distribution = readDistribution();
  const suites = SUITES[distribution.id]?.filter(({ suite }) => only === undefined || suite === only);
  if (suites === undefined) throw new Failure(`no packages are known for ${distribution.id}`);
  mkdirSync(packages, { recursive: true });
  const mirrors = await findMirrors(distribution.codename, signal);
  if (mirrors.length === 0) throw new Failure("apt names no mirror of the distribution (apt-get indextargets)");
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
    `no suite has ${product} for this machine:\n${reasons.map((reason) => `  - ${reason}`).join("\n")}`,
  );
}

interface Fetch {
  readonly product: Product;
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
  const names = [suite.suite, ...(suite.base === undefined ? [] : [suite.base])];
  const sources = names.map((name) => `deb ${trust(distribution)}${mirror} ${name} ${suite.component}\n`).join("");
  const options = aptOptions(work, sources);
  await run("apt-get", [...options, "update"], { signal });
  const { stdout: policy } = await run("apt-cache", [...options, "policy", `${product}-server`], { signal });
  const version = /Candidate: (\S+)/.exec(policy)?.[1];
  if (version === undefined || version === "(none)") throw new Failure(`has no ${product}-server`);
  // Debian's Redis has an epoch: 5:8.0.2-3.
  const upstream = version.replace(/^\d+:/, "");
  const oldest = MIN_MAJOR_VERSION[product];
  if (Number.parseInt(upstream, 10) < oldest)
    throw new Failure(`has ${product} ${version} only; ${oldest}.0 or newer is needed`);
  if (product === "valkey" && suite.pinned !== undefined && version !== suite.pinned)
    report(`${suite.suite} has moved on from ${suite.pinned} to ${version}`);

  const target = join(packages, `${product}_${upstream}_${suite.suite}`);
  if (existsSync(target)) return join(target, "bin");
  report(`fetching ${product} ${version} from ${suite.suite}`);
  const wanted = [`${product}-server=${version}`, `${product}-tools=${version}`];
  await run("apt-get", [...options, "install", "-d", "-y", ...wanted, ...SMALL_ALTERNATIVES], { signal }).catch(() => {
    signal.throwIfAborted();
    // Older suites have no such alternatives and do not need them.
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

/** apt with its own state, cache and sources; the rest of the system's apt configuration (proxies, say) stays in force. */
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
    // Root's apt would drop to a user who cannot write here.
    "APT::Sandbox::User": "",
    "APT::Install-Recommends": "false",
    "Acquire::Languages": "none",
    // Suites that change daily are signed for days only, and mirrors lag.
    "Acquire::Check-Valid-Until": "false",
    "Acquire::Retries": "2",
    "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
    "Acquire::IndexTargets::deb::CNF::DefaultEnabled": "false",
  };
  return ["-q", ...Object.entries(settings).flatMap(([key, value]) => ["-o", `${key}=${value}`])];
}

/** Only the distribution's own keys count, where it says which they are. */
function trust(distribution: string): string {
  const keyring = ["gpg", "pgp"]
    .map((end) => `/usr/share/keyrings/${distribution}-archive-keyring.${end}`)
    .find((file) => existsSync(file));
  return keyring === undefined ? "" : `[signed-by=${keyring}] `;
}

/** A script per program that runs it through the loader and libraries of its own tree, wherever that is. */
function writePrograms(tree: string, product: Product): void {
  const files = readdirSync(join(tree, "root"), { recursive: true, encoding: "utf8" });
  const loader = files.find((file) => /(^|\/)ld-linux[^/]*\.so\.\d+$/.test(file));
  if (loader === undefined) throw new Failure("the packages hold no loader (libc6)");
  const libraries = [
    ...new Set(
      files.filter((file) => /^(usr\/)?lib\/[^/]+\/lib[^/]*\.so\.[^/]*$/.test(file)).map((file) => dirname(file)),
    ),
  ];
  mkdirSync(join(tree, "bin"));
  for (const program of programNames(product)) {
    const script = [
      "#!/bin/sh",
      "tree=${0%/bin/*}",
      `root=$tree/root`,
      `exec "$root/${loader}" --argv0 ${program} --library-path "${libraries.map((path) => `$root/${path}`).join(":")}" "$root/usr/bin/${program}" "$@"`,
    ];
    const file = join(tree, "bin", program);
    writeFileSync(file, `${script.join("\n")}\n`);
    chmodSync(file, 0o755);
  }
}

/** Renames, so that a tree is whole or absent; another run may have been faster. */
async function moveInPlace(tree: string, target: string, product: Product): Promise<void> {
  try {
    renameSync(tree, target);
  } catch (error) {
    if (!existsSync(target)) throw error;
  }
  await run(join(target, "bin", `${product}-server`), ["--version"]);
}

/** The mirrors this machine's apt uses for the distribution itself, the likeliest first. */
async function findMirrors(codename: string, signal: AbortSignal): Promise<string[]> {
  const { stdout } = await run(
    "apt-get",
    ["indextargets", "--no-release-info", "--format", "$(CREATED_BY) $(RELEASE) $(REPO_URI)"],
    { signal },
  );
  const targets = stdout.split("\n").map((line) => line.split(" "));
  const having = (release: string): string[] =>
    targets.flatMap(([by, name, uri]) => (by === "Packages" && name === release && uri !== undefined ? [uri] : []));
  // Others' repositories may call a release by the same name; only the distribution has updates to it.
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
