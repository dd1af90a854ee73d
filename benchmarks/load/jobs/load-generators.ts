import { gzipSync } from "node:zlib";
import type { BenchmarkUser } from "../benchmark-user";
import type { LoadGenerator } from "../load-generator";
import { type MemtierRun, memtierArguments } from "../memtier/arguments";
import { MEMTIER, MEMTIER_RESULT } from "../memtier/local-driver";
import { GENERATOR_BUNDLE } from "../open-loop/bundle";
import { type OpenLoopRun, endpointsPrimaryFirst, OPEN_LOOP, openLoopPlan } from "../open-loop/local-driver";
import { type ValkeyBenchmarkRun, valkeyBenchmarkArguments, withoutSecrets } from "../valkey-benchmark/arguments";
import { runnerShare, VALKEY_BENCHMARK } from "../valkey-benchmark/local-driver";
import type { TlsFiles } from "../../../valkey/node";
import type { Deployment } from "../../../valkey/deployment";
import { MEMTIER_IMAGE, NODE_IMAGE } from "../../../platforms/kubernetes/default-images";
import type { JobPhase } from "./job-plan";
import { PLACEHOLDERS } from "./runner-script";
import { type LoadSidecar, SIDECAR_FILES_DIRECTORY } from "./sidecar";

export interface JobAccess {
  /** The environment of the runner contains the password. */
  readonly username: string | undefined;
  readonly tls: TlsFiles | undefined;
  readonly runners: number;
}

export interface CredentialedRun {
  readonly credentials: BenchmarkUser | undefined;
}

export interface JobLoadGenerator<R extends CredentialedRun> extends LoadGenerator<R> {
  readonly sidecar?: () => Promise<LoadSidecar>;
  readonly phase: (
    run: R,
    access: JobAccess,
    deployment: Pick<Deployment, "mode" | "nodes" | "access">,
  ) => Omit<JobPhase, "timeoutSeconds">;
  readonly command: (run: R, index: number, runners: number) => readonly string[];
}

export const valkeyBenchmarkInJobs: JobLoadGenerator<ValkeyBenchmarkRun> = {
  ...VALKEY_BENCHMARK,
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
  }),
  command: (run, index, runners) => withoutSecrets(valkeyBenchmarkArguments(runnerShare(run, index, runners))),
};

export function memtierInJobs(image = MEMTIER_IMAGE): JobLoadGenerator<MemtierRun> {
  const shareOf = (run: MemtierRun, runners: number): MemtierRun => {
    const rate = run.mix.rate === undefined ? undefined : run.mix.rate / runners;
    return { ...run, mix: { ...run.mix, rate } };
  };
  return {
    ...MEMTIER,
    sidecar: () => Promise.resolve({ image, program: MEMTIER.program, result: MEMTIER_RESULT }),
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
      requests: undefined,
      rate: run.mix.rate,
      seconds: run.mix.length.seconds,
    }),
    command: (run, _index, runners) => withoutSecrets(memtierArguments(shareOf(run, runners), MEMTIER_RESULT)),
  };
}

const BUNDLE = "open-loop.cjs.gz";
const UNPACKED = "/tmp/open-loop.cjs";
const PACKED = `${SIDECAR_FILES_DIRECTORY}/${BUNDLE}`;
const UNPACK = `fs.writeFileSync("${UNPACKED}", zlib.gunzipSync(fs.readFileSync("${PACKED}")))`;

export function openLoopInJobs(image = NODE_IMAGE): JobLoadGenerator<OpenLoopRun> {
  return {
    ...OPEN_LOOP,
    sidecar: async () => ({
      image,
      setup: `node -e '${UNPACK}'`,
      program: `node ${UNPACKED}`,
      files: { [BUNDLE]: gzipSync(await GENERATOR_BUNDLE.text(), { level: 9 }) },
    }),
    phase: (run, { tls, runners }, deployment) => {
      const endpoints = endpointsPrimaryFirst(deployment, run.primary);
      // Certificates name stable host names, but the generator connects to addresses. Without an SNI it accepts any
      // name in a certificate that the authority signed, like Valkey's own programs.
      const anyName = tls && { ...tls, anyName: tls.sni === undefined };
      const served = { mode: deployment.mode, access: { ...deployment.access, tls: anyName } };
      const plan = openLoopPlan({ ...run, credentials: undefined }, served, endpoints, runners);
      const [endpoint = { host: "", port: 0 }] = endpoints;
      const { rate, length } = run.mix;
      const shared = { endpoint, seed: run.seed, requests: undefined, rate, seconds: length.seconds };
      return { arguments: [JSON.stringify(plan)], ...shared };
    },
    command: ({ mix, seed }, index, runners) => [
      "open-loop",
      JSON.stringify({ ...mix, seed, process: index, processes: runners }),
    ],
  };
}
