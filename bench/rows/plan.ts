/** Times of pure code in fresh processes: the plan and verdict for a very large cluster, and the Pulumi program. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { z } from "zod";
import { median } from "../../lib/statistics/median";
import { STACKS_DIRECTORY } from "../../stacks/config/sections/paths";
import { readStackFile, stackNames } from "../../stacks/config/sections/stack-file";
import type { Benchmark } from "../workbench";
import { atMost, singleRow } from "../row";

const REPEATS = 3;
const PROCESSES = join(__dirname, "..", "processes");

async function runFresh<T>(
  schema: z.ZodType<T>,
  signal: AbortSignal,
  program: string,
  ...words: readonly string[]
): Promise<T[]> {
  const runs: T[] = [];
  while (runs.length < REPEATS) {
    const imports = ["--import", "tsx", "--import", "valkey-measured/preload"];
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [...imports.slice(0, words.length > 0 ? 4 : 2), join(PROCESSES, program), ...words],
      { signal },
    );
    runs.push(schema.parse(JSON.parse(stdout.trim().split("\n").at(-1) ?? "")));
  }
  return runs;
}

const TIME = "plan-2000";
const MEMORY = "plan-2000-memory";
const planSchema = z.strictObject({ planSeconds: z.number(), verdictSeconds: z.number(), peakBytes: z.number() });

export const plan: Benchmark = {
  title: "Plan and verdict for 2,000 nodes",
  ids: [TIME, MEMORY],
  run: async ({ signal, report, emit }) => {
    const runs = await runFresh(planSchema, signal, "plan-2000.ts");
    const seconds = median(runs.map(({ planSeconds, verdictSeconds }) => planSeconds + verdictSeconds));
    const peak = Math.max(...runs.map(({ peakBytes }) => peakBytes)) / 1e6;
    report(`${seconds.toFixed(3)} s, ${peak.toFixed(0)} MB`);
    const medianOf = (part: "planSeconds" | "verdictSeconds"): string =>
      median(runs.map((each) => each[part])).toFixed(3);
    const parts = `plan ${medianOf("planSeconds")} s, verdict ${medianOf("verdictSeconds")} s`;
    const how = `in a fresh process, median of ${REPEATS}`;
    const what = `plan and verdict for 2,000 nodes with synthetic facts, ${how}: ${parts}`;
    const highest = `highest resident memory of that process with its runtime and the facts, highest of ${REPEATS}`;
    emit(
      singleRow({ id: TIME, what, unit: "s" }, seconds, atMost(1)),
      singleRow({ id: MEMORY, what: highest, unit: "MB" }, peak, atMost(300)),
    );
  },
};

const SLOWEST = "program-slowest";
const HOST_SDK = "program-host-sdk";
const programSchema = z.strictObject({ seconds: z.number(), resources: z.int().min(2), sdkModules: z.int() });

export const programEvaluation: Benchmark = {
  title: "Evaluating the Pulumi program of every stack",
  ids: [SLOWEST, HOST_SDK],
  run: async ({ signal, wanted, report, emit }) => {
    const stacks: { stack: string; seconds: number; resources: number; sdkModules: number }[] = [];
    for (const stack of stackNames(STACKS_DIRECTORY).filter((name) => wanted.has(SLOWEST) || isOnHost(name))) {
      const runs = await runFresh(programSchema, signal, "program-evaluate.ts", stack);
      const [{ resources, sdkModules } = { resources: 0, sdkModules: 0 }] = runs;
      const seconds = median(runs.map((each) => each.seconds));
      report(`${stack}: ${seconds.toFixed(2)} s, ${resources} resources, ${sdkModules} files of cloud SDKs`);
      stacks.push({ stack, seconds, resources, sdkModules });
    }
    const [slowest, ...others] = stacks.toSorted((a, b) => b.seconds - a.seconds);
    if (slowest === undefined) throw new Error("there is no stack");
    const rest = others.map(({ stack, seconds }) => `${stack} ${seconds.toFixed(2)} s`).join(", ");
    const how = `in a fresh process with mocks instead of the engine, median of ${REPEATS}`;
    const program = `program of the slowest stack, ${slowest.stack} (${slowest.resources} resources), ${how}; others: ${rest}`;
    const onHost = stacks.filter(({ stack }) => isOnHost(stack));
    const packages = "@pulumi/aws, awsx, eks, kubernetes and @kubernetes/client-node";
    const names = onHost.map(({ stack }) => stack).join(", ");
    const files = `files of ${packages} that a stack of the platform host loads, the highest number of ${names}`;
    const loaded = Math.max(...onHost.map(({ sdkModules }) => sdkModules));
    emit(
      singleRow({ id: SLOWEST, what: program, unit: "s" }, slowest.seconds, atMost(3)),
      singleRow({ id: HOST_SDK, what: files, unit: "files" }, loaded, atMost(0)),
    );
  },
};

function isOnHost(stack: string): boolean {
  const { platform } = readStackFile(STACKS_DIRECTORY, stack);
  return typeof platform === "object" && platform !== null && "type" in platform && platform.type === "host";
}
