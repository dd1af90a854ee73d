/** The open-loop generator: how much it can offer, and whether its latencies are true. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Endpoint } from "../../../valkey/node";
import type { Deployment } from "../../../valkey/deployment";
import { Session } from "../../../benchmarks/measuring/session";
import { GeneratorProcess } from "../../../benchmarks/load/open-loop/generator-process";
import type { OpenLoopPlan } from "../../../benchmarks/load/open-loop/plan";
import { Tally } from "../../../benchmarks/load/open-loop/tally";
import { median } from "../../../lib/statistics/median";
import { formatCount } from "../../../lib/units";
import { parseSingleReport } from "../../../benchmarks/load/valkey-benchmark/output";
import { verify } from "../../../valkey/verification/verify";
import type { Benchmark, BenchmarkContext } from "../benchmark";
import { DelayingProxy } from "../processes/delaying-proxy";
import type { BenchRow } from "../row";
import { singleRow, atLeast, comparedRow } from "../row";
import type { BenchServers } from "../workbench";
import { runDirectly, hostPlan } from "../workbench";

/** A pipeline, and the rate to be held with it, of 64-byte values, nine reads to a write. */
const CEILINGS = [
  { id: "open-loop-ceiling", pipeline: 1, rate: 40_000 },
  { id: "open-loop-ceiling-16", pipeline: 16, rate: 150_000 },
] as const;
const PAUSE = "open-loop-pause";
const DELAY = "open-loop-delay";
const CLIENTS = 48;
/** Rates are held when so much of what was offered is answered before the time is up. */
const HELD = 0.99;
const CEILING_SECONDS = 3;
/** From one rate to the next. */
const STEP = 1.15;
const MAX_STEPS = 12;
/** Pause in seconds; requests per second; and duration of the whole. */
const STALL = { seconds: 1, rate: 5_000, of: 5, after: 1 };
const DELAY_MS = 20;
const DELAY_RATE = 250;
const DELAY_SECONDS = 4;

export const openLoop: Benchmark = {
  title: "Open loop: rates offered, and the truth of its latencies",
  ids: [...CEILINGS.map(({ id }) => id), PAUSE, DELAY],
  run: ({ workbench, ...order }) =>
    workbench.withServers(
      [hostPlan("alone", "replication", { primaries: 1, replicasPerPrimary: 0 })],
      async (servers) => {
        const [deployment] = servers.deployments;
        if (deployment === undefined) throw new Error("no deployment was started");
        const { verdict } = await verify(deployment);
        const session = await Session.open({ deployment, shards: verdict.shards });
        try {
          await session.prepareKeys(
            { prefill: { kind: "strings", family: "key" } },
            { keySpace: 100_000, dataSize: 64, stock: 0 },
            servers.signal,
          );
          for (const each of CEILINGS)
            if (order.wanted.has(each.id)) order.emit(await ceiling(each, servers, session, order));
          if (order.wanted.has(PAUSE)) order.emit(await pause(servers, session, deployment));
          if (order.wanted.has(DELAY)) order.emit(await delay(servers, session));
        } finally {
          await session.close();
        }
      },
    ),
};

function planFor({ endpoint, user }: Session, changes: Partial<OpenLoopPlan>): OpenLoopPlan {
  return {
    mode: "replication",
    endpoints: [{ ...endpoint }],
    access: { ...user },
    data: "strings",
    reads: 0.9,
    keySpace: 100_000,
    keys: { distribution: "uniform" },
    values: { sizes: "fixed", bytes: 64 },
    arrivals: "fixed",
    rate: 1,
    clients: CLIENTS,
    pipeline: 1,
    readFrom: "primary",
    timeoutMs: 10_000,
    queue: 1_000_000,
    seconds: 1,
    seed: 1,
    workers: 1,
    process: 0,
    processes: 1,
    ...changes,
  };
}

async function generate(
  { host, signal }: BenchServers,
  plan: OpenLoopPlan,
  meanwhile: () => Promise<unknown> = () => Promise.resolve(),
): Promise<Tally> {
  const generator = await GeneratorProcess.start(host.run, plan);
  const stop = (): void => {
    void generator.kill();
  };
  signal.addEventListener("abort", stop);
  try {
    const [tallies] = await Promise.all([generator.run(), meanwhile()]);
    return Tally.merge(tallies);
  } finally {
    signal.removeEventListener("abort", stop);
    signal.throwIfAborted();
  }
}

