import type { Deployment } from "../../../valkey/deployment";
import { Failure, messageOf } from "../../../lib/errors";
import type { BenchmarkUser } from "../benchmark-user";
import { LoadGeneratorFailure, TIMEOUT_MARGIN_SECONDS } from "../load-driver";
import type { LoadGenerator, ParsedOutput } from "../load-generator";
import type { LocalDriverOptions, LocalLoad, ReadyLoad, SentLoad } from "../local-driver";
import { LocalLoadDriver } from "../local-driver";
import { sampleDuring } from "../local-process";
import type { OpenLoopWorkload } from "../../workloads/mixed-workload";
import { GeneratorProcess } from "./generator-process";
import { type OpenLoopPlan, processMessageSchema, workloadPlan } from "./plan";
import { openLoopReport } from "../merge-reports";
import { Tally } from "../tally";

export interface OpenLoopRun {
  readonly mix: OpenLoopWorkload;
  readonly primary: string;
  readonly seed: number;
  readonly credentials: BenchmarkUser | undefined;
}

export const OPEN_LOOP: LoadGenerator<OpenLoopRun> = {
  program: "the open-loop generator",
  threads: ({ mix }) => mix.workers,
  timeoutSeconds: ({ mix }) => mix.length.seconds + TIMEOUT_MARGIN_SECONDS,
  parse: (text, run) => {
    const line = text.split("\n").findLast((each) => each.startsWith("{"));
    const message = line === undefined ? undefined : processMessageSchema.parse(JSON.parse(line));
    if (message?.event !== "result") throw new Failure("the open-loop generator printed no result");
    const output = outputOf(
      message.tallies.map((data) => Tally.ofData(data)),
      run,
    );
    const { toMs } = output.tally;
    return { ...output, trailingMs: Math.max(0, (message.endedMs ?? toMs) - toMs) };
  },
};

function outputOf(tallies: readonly Tally[], { mix }: OpenLoopRun): ParsedOutput & { readonly tally: Tally } {
  const tally = Tally.merge(tallies);
  const { fromMs, toMs } = tally;
  const report = openLoopReport(tally, mix.name);
  return { report, latencies: tally.latencies(), tally, period: { fromMs, toMs }, warnings: [] };
}

export class LocalOpenLoopDriver extends LocalLoadDriver<OpenLoopRun> {
  constructor(options: LocalDriverOptions) {
    super(OPEN_LOOP, options);
  }

  protected async ready({ deployment, run, prefix, signal }: LocalLoad<OpenLoopRun>): Promise<ReadyLoad> {
    signal.throwIfAborted();
    const plan = openLoopPlan(run, deployment, endpointsPrimaryFirst(deployment, run.primary));
    const generator = await GeneratorProcess.start(this.options.run, plan);
    const kill = (): void => {
      void generator.kill();
    };
    signal.addEventListener("abort", kill);
    const send = async (): Promise<SentLoad> => {
      try {
        const { result: tallies, ...ended } = await sampleDuring(generator.pid, () => generator.run());
        const output = outputOf(tallies, run);
        const { fromMs, toMs } = output.tally;
        const command = ["open-loop", JSON.stringify({ ...plan, access: "***" })];
        const data = tallies.map((each) => each.data());
        // The output of a warm-up is not reported.
        const raw = prefix === "" ? { command, text: `${JSON.stringify(data, null, 1)}\n` } : undefined;
        return { ...ended, output, seed: run.seed, fromMs, toMs, raw };
      } catch (error) {
        signal.throwIfAborted();
        throw error instanceof Failure ? new LoadGeneratorFailure(messageOf(error), "", { cause: error }) : error;
      }
    };
    const close = async (): Promise<void> => {
      signal.removeEventListener("abort", kill);
      await generator.kill();
    };
    return { send, close };
  }
}

export function endpointsPrimaryFirst(
  { nodes }: Pick<Deployment, "nodes">,
  primary: string,
): OpenLoopPlan["endpoints"] {
  return [...nodes]
    .sort((a, b) => Number(b.name === primary) - Number(a.name === primary))
    .map(({ endpoint }) => ({ ...endpoint }));
}

export function openLoopPlan(
  { mix, seed, credentials }: OpenLoopRun,
  { mode, access }: Pick<Deployment, "mode" | "access">,
  endpoints: OpenLoopPlan["endpoints"],
  processes = 1,
): OpenLoopPlan {
  // JSON drops keys whose value is undefined. The schema rejects such keys.
  const given = JSON.parse(JSON.stringify({ ...credentials, tls: access.tls })) as OpenLoopPlan["access"];
  return { ...workloadPlan(mix), mode, endpoints, access: given, seed, process: 0, processes };
}
