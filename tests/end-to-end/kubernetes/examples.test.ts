/** The examples as a user runs them: a real engine and a real Kubernetes; each ends in a Valkey that is verified. */
import { execFile, execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { type Stack, LocalWorkspace } from "@pulumi/pulumi/automation";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { ROOT } from "../../../lib/system/package";
import { KUBECONFIG, ThrowAway, WHERE } from "../../support/kubernetes/throw-away";
import { pulumiPath, pulumiSkipNote } from "../../support/pulumi/pulumi-stack";

const STACK = "trial";
const ENVIRONMENT = {
  PULUMI_CONFIG_PASSPHRASE: "trial",
  PULUMI_SKIP_UPDATE_CHECK: "true",
};

const PLUGIN = join(ROOT, "components", "plugin");
const SMALL = { requests: { cpu: "50m", memory: "64Mi" }, limits: { cpu: "2", memory: "512Mi" } };

/** Why an example cannot run here, for its title; empty where it can. */
function skipNote(host: string): string {
  if (WHERE !== "" || pulumiPath() === undefined) return WHERE || pulumiSkipNote();
  const folders = (pulumiPath() ?? "").split(delimiter);
  return folders.some((folder) => existsSync(join(folder, host))) ? "" : ` (skipped: no ${host})`;
}

interface Example {
  readonly name: string;
  readonly host: string;
  /** Makes a copy of the example ready to run: with images and machines as a throw-away cluster has them. */
  readonly prepare: (directory: string, variables: Readonly<Record<string, string>>) => void;
  readonly change?: (directory: string) => void;
}

function rewrite(file: string, change: (text: string) => string): void {
  const text = readFileSync(file, "utf8");
  const changed = change(text);
  if (changed === text) throw new Error(`${file} is not what this test changes`);
  writeFileSync(file, changed);
}

function useCheckout(directory: string): void {
  symlinkSync(join(ROOT, "node_modules"), join(directory, "node_modules"));
  const paths = { "valkey-measured": [join(ROOT, "exports", "components.ts")] };
  writeFileSync(join(directory, "tsconfig.json"), JSON.stringify({ compilerOptions: { paths } }));
  rewrite(join(directory, "Pulumi.yaml"), (text) => {
    const runtime = { name: "nodejs", options: { typescript: false, nodeargs: "--import tsx" } };
    return stringify({
      ...(parse(text) as object),
      runtime,
      plugins: { providers: [{ name: "valkey", path: PLUGIN }] },
    });
  });
}

const EXAMPLES: readonly Example[] = [
  {
    name: "yaml",
    host: "pulumi-language-yaml",
    prepare: (directory) => {
      rewrite(join(directory, "Pulumi.yaml"), (text) => {
        const project = parse(text) as { resources: { orders: { properties: object } }; plugins: object };
        Object.assign(project.resources.orders.properties, { resources: SMALL, imagePullPolicy: "IfNotPresent" });
        project.plugins = { providers: [{ name: "valkey", path: PLUGIN }] };
        return stringify(project);
      });
    },
  },
  {
    name: "python",
    host: "pulumi-language-python",
    prepare: (directory, variables) => {
      const run = (program: string, ...args: string[]): void => {
        execFileSync(program, args, { cwd: directory, stdio: "pipe", env: { ...process.env, ...variables } });
      };
      const resources = JSON.stringify(SMALL);
      rewrite(join(directory, "__main__.py"), (text) =>
        text.replace(/^( +)zones=.*$/m, `$&\n$1resources=${resources},\n$1image_pull_policy="IfNotPresent",`),
      );
      rewrite(join(directory, "Pulumi.yaml"), (text) => text.replace(/^packages:[^]*/m, ""));
      run("python3", "-m", "venv", "venv");
      run(join(directory, "venv", "bin", "pip"), "install", "--quiet", "--requirement", "requirements.txt");
      run("pulumi", "package", "add", PLUGIN);
    },
  },
  {
    name: "typescript",
    host: "pulumi-language-nodejs",
    prepare: (directory) => {
      rewrite(join(directory, "index.ts"), (text) =>
        text.replace(
          /^( +)zones: .*$/m,
          `$&\n$1resources: ${JSON.stringify(SMALL)},\n$1imagePullPolicy: "IfNotPresent",`,
        ),
      );
      useCheckout(directory);
    },
    change: (directory) => {
      rewrite(join(directory, "index.ts"), (text) =>
        text
          .replace("allkeys-lru", "volatile-lru")
          .replace(
            /^( +)zones: .*$/m,
            `$&\n$1passwordVersion: 1,\n$1users: { app: { password: "of-the-application", rules: "+@read ~app:*" } },`,
          ),
      );
    },
  },
];

describe.each(EXAMPLES)("the example in $name", ({ name, host, prepare, change }) => {
  const note = skipNote(host);
  describe.skipIf(note !== "")(`on the Pulumi engine${note}`, { timeout: 400_000 }, () => {
    let here: ThrowAway;
    let directory: string;
    let stack: Stack | undefined;

    beforeAll(async () => {
      here = await ThrowAway.open();
      directory = mkdtempSync(join(tmpdir(), "example-"));
    });
    afterAll(async () => {
      await stack?.destroy().catch(() => undefined);
      rmSync(directory, { recursive: true, force: true });
      await here.close();
    });

    it("ends in a cluster that is verified, changes nothing the second time, replaces no object, and is destroyed", async () => {
      cpSync(join(ROOT, "examples", name), directory, { recursive: true });
      mkdirSync(join(directory, ".state"));
      process.env["PATH"] = pulumiPath();
      const envVars = {
        ...ENVIRONMENT,
        KUBECONFIG: KUBECONFIG ?? "",
        PULUMI_BACKEND_URL: `file://${join(directory, ".state")}`,
      };
      prepare(directory, envVars);
      const project = `orders-${name}`;
      const zones = (await here.zones()).slice(0, 3);
      const config = { [`${project}:zones`]: zones, [`${project}:namespace`]: here.namespace };
      writeFileSync(join(directory, `Pulumi.${STACK}.yaml`), stringify({ config }));
      stack = await LocalWorkspace.createOrSelectStack({ stackName: STACK, workDir: directory }, { envVars });
      const { outputs } = await stack.up();
      expect(outputs["verified"]?.value).toBe(true);
      expect(outputs["url"]?.secret).toBe(true);
      const url = new URL(outputs["url"]?.value as string);
      expect(url.host).toBe(`orders.${here.namespace}.svc.cluster.local:6379`);
      expect(url.password).toMatch(/^[0-9a-f]{48}$/);
      const state = readFileSync(join(directory, ".state", ".pulumi", "stacks", project, `${STACK}.json`), "utf8");
      expect(state).toContain("valkey:index:ValkeyCluster");
      expect(state).not.toContain(url.password);
      const { summary } = await stack.up({ expectNoChanges: true });
      expect(Object.keys(summary.resourceChanges ?? {})).toEqual(["same"]);
      if (change !== undefined) {
        const identities = async (): Promise<(string | undefined)[]> =>
          (await here.pods({})).map(({ metadata }) => metadata?.uid).sort();
        const before = await identities();
        change(directory);
        const changed = await stack.up();
        expect(Object.keys(changed.summary.resourceChanges ?? {}).sort()).toEqual(["same", "update"]);
        expect(changed.outputs["url"]?.value).not.toBe(url.href);
        expect(await identities()).toEqual(before);
      }
      await stack.destroy();
      expect(await here.pods({})).toEqual([]);
    });
  });
});

const note = WHERE || pulumiSkipNote();
describe.skipIf(note !== "")(`the example of the automation API${note}`, { timeout: 400_000 }, () => {
  let here: ThrowAway;
  let directory: string;
  beforeAll(async () => {
    here = await ThrowAway.open();
    directory = mkdtempSync(join(tmpdir(), "example-"));
  });
  afterAll(async () => {
    rmSync(directory, { recursive: true, force: true });
    await here.close();
  });

  it("deploys a cluster, reads its outputs, and destroys it", async () => {
    cpSync(join(ROOT, "examples", "automation-api"), directory, { recursive: true });
    mkdirSync(join(directory, ".state"));
    useCheckout(directory);
    const placed = JSON.stringify({ namespace: here.namespace, resources: SMALL, imagePullPolicy: "IfNotPresent" });
    rewrite(join(directory, "index.ts"), (text) => text.replace(", zones }", `, zones, ...(${placed} as const) }`));
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ["--import", "tsx", "index.ts", ...(await here.zones()).slice(0, 3)],
      {
        cwd: directory,
        env: {
          ...process.env,
          ...ENVIRONMENT,
          PATH: pulumiPath(),
          KUBECONFIG,
          PULUMI_BACKEND_URL: `file://${join(directory, ".state")}`,
        },
      },
    );
    expect(stdout).toContain("3 shards serve");
    expect(await here.pods({})).toEqual([]);
  });
});
