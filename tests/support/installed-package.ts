/** The package as others have it: a tarball of this checkout, installed in an empty folder with scripts blocked. */
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { copyCheckout } from "./checkout";

const execute = promisify(execFile);

export class InstalledPackage {
  private constructor(
    private readonly place: string,
    /** The folder in which the package was installed. */
    readonly directory: string,
  ) {}

  /** Takes a minute: everything is compiled, and the package's dependencies are installed from the registry. */
  static async open(): Promise<InstalledPackage> {
    const place = mkdtempSync(join(tmpdir(), "package-"));
    const [checkout, directory] = ["checkout", "elsewhere"].map((name) => join(place, name)) as [string, string];
    mkdirSync(checkout);
    mkdirSync(directory);
    copyCheckout(checkout);
    const installed = new InstalledPackage(place, directory);
    await installed.run("npm", ["pack", "--pack-destination", place], {}, checkout);
    const tarball = join(place, readdirSync(place).find((name) => name.endsWith(".tgz")) ?? "");
    await installed.run("npm", ["install", "--ignore-scripts", "--prefer-offline", tarball]);
    return installed;
  }

  /** The package's own folder. */
  get path(): string {
    return join(this.directory, "node_modules", "valkey-measured");
  }

  /** The user's cache. */
  get cache(): string {
    return join(this.place, "cache");
  }

  /** Runs a program in the folder. @returns what it prints @throws Error with all of it, when it fails */
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
