/** The package as others have it: a tarball of this checkout, installed in an empty folder with scripts blocked. */
import { execFile } from "node:child_process";
import { existsSync, linkSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "../../lib/system/package";
import { copyCheckout } from "./checkout";

const execute = promisify(execFile);

export class InstalledPackage {
  private constructor(
    private readonly place: string,
    readonly directory: string,
  ) {}

  /**
   * Takes half a minute. npm finds the checkout's packages in the folder, so that it need not unpack 400 MB again: it
   * keeps those that the tarball depends on, fetches what is missing, and removes the rest.
   */
  static async open(): Promise<InstalledPackage> {
    const place = mkdtempSync(join(tmpdir(), "package-"));
    const [checkout, directory] = ["checkout", "elsewhere"].map((name) => join(place, name)) as [string, string];
    mkdirSync(checkout);
    mkdirSync(directory);
    copyCheckout(checkout);
    const installed = new InstalledPackage(place, directory);
    await installed.run("npm", ["pack", "--pack-destination", place], {}, checkout);
    // Links do not reach from disk to disk.
    if (statSync(ROOT).dev === statSync(directory).dev) linkDependencies(directory);
    const tarball = join(place, readdirSync(place).find((name) => name.endsWith(".tgz")) ?? "");
    await installed.run("npm", ["install", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund", tarball]);
    return installed;
  }

  get path(): string {
    return join(this.directory, "node_modules", "valkey-measured");
  }

  get cache(): string {
    return join(this.place, "cache");
  }

  async run(
    program: string,
    args: readonly string[],
    variables: NodeJS.ProcessEnv = {},
    cwd = this.directory,
  ): Promise<string> {
    // Of the `npm test` and of the test runner that this is part of, nothing may be taken over.
    const inherited = Object.entries(process.env).filter(
      ([name]) => !/^(npm_(package|lifecycle|config_local_prefix)|VITEST|NODE_OPTIONS|NODE_ENV|VALKEY_)/.test(name),
    );
    const env = { ...Object.fromEntries(inherited), XDG_CACHE_HOME: this.cache, ...variables };
    try {
      const { stdout, stderr } = await execute(program, args, { cwd, env, maxBuffer: 2 ** 26 });
      return stdout + stderr;
    } catch (error) {
      const { message, stdout } = error as Error & { readonly stdout?: string };
      throw new Error(`${message}\n${stdout ?? ""}`, { cause: error });
    }
  }

  close(): void {
    rmSync(this.place, { recursive: true, force: true });
  }
}

/** Gives a folder the packages that the checkout's lock file has outside of development. */
function linkDependencies(directory: string): void {
  const { packages } = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")) as {
    packages: Record<string, { readonly dev?: boolean; readonly devOptional?: boolean }>;
  };
  for (const [path, { dev, devOptional }] of Object.entries(packages))
    if (path !== "" && dev !== true && devOptional !== true && existsSync(join(ROOT, path)))
      linkFiles(join(ROOT, path), join(directory, path));
}

/** Hard links take no room and hardly any time. */
function linkFiles(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    // Packages within packages have entries of their own in the lock file.
    if (entry.isDirectory() && entry.name !== "node_modules") linkFiles(source, target);
    else if (entry.isFile()) linkSync(source, target);
  }
}
