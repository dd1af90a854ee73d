/** What a program loads with a component: nothing that only another component, a report or a handler needs. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
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
const FAR = ["provider/handlers", "benchmarks/report", "benchmarks/measuring", "lib/statistics", "stacks", "cli"];

/** Every module that is loaded once a component is, also by `import()` at loading. */
function loadedBy(component: string): readonly string[] {
  const program = `require(${JSON.stringify(join(ROOT, "components", component))});
    setTimeout(() => console.log(JSON.stringify(Object.keys(require.cache))), 50);`;
  const text = execFileSync(process.execPath, ["--import", "tsx", "--eval", program], {
    cwd: ROOT,
    encoding: "utf8",
    maxBuffer: 2 ** 26,
  });
  return JSON.parse(text) as string[];
}

describe("loading", { timeout: 60_000 }, () => {
  it.each([
    "valkey-cluster",
    "valkey-replication",
    "host-deployment",
    "benchmark-job",
    "load-capacity",
    "valkey-dashboard",
  ])("%s loads no charts, no cloud and no handler", (component) => {
    const loaded = loadedBy(component);
    expect(loaded.some((path) => path.endsWith(`components/${component}.ts`))).toBe(true);
    const heavy = HEAVY.filter((name) => loaded.some((path) => path.includes(`/node_modules/${name}/`)));
    const far = FAR.filter((folder) => loaded.some((path) => path.startsWith(join(ROOT, folder) + "/")));
    expect({ heavy, far }).toEqual({ heavy: [], far: [] });
  });

  it("would be seen: the dashboard's builder loads Grafana's SDK", () => {
    expect(loadedBy("grafana-dashboard").some((path) => path.includes("/node_modules/@grafana/"))).toBe(true);
  });
});
