/** Every stack file: understood, planned, and telling the truth at its head. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BadInput, problemText } from "../../lib/errors";
import { busTraffic } from "../../valkey/topology/bus-traffic";
import { nodeCount } from "../../valkey/topology/placement";
import { formatUsd } from "../../lib/dollars";
import { commandLine } from "../../cli/cli";
import { parseConfig } from "../../stacks/config/parse";
import { STACKS_DIRECTORY } from "../../stacks/config/sections/paths";
import { describePlan } from "../../stacks/plan/describe";
import type { StackPlan } from "../../stacks/plan/stack-plan-types";
import { planStack } from "../../stacks/plan/stack-plan";
import { readStackFile, stackNames } from "../../stacks/config/sections/stack-file";
import { type Ended, captured } from "../support/captured";
import { MACHINE } from "../support/stack-config";
import { forAll } from "../support/properties";

const never = new AbortController().signal;
const planOf = (
  name: string,
  raw: Readonly<Record<string, unknown>> = readStackFile(STACKS_DIRECTORY, name),
): StackPlan => planStack(name, parseConfig(`stack ${name}`, raw, MACHINE));
const headOf = (name: string): string =>
  (readFileSync(join(STACKS_DIRECTORY, `Pulumi.${name}.yaml`), "utf8").split("\nconfig:")[0] ?? "")
    .replaceAll(/\n#/g, " ")
    .replaceAll(/\s+/g, " ");

/** As a head says it. */
function words(seconds: number): string {
  if (seconds < 90) return `${seconds} seconds`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} minutes` : `${(seconds / 3600).toFixed(1)} hours`;
}

const names = stackNames(STACKS_DIRECTORY);
const onEks = names.filter((name) => planOf(name).platform === "eks");

describe("stack files", () => {
  it.each(names)("%s is planned and told in words, and as JSON says the same", (name) => {
    const plan = planOf(name);
    expect(plan.deployments.length).toBeGreaterThan(0);
    for (const { shape, zones, shards, mode } of plan.deployments) {
      expect(Object.values(zones).reduce((sum, count) => sum + count, 0)).toBe(nodeCount(shape));
      expect(shards.length).toBe(mode === "cluster" ? shape.primaries : 0);
    }
    const told = describePlan(plan);
    for (const { name: deployment } of plan.deployments)
      expect(told.some((line) => line.startsWith(`${deployment}: `))).toBe(true);
    expect(describePlan(JSON.parse(JSON.stringify(plan)) as StackPlan)).toEqual(told);
  });

  it.each(onEks)("%s says what it costs per hour, as planned", (name) => {
    const plan = planOf(name);
    expect(headOf(name)).toContain(`Costs: $${formatUsd(plan.eks?.cost.usdPerHour ?? 0)} per hour`);
  });

  it.each(names)("%s says what it reproduces and how long it takes, as planned", (name) => {
    const plan = planOf(name);
    expect(headOf(name)).toMatch(/ Reproduces: .* (Costs: .* )?Takes: /);
    // What a failure takes is not planned.
    if (name !== "failures")
      expect(headOf(name)).toContain(
        plan.study === null
          ? `Takes: about ${words(plan.duration.seconds)}`
          : `Takes: ${words(plan.duration.seconds)} at most`,
      );
  });

  it.each(onEks)(
    "%s says how its API server is reached, in commands that work on a stack that is not there yet",
    (name) => {
      expect(headOf(name)).toContain(
        `npx pulumi stack init ${name} npx pulumi config set --path 'valkey:platform.cluster.publicAccessCidrs[0]'`,
      );
    },
  );

  it.each(onEks)("%s costs and takes what the documentation says", (name) => {
    const plan = planOf(name);
    const row = readFileSync(join(STACKS_DIRECTORY, "../docs/eks.md"), "utf8")
      .split("\n")
      .find((line) => line.startsWith(`| \`${name}\` |`));
    expect(row).toContain(`| $${formatUsd(plan.eks?.cost.usdPerHour ?? 0)} | ${words(plan.duration.seconds)} |`);
  });

  it("each price a whole plan: no line without a price", () => {
    for (const name of onEks)
      expect(
        planOf(name).eks?.cost.lines.filter(({ usdPerHour }) => usdPerHour === undefined),
        name,
      ).toEqual([]);
  });
});

