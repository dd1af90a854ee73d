/** The load generators that Jobs can run. */
import { gzipSync } from "node:zlib";
import { Failure } from "../../../lib/errors";
import { TIMEOUT_MARGIN_SECONDS } from "../load-driver";
import { runnerShare, runTimeoutSeconds } from "../valkey-benchmark/driver";
import type { MemtierRun } from "../memtier/arguments";
import { memtierArguments } from "../memtier/arguments";
import { parseMemtierResults, memtierReport } from "../memtier/output";
import { GENERATOR_BUNDLE } from "../open-loop/bundle";
import type { OpenLoopRun } from "../open-loop/local-driver";
import { endpointsPrimaryFirst, openLoopReport, openLoopPlan } from "../open-loop/local-driver";
import { processMessageSchema } from "../open-loop/plan";
import { Tally } from "../open-loop/tally";
import type { ValkeyBenchmarkRun } from "../valkey-benchmark/arguments";
import { valkeyBenchmarkArguments, withoutSecrets } from "../valkey-benchmark/arguments";
import { parseSingleReport } from "../valkey-benchmark/output";
import { SIDECAR_FILES_DIRECTORY } from "./sidecar";
import type { JobPhase, JobLoadGenerator } from "./job-load-generator";
import { MEMTIER_IMAGE, NODE_IMAGE } from "../../../platforms/kubernetes/default-images";
import { PLACEHOLDERS } from "./runner-script";

/** valkey-benchmark from the runners' own image. */
export const valkeyBenchmarkInJobs: JobLoadGenerator<ValkeyBenchmarkRun> = {
  program: "valkey-benchmark",
  sidecar: undefined,
  user: ({ credentials }) => credentials,
  phase: (run, { username, tls }) => ({
    arguments: valkeyBenchmarkArguments(
      { ...run, credentials: username === undefined ? undefined : { username, password: PLACEHOLDERS.password }, tls },
      PLACEHOLDERS,
    ),
    endpoint: run.endpoint,
    seed: run.seed,
    requests: "requests" in run.length ? run.length.requests : undefined,
    rate: run.workload.rate,
    seconds: "seconds" in run.length ? run.length.seconds : undefined,
    timeoutSeconds: runTimeoutSeconds(run),
  }),
  command: (run, index, runners) => withoutSecrets(valkeyBenchmarkArguments(runnerShare(run, index, runners))),
  threads: ({ workload }) => workload.threads,
  parse: (text) => ({ report: parseSingleReport(text), trailingMs: 0, warnings: [] }),
};

const MEMTIER_RESULT = "memtier.json";

/** memtier_benchmark in a sidecar. */
export function memtierInJobs(image = MEMTIER_IMAGE): JobLoadGenerator<MemtierRun> {
  const shareOf = (run: MemtierRun, runners: number): MemtierRun => {
    const rate = run.mix.rate === undefined ? undefined : run.mix.rate / runners;
    return { ...run, mix: { ...run.mix, rate } };
  };
  return {
    program: "memtier_benchmark",
    sidecar: () => Promise.resolve({ image, program: "memtier_benchmark", result: MEMTIER_RESULT }),
    user: ({ credentials }) => credentials,
    phase: (run, { username, tls, runners }) => ({
      // memtier_benchmark takes user and password in one argument.
      arguments: memtierArguments(
        { ...shareOf(run, runners), credentials: undefined, tls },
        MEMTIER_RESULT,
        username === undefined ? undefined : PLACEHOLDERS.credentials,
      ),
      endpoint: run.endpoint,
      // memtier_benchmark takes its seed from the machine's source of randomness.
      seed: 0,
      ...timed(run.mix.length.seconds, run.mix.rate),
    }),
    command: (run, _index, runners) => withoutSecrets(memtierArguments(shareOf(run, runners), MEMTIER_RESULT)),
    threads: ({ mix }) => mix.threads,
    parse: (text, { mix }) => {
      const results = parseMemtierResults(text.slice(Math.max(0, text.search(/^\{$/m))));
      return {
        report: memtierReport(results, mix.name),
        latencies: results.latencies,
        trailingMs: 0,
        warnings: results.warnings,
      };
    },
  };
}

const BUNDLE = "open-loop.cjs.gz";
const UNPACKED = "/tmp/open-loop.cjs";
const PACKED = `${SIDECAR_FILES_DIRECTORY}/${BUNDLE}`;
const UNPACK = `fs.writeFileSync("${UNPACKED}", zlib.gunzipSync(fs.readFileSync("${PACKED}")))`;

/** The open-loop generator in a sidecar with Node.js. A ConfigMap contains its bundle. */
export function openLoopInJobs(image = NODE_IMAGE): JobLoadGenerator<OpenLoopRun> {
  return {
    program: "the open-loop generator",
    sidecar: async () => ({
      image,
      setup: `node -e '${UNPACK}'`,
      program: `node ${UNPACKED}`,
      files: { [BUNDLE]: gzipSync(await GENERATOR_BUNDLE.text(), { level: 9 }) },
    }),
    user: ({ credentials }) => credentials,
    phase: (run, { tls, runners }, deployment) => {
      const endpoints = endpointsPrimaryFirst(deployment, run.primary);
      // Certificates name stable host names, but the generator connects to addresses. Without an SNI it accepts any
      // name in a certificate that the authority signed, like Valkey's own programs.
      const access = {
        ...deployment.access,
        tls: tls === undefined ? undefined : { ...tls, anyName: tls.sni === undefined },
      };
      const plan = openLoopPlan(
        { ...run, credentials: undefined },
        { mode: deployment.mode, access },
        endpoints,
        runners,
      );
      const [endpoint = { host: "", port: 0 }] = endpoints;
      return {
        arguments: [JSON.stringify(plan)],
        endpoint,
        seed: run.seed,
        ...timed(run.mix.length.seconds, run.mix.rate),
      };
    },
    command: ({ mix, seed }, index, runners) => [
      "open-loop",
      JSON.stringify({ ...mix, seed, process: index, processes: runners }),
    ],
    threads: ({ mix }) => mix.workers,
    parse: (text, { mix }) => {
      const line = text.split("\n").findLast((each) => each.startsWith("{"));
      const message = line === undefined ? undefined : processMessageSchema.parse(JSON.parse(line));
      if (message?.event !== "result") throw new Failure("the open-loop generator printed no result");
      const tally = Tally.merge(message.tallies.map((data) => Tally.ofData(data)));
      return {
        report: openLoopReport(tally, mix.name),
        latencies: tally.latencies(),
        tally,
        trailingMs: Math.max(0, (message.endedMs ?? tally.toMs) - tally.toMs),
        warnings: [],
      };
    },
  };
}

/** Returns the fields of a phase that ends after the given number of seconds. */
function timed(
  seconds: number,
  rate: number | undefined,
): Pick<JobPhase, "requests" | "rate" | "seconds" | "timeoutSeconds"> {
  return { requests: undefined, rate, seconds, timeoutSeconds: seconds + TIMEOUT_MARGIN_SECONDS };
}