/** Up from the rate that is to be held while it holds, else down until one does. */
async function ceiling(
  { id, pipeline, rate }: (typeof CEILINGS)[number],
  servers: BenchServers,
  session: Session,
  { report }: Pick<BenchmarkContext, "report">,
): Promise<BenchRow> {
  const holds = async (offered: number): Promise<boolean> => {
    const tally = await generate(servers, planFor(session, { pipeline, rate: offered, seconds: CEILING_SECONDS }));
    const part = tally.acknowledgedInTime / tally.offered;
    report(
      `batches of ${pipeline}: ${formatCount(offered)}/s offered, ${(part * 100).toFixed(1)} % answered in time, p99 ${tally.latencies().percentileMs(0.99).toFixed(2)} ms, its own lateness p99 ${tally.lag.percentileMs(0.99).toFixed(2)} ms`,
    );
    return part >= HELD;
  };
  let best = rate;
  if (await holds(rate)) for (let step = 1; step < MAX_STEPS && (await holds(best * STEP)); step++) best *= STEP;
  else for (let step = 1; step < MAX_STEPS && !(await holds(best)); step++) best /= STEP;
  const credentials = session.user === undefined ? [] : ["--user", session.user.username, "-a", session.user.password];
  const flags = [
    "-c",
    String(CLIENTS),
    "-P",
    String(pipeline),
    "-d",
    "64",
    "-r",
    "100000",
    "--duration",
    "3",
    "-t",
    "get",
  ];
  const { output } = await runDirectly(
    servers.host.programs.benchmark,
    ["-h", session.endpoint.host, "-p", String(session.endpoint.port), ...credentials, ...flags],
    { run: servers.host.run, signal: servers.signal },
  );
  const head = {
    id,
    what: `most requests per second that one worker offers and gets answered to ${HELD * 100} % within ${CEILING_SECONDS} s, ${CLIENTS} connections, ${pipeline === 1 ? "one request at a time on each" : `batches of ${pipeline}`}, the server on the same machine; as fast as it can, valkey-benchmark ${flags.join(" ")} gets ${formatCount(parseSingleReport(output).rate)}/s there`,
    unit: "rps",
  };
  return singleRow(head, best, atLeast(rate));
}

/**
 * A second in which the server answers nobody: what the schedule says that the slowest hundredth waited, and what is
 * said of it.
 */
async function pause(servers: BenchServers, session: Session, deployment: Deployment): Promise<BenchRow> {
  const stall = async (): Promise<void> => {
    await sleep(STALL.after * 1000);
    const [node] = deployment.nodes;
    if (node === undefined) throw new Error("there is no node");
    const connection = await deployment.connect(node);
    try {
      // Who is paused is looked at by a timer of the server's, which at its own 10 Hz would make the pause up to a
      // tenth of a second longer.
      await connection.config("SET", "hz", "100");
      await connection.call("CLIENT", "PAUSE", String(STALL.seconds * 1000), "ALL");
    } finally {
      connection.disconnect();
    }
  };
  const tally = await generate(servers, planFor(session, { rate: STALL.rate, seconds: STALL.of, clients: 10 }), stall);
  const ours = tally.latencies().percentileMs(0.99);
  const credentials = session.user === undefined ? [] : ["--user", session.user.username, "-a", session.user.password];
  const flags = ["-c", "10", "-d", "64", "--rps", String(STALL.rate), "-n", String(STALL.rate * STALL.of), "-t", "get"];
  const [{ output }] = await Promise.all([
    runDirectly(
      servers.host.programs.benchmark,
      ["-h", session.endpoint.host, "-p", String(session.endpoint.port), ...credentials, ...flags],
      { run: servers.host.run, signal: servers.signal },
    ),
    stall(),
  ]);
  // Of all requests a hundredth waited longest: those intended first after the server fell silent.
  const reference = (STALL.seconds - 0.01 * STALL.of) * 1000;
  const head = {
    id: PAUSE,
    what: `p99 of ${STALL.rate} requests per second over ${STALL.of} s, in which the server answers nobody for ${STALL.seconds} s, beside what the schedule says; valkey-benchmark ${flags.join(" ")} says ${parseSingleReport(output).p99Ms} ms`,
    unit: "ms",
  };
  return comparedRow(head, { ours, reference }, "ours/reference", {
    text: "0.95 … 1.05",
    holds: (ratio) => Math.abs(ratio - 1) <= 0.05,
  });
}

/** The difference that a proxy makes which holds requests back, beside how long it held them by its own clock. */
async function delay(servers: BenchServers, session: Session): Promise<BenchRow> {
  const through = async (delayMs: number): Promise<{ latency: number; held: number }> => {
    const proxy = await DelayingProxy.open(session.endpoint, delayMs);
    try {
      const endpoint: Endpoint = proxy.endpoint;
      const tally = await generate(
        servers,
        planFor(session, { endpoints: [{ ...endpoint }], rate: DELAY_RATE, seconds: DELAY_SECONDS, clients: 20 }),
      );
      return { latency: tally.latencies().percentileMs(0.5), held: median(proxy.held) };
    } finally {
      await proxy.close();
    }
  };
  const without = await through(0);
  const withDelay = await through(DELAY_MS);
  const ours = withDelay.latency - without.latency;
  const reference = withDelay.held - without.held;
  const limit = Math.max(0.1, 0.02 * reference);
  const head = {
    id: DELAY,
    what: `latency that a proxy adds which holds every request back for ${DELAY_MS} ms, medians of ${DELAY_RATE * DELAY_SECONDS} requests, beside what it held them by its own clock`,
    unit: "ms",
  };
  return comparedRow(head, { ours, reference }, "ours/reference", {
    text: "± 0.1 ms or 2 %",
    holds: () => Math.abs(ours - reference) <= limit,
  });
}