describe("billion", () => {
  const raw = (primaries: number, zones: readonly string[] = ["a", "b", "c"]): Record<string, unknown> => {
    const file = readStackFile(STACKS_DIRECTORY, "billion") as { platform: object; deployments: { billion: object } };
    return {
      ...file,
      platform: { ...file.platform, zones },
      deployments: { billion: { ...file.deployments.billion, primaries } },
    };
  };

  it("has the size of One billion requests per second", () => {
    const plan = planOf("billion");
    const count = (pool: string): number =>
      (plan.eks?.machines ?? []).filter((group) => group.pool === pool).reduce((sum, group) => sum + group.count, 0);
    expect([count("servers"), count("clients")]).toEqual([2000, 750]);
    expect(plan.measurement).toMatchObject({
      runners: 750,
      workload: { clients: 1000, threads: 20, dataSize: 512, pipeline: 1, tests: ["set"] },
    });
    expect(plan.deployments[0]?.settings).toMatchObject({
      "io-threads": "6",
      maxmemory: String(50 * 2 ** 30),
      save: "",
      "cluster-require-full-coverage": "no",
      "cluster-allow-reads-when-down": "yes",
    });
    expect(describePlan(plan).join("\n")).toMatch(/cluster bus without failures: each node sends at most .*MiB\/s/);
  });

  it("says before anything runs which of its failures its platform cannot have, and why", () => {
    const plan = planOf("kind", {
      ...readStackFile(STACKS_DIRECTORY, "kind"),
      failures: {
        gone: { fault: "kill-primary" },
        still: { fault: "freeze-primary", seconds: 5, deployments: ["cluster"] },
        many: { fault: "kill-primaries", share: 0.3 },
      },
    });
    expect(
      plan.failures.map(({ scenario, deployment, fault, skipReason }) => [
        scenario,
        deployment,
        fault,
        skipReason === null,
      ]),
    ).toEqual([
      ["gone", "replication", "kill-primary", true],
      ["gone", "cluster", "kill-primary", true],
      ["still", "cluster", "freeze-primary", false],
      ["many", "replication", "kill-primaries", false],
      ["many", "cluster", "kill-primaries", true],
    ]);
    const told = describePlan(plan).join("\n");
    expect(told).toContain("fault scenarios (npm start -- break kind): gone, many\n");
    expect(told).toMatch(/ {2}skipped: still on cluster: the API server cannot pause the processes of a pod/);
    expect(describePlan(planOf("kind")).join("\n")).not.toContain("fault scenarios");
  });

  it("scales by one number, at any number of shards and zones: placed, zone-safe, loaded evenly, priced; or refused for its zones", () => {
    forAll(
      [fc.integer({ min: 3, max: 1000 }), fc.integer({ min: 1, max: 6 })],
      { numRuns: 25 },
      (primaries, zoneCount) => {
        const zones = ["a", "b", "c", "d", "e", "f"].slice(0, zoneCount);
        let plan: StackPlan;
        try {
          plan = planOf("billion", raw(primaries, zones));
        } catch (error) {
          if (!(error instanceof BadInput)) throw error;
          // us-west-2 has four zones, EKS wants two, and the largest network holds some thousand machines in each of
          // two.
          if (zoneCount > 1 && zoneCount < 5)
            for (const problem of error.problems.map(problemText))
              expect(problem).toMatch(
                /^valkey:platform\.network\.cidr: .* plan for fewer machines(, or for [23]( or 3)? zones)?$/,
              );
          return;
        }
        expect(zoneCount).toBeGreaterThanOrEqual(2);
        expect(zoneCount).toBeLessThanOrEqual(4);
        const [deployment] = plan.deployments;
        const { clients, threads } = plan.measurement?.workload ?? { clients: 0, threads: 0 };
        expect(clients % primaries === 0 && clients % threads === 0, `${clients} on ${threads}`).toBe(true);
        expect(plan.measurement?.runners).toBe(Math.ceil(primaries * 0.75));
        const sizes = Object.values(deployment?.zones ?? {});
        expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(2 * primaries);
        // No zone has more than half of the nodes, so each shard can have a node elsewhere.
        expect(Math.max(...sizes)).toBeLessThanOrEqual(primaries);
        expect(plan.eks?.cost.usdPerHour).toBeGreaterThan(0);
      },
    );
  }, 60_000);
});

