/** The package in a folder that has nothing else: its command, its components, its declarations, its provider. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { isBuiltin, wrap } from "node:module";
import { join } from "node:path";
import { Script } from "node:vm";
import ts from "typescript";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { messageOf } from "../../../lib/errors";
import { ROOT } from "../../../lib/system/package";
import { resourceType } from "../../../operations/provider/kinds";
import { InstalledPackage } from "../../support/installed-package";
import { ProviderProcess } from "../../support/pulumi/provider-process";
import { resultsIn, TIMED } from "../../support/command";
import { Sandbox, valkeyHome, nodeOptions } from "../../support/valkey/real";

const CLUSTERS = `
import type { Output } from "@pulumi/pulumi";
import { DEFAULT_IMAGE, ValkeyCluster, ValkeyReplication, type ValkeyClusterArgs } from "valkey-measured";

const zones = ["a", "b", "c"];
const args: ValkeyClusterArgs = { shape: { primaries: 3, replicasPerPrimary: 1 }, zones, image: DEFAULT_IMAGE };
export const orders = new ValkeyCluster("orders", args);
export const sessions = new ValkeyReplication("sessions", { replicas: 2, zones });
export const url: Output<string> = orders.url;
// @ts-expect-error a number of primaries is no text
export const refused = (): unknown => new ValkeyCluster("x", { zones, shape: { primaries: "3", replicasPerPrimary: 1 } });
`;

const COMPONENTS = `
import { BenchmarkJob, HostDeployment, LoadCapacity, UpstreamChart, ValkeyAlerts, ValkeyDashboard } from "valkey-measured";
import { orders, sessions } from "./clusters";

export { orders, sessions };
export const benchmark = new BenchmarkJob("benchmark", { targets: [orders, sessions], tests: ["get"] });
export const capacity = new LoadCapacity("capacity", { targets: [orders], objective: "p99=2ms" });
export const upstream = new UpstreamChart("upstream", { replicas: 2, zones: ["a", "b", "c"] });
export const dashboard = new ValkeyDashboard("dashboard", { namespace: "shop" });
export const alerts = new ValkeyAlerts("alerts", { namespace: "shop" });
export const host = new HostDeployment("host", {
  plan: { name: "host", mode: "replication", zones: ["a", "b"] },
  settings: {},
  shape: { primaries: 1, replicasPerPrimary: 1 },
  owner: "elsewhere",
  timeoutSeconds: 60,
  trigger: 0,
});
`;

const OTHERS = `
import { EksPlatform, KarpenterPools, type EksPlatformArgs, type KarpenterPoolsArgs } from "valkey-measured/eks";
import { parseConfig, planStack, readStackFile, stackNames, STACKS_DIRECTORY, type StackPlan } from "valkey-measured/plans";
import { readResultFiles, resultRows, type ResultRow } from "valkey-measured/results";
import { judgeFacts, openDeployment, verify, type Verdict } from "valkey-measured/verification";

const machine = { cores: 4, memoryBytes: 2 ** 33 };
const plan = (stack: string): StackPlan =>
  planStack(stack, parseConfig(stack, readStackFile(STACKS_DIRECTORY, stack), machine));
export const rows = (path: string): ResultRow[] => readResultFiles([path]).flatMap(({ results }) => resultRows(results));
export const platform = (args: EksPlatformArgs): EksPlatform => new EksPlatform("valkey", args);
export const pools = (args: KarpenterPoolsArgs): KarpenterPools => new KarpenterPools("valkey", args);
export const judge: (...args: Parameters<typeof judgeFacts>) => Verdict = judgeFacts;
export const entries = [openDeployment, verify];
process.stdout.write(JSON.stringify(stackNames(STACKS_DIRECTORY).map((name) => plan(name).platform)));
`;

/** Runs a program without an engine, in plain Node. Prints what it declared, what it did not, and what it loaded. */
const WITHOUT_ENGINE = `
const pulumi = require("@pulumi/pulumi");
const types = [];
const made = { password: "generated", results: { records: [], topologies: [], capacities: [] }, comparison: [] };
const newResource = ({ type, name, inputs }) => {
  types.push(type);
  return { id: name, state: { ...inputs, ...made } };
};
pulumi.runtime.setMocks({ newResource, call: ({ inputs }) => inputs }, "elsewhere", "test", false);
// Mocks run no transforms, and refuse resources that have some.
const store = require("@pulumi/pulumi/runtime/state").getStore();
const { Callback } = require("@pulumi/pulumi/proto/callback_pb");
store.supportsTransforms = true;
store.callbacks = { registerTransform: async () => new Callback(), awaitStackRegistrations: async () => {}, shutdown: () => {} };
const program = require(process.argv[2]);
process.on("exit", () => {
  const loaded = Object.keys(require.cache);
  const declared = new Set(Object.values(program).map((each) => each.constructor));
  const isComponent = (each) => typeof each === "function" && each.prototype instanceof pulumi.ComponentResource;
  const missing = Object.entries(require("valkey-measured")).filter(([, each]) => isComponent(each) && !declared.has(each));
  process.stdout.write("\\n" + JSON.stringify({ types, missing: missing.map(([name]) => name), loaded }) + "\\n");
});
`;

