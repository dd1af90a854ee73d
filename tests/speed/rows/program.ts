/**
 * Time of the Pulumi program before it creates anything: each stack is evaluated in a fresh process, with mocks instead
 * of the engine.
 */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { z } from "zod";
import { median } from "../../../lib/statistics/median";
import { STACKS_DIRECTORY } from "../../../stacks/config/sections/paths";
import { readStackFile, stackNames } from "../../../stacks/config/sections/stack-file";
import type { Benchmark, BenchmarkContext } from "../benchmark";
import type { BenchRow } from "../row";
import { atMost, singleRow } from "../row";

const REPEATS = 3;
/** Seconds of the slowest stack. */
const SECONDS = atMost(3);
const NO_MODULES = atMost(0);

const SLOWEST = "program-slowest";
const HOST_SDK = "program-host-sdk";

const outputSchema = z.strictObject({ seconds: z.number(), resources: z.int().min(2), sdkModules: z.int() });
type Evaluation = z.infer<typeof outputSchema>;

/** The evaluations of one stack. */
interface EvaluatedStack {
  readonly stack: string;
  /** Median of the repeats. */
  readonly seconds: number;
  readonly resources: number;
  /** Files of cloud SDKs that were loaded. */
  readonly sdkModules: number;
}

export const programEvaluation: Benchmark = {
  title: "Evaluating the Pulumi program of every stack",
  ids: [SLOWEST, HOST_SDK],
  run: async ({ workbench, wanted, report, emit }) => {
    const names = stackNames(STACKS_DIRECTORY).filter((stack) => wanted.has(SLOWEST) || isOnHost(stack));
    const stacks: EvaluatedStack[] = [];
    for (const name of names) {
      const evaluated = await evaluateStack(name, workbench);
      const { stack, seconds, resources, sdkModules } = evaluated;
      report(`${stack}: ${seconds.toFixed(2)} s, ${resources} resources, ${sdkModules} files of cloud SDKs`);
      stacks.push(evaluated);
    }
    if (wanted.has(SLOWEST)) emit(slowestRow(stacks));
    if (wanted.has(HOST_SDK)) emit(hostSdkRow(stacks.filter(({ stack }) => isOnHost(stack))));
  },
};

function slowestRow(stacks: readonly EvaluatedStack[]): BenchRow {
  const [slowest, ...others] = [...stacks].sort((a, b) => b.seconds - a.seconds);
  if (slowest === undefined) throw new Error("there is no stack");
  const rest = others.map(({ stack, seconds }) => `${stack} ${seconds.toFixed(2)} s`).join(", ");
  const how = `in a fresh process with mocks instead of the engine, median of ${REPEATS}`;
  const stack = `${slowest.stack} (${slowest.resources} resources)`;
  const what = `program of the slowest stack, ${stack}, ${how}; others: ${rest}`;
  return singleRow({ id: SLOWEST, what, unit: "s" }, slowest.seconds, SECONDS);
}

function hostSdkRow(stacks: readonly EvaluatedStack[]): BenchRow {
  const packages = "@pulumi/aws, awsx, eks, kubernetes and @kubernetes/client-node";
  const names = stacks.map(({ stack }) => stack).join(", ");
  const what = `files of ${packages} that a stack of the platform host loads, the highest number of ${names}`;
  return singleRow(
    { id: HOST_SDK, what, unit: "files" },
    Math.max(...stacks.map(({ sdkModules }) => sdkModules)),
    NO_MODULES,
  );
}

async function evaluateStack(stack: string, workbench: BenchmarkContext["workbench"]): Promise<EvaluatedStack> {
  const runs: Evaluation[] = [];
  for (let repeat = 0; repeat < REPEATS; repeat++) runs.push(await evaluate(stack, workbench));
  const [first] = runs;
  if (first === undefined) throw new Error("nothing was evaluated");
  return { ...first, stack, seconds: median(runs.map(({ seconds }) => seconds)) };
}

function isOnHost(stack: string): boolean {
  const { platform } = readStackFile(STACKS_DIRECTORY, stack);
  return typeof platform === "object" && platform !== null && "type" in platform && platform.type === "host";
}

async function evaluate(stack: string, { signal }: BenchmarkContext["workbench"]): Promise<Evaluation> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [
      "--import",
      "tsx",
      "--import",
      "valkey-measured/preload",
      join(__dirname, "..", "processes", "program-evaluate.ts"),
      stack,
    ],
    { signal },
  );
  return outputSchema.parse(JSON.parse(stdout.trim().split("\n").at(-1) ?? ""));
}