describe("the cluster bus at rest", () => {
  it("has messages as large as 9.1 counts them, and more of them than it sends", () => {
    // Measured on this project's host platform: nodes, node timeout, bytes per message and pings per second of a node.
    for (const [nodes, timeout, bytes, pings] of [
      [20, 2000, 2632, 17.6],
      [20, 5000, 2632, 6.07],
      [40, 5000, 2736, 11.7],
    ] as const) {
      const traffic = busTraffic(nodes, timeout, false);
      expect(traffic.messageBytes).toBe(bytes);
      expect(traffic.messagesPerNode / 2).toBeGreaterThan(pings);
      expect(traffic.messagesPerNode / 2).toBeLessThan(pings * 1.5);
    }
  });

  it("is nothing for one node, and grows with nodes", () => {
    expect(busTraffic(1, 15_000, true).bytes).toBe(0);
    forAll(
      [fc.integer({ min: 2, max: 2000 }), fc.integer({ min: 100, max: 60_000 })],
      (nodes, timeout) => busTraffic(nodes + 1, timeout, true).bytes > busTraffic(nodes, timeout, true).bytes,
    );
  });
});

describe("npm start -- plan", () => {
  const plan = (...args: readonly string[]): string =>
    execFileSync(process.execPath, ["--import", "tsx", "cli/main.ts", "plan", ...args], {
      cwd: resolve(__dirname, "../.."),
      encoding: "utf8",
      maxBuffer: 2 ** 26,
    });

  /** Prints the plan of a stack with other values, or of all stacks. */
  const planned = (stack?: string, ...values: readonly string[]): Promise<Ended> => {
    const words = [...(stack === undefined ? [] : [stack]), ...values.flatMap((value) => ["--set", value])];
    return captured({}, () => commandLine(["plan", ...words], never));
  };

  it("prints the plan, and all of it as JSON through a pipe", () => {
    const parsed = JSON.parse(plan("billion", "--json")) as StackPlan;
    expect(parsed.deployments[0]?.shards).toHaveLength(1000);
    expect(parsed.version).toBe(1);
  });

  it("tells every stack in a line, where none is named", async () => {
    const { status, output } = await planned();
    expect(status).toBe(0);
    const lines = output.split("\n");
    for (const name of names)
      expect(
        lines.some((line) => line.startsWith(`${name} `)),
        name,
      ).toBe(true);
    expect(output).toMatch(/^topologies +eks +\$1\.81 +50m 38s\n +Valkey on EKS: /m);
  });

  it("says which pods get no CPUs of their own where the pool has them to give", async () => {
    const output = async (...values: readonly string[]): Promise<string> =>
      (await planned("billion", "deployments.billion.primaries=3", ...values)).output;
    expect(await output()).not.toContain("share CPUs with other pods");
    expect(
      await output("platform.resources.requests.memory=56Gi", "deployments.billion.settings.io-threads=5"),
    ).toContain("note: the servers of billion share CPUs with other pods");
  });

  it("takes other values for once, and says what it cannot understand of them", async () => {
    const { output } = await planned("billion", "deployments.billion.primaries=30", "platform.zones=[a, b]");
    expect(output).toMatch(
      /^billion: cluster of 30 primaries with 1 replica each, 60 pods in 2 zones:\s+us-west-2a 30, us-west-2b 30$/m,
    );
    expect(await planned("billion", "platform.region=moon", "platform.storage.className=st1")).toEqual({
      status: 2,
      output: expect.stringMatching(
        /valkey:platform\.region is "moon": .*\n.*valkey:platform\.storage\.className is "st1": expected/,
      ) as unknown,
    });
    expect((await captured({}, () => commandLine(["plan", "--set", "platform.region=moon"], never))).status).toBe(2);
  });

  it("loads no SDK of a cloud and no engine", () => {
    const script =
      'require("./cli/commands/plan").printPlan("topologies", {}); process.stdout.write("\\n" + JSON.stringify(Object.keys(require.cache).filter((file) => /@pulumi|@kubernetes/.test(file))));';
    const out = execFileSync(process.execPath, ["--import", "tsx", "-e", script], {
      cwd: resolve(__dirname, "../.."),
      encoding: "utf8",
    });
    expect(out.split("\n").at(-1)).toBe("[]");
  });
});