const FOR_COMPONENTS = ["@pulumi/kubernetes", "@pulumi/pulumi", "cluster-key-slot", "fastest-levenshtein", "zod"];
const NOT_FOR_COMPONENTS =
  /^(cli|stacks|faults|components\/eks|benchmarks\/(compare|measuring|report|run|soak|studies|warnings)|lib\/statistics)\//;

interface Run {
  readonly types: readonly string[];
  readonly missing: readonly string[];
  readonly loaded: readonly string[];
}

describe("the package in an empty folder", { timeout: 300_000 }, () => {
  let here: InstalledPackage;
  beforeAll(async () => {
    here = await InstalledPackage.open();
  }, 600_000);
  afterAll(() => {
    here.close();
  });
  const ran = async (program: string): Promise<Run> => {
    const output = await here.run(process.execPath, ["run.cjs", program]);
    return JSON.parse(output.split("\n").find((line) => line.startsWith(`{"types"`)) ?? "") as Run;
  };

  it("measures both topologies with its command, and writes only where the user is", async () => {
    const before = filesIn(here.path);
    const output = await here.run("npx", ["valkey-measured", ...TIMED], {
      VALKEY_HOME: await valkeyHome(),
    });
    expect(output).toContain("VERIFY cluster: PASS");
    const [name = ""] = readdirSync(join(here.directory, "results"));
    const { complete, records } = resultsIn(join(here.directory, "results", name));
    expect([complete, new Set(records.map(({ deployment }) => deployment)).size]).toEqual([true, 2]);
    expect(readdirSync(join(here.cache, "valkey-measured"))).toContain("runs");
    expect(filesIn(here.path)).toEqual(before);
  });

  it("brings the open-loop generator, and needs no compiler", async () => {
    expect(
      ["esbuild", "tsx", "typescript"].filter((name) => existsSync(join(here.directory, "node_modules", name))),
    ).toEqual([]);
    const load = [...TIMED, "--mode", "replication", "--load-generator", "open-loop", "--rate", "1000"];
    const output = await here.run("npx", ["valkey-measured", ...load, "--output", "open-loop"], {
      VALKEY_HOME: await valkeyHome(),
    });
    expect(output).toContain("VERIFY replication: PASS");
    expect(resultsIn(join(here.directory, "open-loop")).records.length).toBeGreaterThan(0);
  });

  it("verifies servers that exist, and names its own command where it refuses", async () => {
    const sandbox = await Sandbox.open();
    try {
      const deployment = await sandbox.formedReplication("replication", 1);
      const nodes = nodeOptions(deployment);
      const password = { VALKEY_PASSWORD: deployment.access.password };
      const verify = ["valkey-measured", "verify", "--mode", "replication", ...nodes];
      expect(await here.run("npx", verify, password)).toContain("VERIFY replication: PASS");
      await expect(here.run("npx", [...verify, "--nonsense"])).rejects.toThrow(/See npx valkey-measured verify --help/);
    } finally {
      await sandbox.close();
    }
  });

  it("has declarations that compile with the options of Pulumi's template, one file for each entry", async () => {
    const files = { "clusters.ts": CLUSTERS, "components.ts": COMPONENTS, "others.ts": OTHERS };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(here.directory, name), text);
    expect(await compile(here)).toBe("");
    const entries = ["components", "eks", "plans", "results", "verification"];
    expect(declarationsOf(here.path)).toEqual(entries.map((name) => join("exports", `${name}.d.ts`)));
    expect(unusableImports(here)).toEqual([]);
    // A compiler needs many seconds for the declarations of this SDK.
    expect(importedBy(join(here.path, "dist", "exports", "components.d.ts"))).not.toContain("@pulumi/kubernetes");
  });

  it("has no file that Node refuses, such as one with a variable of the name that Node gives to each file", () => {
    const dist = join(here.path, "dist");
    const files = readdirSync(dist, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".js"));
    const refused = files.filter((file) => {
      // Node removes the line with the name of the interpreter, too.
      const text = readFileSync(join(dist, file), "utf8").replace(/^#!.*/, "");
      try {
        new Script(wrap(text), { filename: file });
        return false;
      } catch {
        return true;
      }
    });
    expect(files.length).toBeGreaterThan(500);
    expect(refused).toEqual([]);
  });

  it("runs a program in plain Node, and loads no cloud, no charts and no statistics", async () => {
    writeFileSync(join(here.directory, "run.cjs"), WITHOUT_ENGINE);
    const { types, loaded } = await ran("./clusters.js");
    expect(types).toEqual(
      expect.arrayContaining([
        "valkey:index:ValkeyCluster",
        "kubernetes:apps/v1:StatefulSet",
        "valkey:index:Formation",
      ]),
    );
    const { dependencies } = JSON.parse(readFileSync(join(here.path, "package.json"), "utf8")) as {
      dependencies: Record<string, string>;
    };
    const isLoaded = (name: string): boolean => loaded.some((file) => file.includes(`/node_modules/${name}/`));
    expect(Object.keys(dependencies).filter(isLoaded)).toEqual(FOR_COMPONENTS);
    const own = loaded.flatMap((file) => file.split("/valkey-measured/dist/")[1] ?? []);
    expect(own.length).toBeGreaterThan(10);
    expect(own.filter((file) => NOT_FOR_COMPONENTS.test(file))).toEqual([]);
  });

  it("declares every component of the main entry in plain Node", async () => {
    const { types, missing } = await ran("./components.js");
    expect(types).toEqual(expect.arrayContaining(["valkey:index:Measurement", "valkey:index:HostServers"]));
    expect(missing).toEqual([]);
  });

  it("loads every other entry in plain Node, and plans the stacks that it brings", async () => {
    expect(JSON.parse(await here.run(process.execPath, ["others.js"]))).toEqual(
      expect.arrayContaining(["host", "kubernetes", "eks"]),
    );
  });

  it("brings the provider, as Pulumi's engine starts it", async () => {
    const provider = await ProviderProcess.start(join(here.path, "components", "plugin"));
    try {
      const { id } = await provider.create(resourceType("Password"), {});
      expect(id).toMatch(/^[0-9a-f]{16}$/);
    } finally {
      provider.stop();
    }
  });
});

