/** Modules that a program loads with a component: none that only another component, a report or a handler needs. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { ROOT } from "../../lib/system/package";

/** Slow or large: charts, the SDKs of AWS and Grafana, clients, the command line. */
const HEAVY = [
  "echarts",
  "@pulumi/aws",
  "@pulumi/awsx",
  "@pulumi/eks",
  "@grafana/grafana-foundation-sdk",
  "@kubernetes/client-node",
  "ioredis",
  "commander",
];
/** Rooms and folders whose work is done in the provider's process. */
const FAR = [
  "operations/handlers",
  "benchmarks/report",
  "benchmarks/run",
  "benchmarks/measuring",
  "benchmarks/warnings",
  "lib/statistics",
  "stacks",
  "cli",
];

const COMPONENTS = [
  ...["valkey-cluster", "valkey-replication", "host-deployment"],
  ...["benchmark-job", "load-capacity", "valkey-dashboard"],
];
/** Needs what the others must not need. */
const HEAVY_COMPONENT = "grafana-dashboard";

/** Every module that is loaded once a component is, also by `import()` at loading, by component. */
function loadedBy(components: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const paths = components.map((component) => join(ROOT, "components", component));
  // One process, which forgets what it has loaded before each of them.
  const program = `(async () => {
    const loaded = [];
    for (const path of ${JSON.stringify(paths)}) {
      for (const key of Object.keys(require.cache)) delete require.cache[key];
      require(path);
      await new Promise((done) => setTimeout(done, 50));
      loaded.push(Object.keys(require.cache));
    }
    console.log(JSON.stringify(loaded));
  })();`;
  const text = execFileSync(process.execPath, ["--import", "tsx", "--eval", program], {
    cwd: ROOT,
    encoding: "utf8",
    maxBuffer: 2 ** 26,
  });
  const loaded = JSON.parse(text) as string[][];
  return new Map(components.map((component, index) => [component, loaded[index] ?? []]));
}

describe("loading", { timeout: 60_000 }, () => {
  let loaded: ReadonlyMap<string, readonly string[]>;
  beforeAll(() => {
    loaded = loadedBy([...COMPONENTS, HEAVY_COMPONENT]);
  }, 60_000);

  it.each(COMPONENTS)("%s loads no charts, no cloud and no handler", (component) => {
    const paths = loaded.get(component) ?? [];
    expect(paths.some((path) => path.endsWith(`components/${component}.ts`))).toBe(true);
    const heavy = HEAVY.filter((name) => paths.some((path) => path.includes(`/node_modules/${name}/`)));
    const far = FAR.filter((folder) => paths.some((path) => path.startsWith(join(ROOT, folder) + "/")));
    expect({ heavy, far }).toEqual({ heavy: [], far: [] });
  });

  it("would be seen: the dashboard's builder loads Grafana's SDK", () => {
    expect(loaded.get(HEAVY_COMPONENT)?.some((path) => path.includes("/node_modules/@grafana/"))).toBe(true);
  });
});
