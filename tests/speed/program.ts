/** What the Pulumi program itself costs before anything is made: evaluating each stack, in a fresh process with mocks in the engine's place. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { z } from "zod";
import { median } from "../../lib/statistics/median";
import { STACKS_DIRECTORY } from "../../stacks/config/paths";
import { readStackFile, stackNames } from "../../stacks/config/stack-file";
import type { Benchmark, BenchmarkContext } from "./benchmark";
import { singleRow, atMost } from "./row";

const REPEATS = 3;
const SECONDS = atMost(3);
const NO_MODULES = atMost(0);

const NAMES = stackNames(STACKS_DIRECTORY);
const idOf = (stack: string): string => `program-${stack}`;
const SDK = "program-host-sdk";

const outputSchema = z.strictObject({ seconds: z.number(), resources: z.int().min(2), sdkModules: z.int() });
type Evaluation = z.infer<typeof outputSchema>;

export const programEvaluation: Benchmark = {
  title: "Evaluating the Pulumi program, per stack",
  ids: [...NAMES.map(idOf), SDK],
  run: async ({ workbench, wanted, report, emit }) => {
    const onHost: { readonly stack: string; readonly modules: number }[] = [];
    for (const stack of NAMES) {
      const countsModules = wanted.has(SDK) && isOnHost(stack);
      if (!wanted.has(idOf(stack)) && !countsModules) continue;
      const runs: Evaluation[] = [];
      for (let repeat = 0; repeat < REPEATS; repeat++) runs.push(await evaluate(stack, workbench));
      const [{ resources, sdkModules } = { resources: 0, sdkModules: 0 }] = runs;
      const seconds = median(runs.map((each) => each.seconds));
      report(`${stack}: ${seconds.toFixed(2)} s, ${resources} resources, ${sdkModules} files of cloud SDKs`);
      const what = `the program of the stack ${stack} (${resources} resources) under mocks as a preview runs it, in a fresh process and from its start, median of ${REPEATS}`;
      if (wanted.has(idOf(stack))) emit(singleRow({ id: idOf(stack), what, unit: "s" }, seconds, SECONDS));
      if (countsModules) onHost.push({ stack, modules: sdkModules });
    }
    if (!wanted.has(SDK)) return;
    const what = `files of @pulumi/aws, awsx, eks, kubernetes and @kubernetes/client-node that a stack of the platform host loads, the most of ${onHost.map(({ stack }) => stack).join(", ")}`;
    emit(singleRow({ id: SDK, what, unit: "files" }, Math.max(...onHost.map(({ modules }) => modules)), NO_MODULES));
  },
};

function isOnHost(stack: string): boolean {
  const { platform } = readStackFile(STACKS_DIRECTORY, stack);
  return typeof platform === "object" && platform !== null && "type" in platform && platform.type === "host";
}

async function evaluate(stack: string, { signal }: BenchmarkContext["workbench"]): Promise<Evaluation> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--import", "tsx", "--import", "valkey-measured/preload", join(__dirname, "program-evaluate.ts"), stack],
    { signal },
  );
  return outputSchema.parse(JSON.parse(stdout.trim().split("\n").at(-1) ?? ""));
}
