/** The program on a real Pulumi engine, where its CLI is found: the host stack up, again, changed, refreshed, destroyed. */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { LocalWorkspace } from "@pulumi/pulumi/automation";
import type { Stack } from "@pulumi/pulumi/automation";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { livingProcesses, RunDirectory, stopRun } from "../../benchmarks/host/run-directory";
import { ROOT } from "../../benchmarks/paths";
import { outputsSchema } from "../../stacks/outputs";
import { valkeyHome } from "../support/real";

/** The PATH by which the CLI is found: installed, or else the npm package's, which fetches it on first use. */
function enginePath(): string | undefined {
  const all = process.env["PATH"] ?? "";
  const installed = all.split(delimiter).filter((entry) => !entry.includes("node_modules")).join(delimiter);
  return [installed, all].find((path) => {
    try {
      execFileSync("pulumi", ["version"], { stdio: "ignore", timeout: 120_000, env: { ...process.env, PATH: path } });
      return true;
    } catch {
      return false;
    }
  });
}

const config = (changes: { clients?: number; policy?: string } = {}): string =>
  stringify({
    config: {
      "valkey:platform": { type: "host", zones: ["a", "b", "c"] },
      "valkey:deployments": {
        cluster: { mode: "cluster", primaries: 3, settings: { save: "", "maxmemory-policy": changes.policy ?? "noeviction" } },
        replication: { mode: "replication", replicas: 2, settings: { save: "" } },
      },
      "valkey:benchmark": { tests: ["get"], clients: changes.clients ?? 12, threads: 1, duration: 1, warmup: 0, repeats: 1, keySpace: 16_384 },
    },
  });

const path = enginePath();

describe.skipIf(path === undefined)(`the host stack on the Pulumi engine${path === undefined ? " (skipped: no pulumi to be had)" : ""}`, () => {
  let directory: string;
  let stack: Stack;
  const log: string[] = [];
  const onOutput = (text: string): void => { log.push(text); };
  const runs = (): ReturnType<typeof RunDirectory.list> => RunDirectory.list(join(directory, "cache", "runs"));
  const living = (): number => runs().reduce((sum, run) => sum + livingProcesses(run.path).length, 0);
  const configure = (changes?: Parameters<typeof config>[0]): void => {
    writeFileSync(join(directory, "stacks", "Pulumi.trial.yaml"), encryption + config(changes));
  };
  let encryption = "";

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), "engine-"));
    for (const name of ["benchmarks", "components", "stacks", "package.json", "Pulumi.yaml"]) cpSync(join(ROOT, name), join(directory, name), { recursive: true });
    symlinkSync(join(ROOT, "node_modules"), join(directory, "node_modules"));
    mkdirSync(join(directory, ".state"));
    configure();
    process.env["PATH"] = path;
    const envVars = { PULUMI_BACKEND_URL: `file://${join(directory, ".state")}`, PULUMI_CONFIG_PASSPHRASE: "trial", PULUMI_SKIP_UPDATE_CHECK: "true", VALKEY_MEASURED_CACHE: join(directory, "cache"), VALKEY_HOME: await valkeyHome() };
    stack = await LocalWorkspace.createOrSelectStack({ stackName: "trial", workDir: directory }, { envVars });
    encryption = /^encryptionsalt: .*\n/m.exec(readFileSync(join(directory, "stacks", "Pulumi.trial.yaml"), "utf8"))?.[0] ?? "";
  });
  afterAll(async () => {
    for (const run of runs()) await stopRun(run.path);
    rmSync(directory, { recursive: true, force: true });
  });

  it("comes up verified and measured, with results among the outputs and no password in plain state", async () => {
    const { outputs, summary } = await stack.up({ onOutput });
    expect(summary.result, log.join("")).toBe("succeeded");
    const exported = outputsSchema.parse(outputs["valkey"]?.value);
    expect(exported.topologies.map(({ verdict }) => verdict.pass)).toEqual([true, true]);
    expect(exported.comparison.map(({ test, rows }) => [test, rows.length])).toEqual([["GET", 2]]);
    expect(outputs["passwords"]?.secret).toBe(true);
    const passwords = Object.values(outputs["passwords"]?.value as Record<string, string>);
    const state = readFileSync(join(directory, ".state", ".pulumi", "stacks", "valkey", "trial.json"), "utf8");
    expect(state).toContain("TopologyCheck");
    for (const password of passwords) {
      expect(password).toMatch(/^[0-9a-f]{48}$/);
      expect(state.includes(password)).toBe(false);
      expect(log.join("").includes(password)).toBe(false);
    }
    expect(living()).toBe(9);
  });

  it("changes nothing the second time, and refresh finds no drift", async () => {
    expect((await stack.up({ onOutput, expectNoChanges: true })).summary.resourceChanges).toEqual({ same: 10 });
    expect((await stack.refresh({ onOutput, expectNoChanges: true })).summary.resourceChanges).toEqual({ same: 10 });
  });

  it("measures anew when the workload changes, and nothing else", async () => {
    configure({ clients: 24 });
    expect((await stack.up({ onOutput })).summary.resourceChanges).toEqual({ same: 9, update: 1 });
  });

  it("notices on refresh that servers are gone, and makes them again", async () => {
    const cluster = runs().find(({ info }) => info.stack.endsWith("/cluster"));
    await stopRun(cluster?.path ?? "");
    expect((await stack.refresh({ onOutput })).summary.resourceChanges).toMatchObject({ delete: 1 });
    expect((await stack.up({ onOutput })).summary.result).toBe("succeeded");
    expect(living()).toBe(9);
  });

  it("refuses bad configuration in one message, with nothing touched", async () => {
    writeFileSync(join(directory, "stacks", "Pulumi.trial.yaml"), encryption + config().replace("clients: 12", "clients: 13\n    tets: x"));
    await expect(stack.up({ onOutput })).rejects.toThrow(/valkey:benchmark\.tets: unknown key; did you mean tests\?/);
    configure({ clients: 24 });
  });

  it("leaves nothing behind when it is destroyed", async () => {
    await stack.destroy({ onOutput });
    expect(runs()).toEqual([]);
  });
});