/** The options of Pulumi's template for TypeScript. They also check the declarations of every package. */
const TEMPLATE = {
  compilerOptions: {
    strict: true,
    outDir: ".",
    target: "es2020",
    module: "nodenext",
    moduleResolution: "nodenext",
    sourceMap: true,
    experimentalDecorators: true,
    pretty: false,
    noFallthroughCasesInSwitch: true,
    noImplicitReturns: true,
    forceConsistentCasingInFileNames: true,
  },
  files: ["components.ts", "others.ts"],
};

async function compile(here: InstalledPackage): Promise<string> {
  writeFileSync(join(here.directory, "tsconfig.json"), JSON.stringify(TEMPLATE));
  const compiler = join(ROOT, "node_modules", "typescript-native", "bin", "tsc");
  return here.run(process.execPath, [compiler, "--project", "."]).catch((error: unknown) => messageOf(error));
}

/** Imports of the package's declarations that do not name a package, or are not found in the way of older programs. */
function unusableImports({ path, directory }: InstalledPackage): string[] {
  const { options } = ts.convertCompilerOptionsFromJson({ module: "commonjs", moduleResolution: "node10" }, directory);
  return declarationsOf(path).flatMap((name) => {
    const file = join(path, "dist", name);
    const isUsable = (fileName: string): boolean =>
      isBuiltin(fileName) ||
      (!fileName.startsWith(".") && ts.resolveModuleName(fileName, file, options, ts.sys).resolvedModule !== undefined);
    return importedBy(file)
      .filter((fileName) => !isUsable(fileName))
      .map((fileName) => `${name}: ${fileName}`);
  });
}

const importedBy = (file: string): string[] =>
  ts.preProcessFile(readFileSync(file, "utf8")).importedFiles.map(({ fileName }) => fileName);

const declarationsOf = (path: string): string[] => filesIn(join(path, "dist")).filter((name) => name.endsWith(".d.ts"));

const filesIn = (directory: string): string[] => readdirSync(directory, { recursive: true }).map(String).sort();
