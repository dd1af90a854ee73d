/** The open-loop generator: how much it can offer, and whether its latencies are true. */
import { type Server, type Socket, connect, createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { parseSingleReport } from "../../benchmarks/load/valkey-benchmark/local-driver";
import { Session } from "../../benchmarks/measuring/session";
import { median } from "../../lib/statistics/median";
import { formatCount } from "../../lib/units";
import type { Deployment } from "../../valkey/deployment";
import type { Endpoint } from "../../valkey/node";
import { verify } from "../../valkey/verification/verify";
import type { Benchmark, BenchmarkContext, BenchServers } from "../workbench";
import { type BenchRow, atLeast, comparedRow, singleRow } from "../row";
import { hostPlan, openLoopPlan, runDirectly, runGenerator } from "../workbench";

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
const STEP = 1.15;
const MAX_STEPS = 12;
const STALL = { seconds: 1, rate: 5_000, of: 5, after: 1 };
const DELAY_MS = 20;
const DELAY_RATE = 250;
const DELAY_SECONDS = 4;

export const openLoop: Benchmark = {
  title: "Open loop: rates offered, and the truth of its latencies",
  ids: [...CEILINGS.map(({ id }) => id), PAUSE, DELAY],
  run: ({ workbench, wanted, report, emit }) =>
    workbench.withDeployment(
      hostPlan("alone", "replication", { primaries: 1, replicasPerPrimary: 0 }),
      async (servers) => {
        const { deployment, signal } = servers;
        const session = await Session.open({ deployment, shards: (await verify(deployment)).verdict.shards });
        try {
          const size = { keySpace: 100_000, dataSize: 64, stock: 0 };
          await session.prepareKeys({ prefill: { kind: "strings", family: "key" } }, size, signal);
          for (const each of CEILINGS) if (wanted.has(each.id)) emit(await ceiling(each, servers, session, report));
          if (wanted.has(PAUSE)) emit(await pause(servers, session, deployment));
          if (wanted.has(DELAY)) emit(await delay(servers, session));
        } finally {
          await session.close();
        }
      },
    ),
};

async function byTool(
  { host, signal }: BenchServers,
  { endpoint, user }: Session,
  flags: readonly string[],
): Promise<ReturnType<typeof parseSingleReport>> {
  const credentials = user === undefined ? [] : ["--user", user.username, "-a", user.password];
  const args = ["-h", endpoint.host, "-p", String(endpoint.port), ...credentials, ...flags];
  return parseSingleReport((await runDirectly(host.programs.benchmark, args, { run: host.run, signal })).output);
}

/** Up from the rate that is to be held while it holds, else down until one does. */
async function ceiling(
  { id, pipeline, rate }: (typeof CEILINGS)[number],
  servers: BenchServers,
  session: Session,
  report: BenchmarkContext["report"],
): Promise<BenchRow> {
  const holds = async (offered: number): Promise<boolean> => {
    const plan = openLoopPlan(session, { clients: CLIENTS, pipeline, rate: offered, seconds: CEILING_SECONDS });
    const tally = await runGenerator(servers, plan);
    const part = tally.acknowledgedInTime / tally.offered;
    report(
      `batches of ${pipeline}: ${formatCount(offered)}/s offered, ${(part * 100).toFixed(1)} % answered in time, p99 ${tally.latencies().percentileMs(0.99).toFixed(2)} ms, its own lateness p99 ${tally.lag.percentileMs(0.99).toFixed(2)} ms`,
    );
    return part >= HELD;
  };
  let best = rate;
  if (await holds(rate)) for (let step = 1; step < MAX_STEPS && (await holds(best * STEP)); step++) best *= STEP;
  else for (let step = 1; step < MAX_STEPS && !(await holds(best)); step++) best /= STEP;
  const flags = `-c ${CLIENTS} -P ${pipeline} -d 64 -r 100000 --duration 3 -t get`.split(" ");
  const beside = formatCount((await byTool(servers, session, flags)).rate);
  const how = pipeline === 1 ? "one request at a time on each" : `batches of ${pipeline}`;
  const what = `most requests per second that one worker offers and gets answered to ${HELD * 100} % within ${CEILING_SECONDS} s, ${CLIENTS} connections, ${how}, the server on the same machine; as fast as it can, valkey-benchmark ${flags.join(" ")} gets ${beside}/s there`;
  return singleRow({ id, what, unit: "rps" }, best, atLeast(rate));
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
  const plan = openLoopPlan(session, { rate: STALL.rate, seconds: STALL.of, clients: 10 });
  const ours = (await runGenerator(servers, plan, stall)).latencies().percentileMs(0.99);
  const flags = `-c 10 -d 64 --rps ${STALL.rate} -n ${STALL.rate * STALL.of} -t get`.split(" ");
  const [{ p99Ms }] = await Promise.all([byTool(servers, session, flags), stall()]);
  // Of all requests a hundredth waited longest: those intended first after the server fell silent.
  const reference = (STALL.seconds - 0.01 * STALL.of) * 1000;
  const what = `p99 of ${STALL.rate} requests per second over ${STALL.of} s, in which the server answers nobody for ${STALL.seconds} s, beside what the schedule says; valkey-benchmark ${flags.join(" ")} says ${p99Ms} ms`;
  const target = { text: "0.95 … 1.05", holds: (ratio: number) => Math.abs(ratio - 1) <= 0.05 };
  return comparedRow({ id: PAUSE, what, unit: "ms" }, { ours, reference }, "ours/reference", target);
}

/** The difference that a proxy makes which holds requests back, beside how long it held them by its own clock. */
async function delay(servers: BenchServers, session: Session): Promise<BenchRow> {
  const through = async (delayMs: number): Promise<{ latency: number; held: number }> => {
    const proxy = await DelayingProxy.open(session.endpoint, delayMs);
    try {
      const endpoints = [{ ...proxy.endpoint }];
      const plan = openLoopPlan(session, { endpoints, rate: DELAY_RATE, seconds: DELAY_SECONDS, clients: 20 });
      const latency = (await runGenerator(servers, plan)).latencies().percentileMs(0.5);
      return { latency, held: median(proxy.held) };
    } finally {
      await proxy.close();
    }
  };
  const [without, withDelay] = [await through(0), await through(DELAY_MS)];
  const ours = withDelay.latency - without.latency;
  const reference = withDelay.held - without.held;
  const limit = Math.max(0.1, 0.02 * reference);
  const what = `latency that a proxy adds which holds every request back for ${DELAY_MS} ms, medians of ${DELAY_RATE * DELAY_SECONDS} requests, beside what it held them by its own clock`;
  const target = { text: "± 0.1 ms or 2 %", holds: () => Math.abs(ours - reference) <= limit };
  return comparedRow({ id: DELAY, what, unit: "ms" }, { ours, reference }, "ours/reference", target);
}

class DelayingProxy {
  /** Delay of each chunk to the server, milliseconds. */
  readonly held: number[] = [];
  readonly #sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    readonly endpoint: Endpoint,
  ) {}

  /** @param delayMs for requests; replies are not delayed */
  static async open(to: Endpoint, delayMs: number): Promise<DelayingProxy> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("the proxy has no port");
    const proxy = new DelayingProxy(server, { host: "127.0.0.1", port: address.port });
    server.on("connection", (client) => {
      proxy.#join(client, connect(to), delayMs);
    });
    return proxy;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  #join(client: Socket, upstream: Socket, delayMs: number): void {
    const ends: readonly (readonly [Socket, Socket])[] = [
      [client, upstream],
      [upstream, client],
    ];
    for (const [socket, other] of ends) {
      this.#sockets.add(socket);
      socket.setNoDelay(true);
      socket.on("error", () => undefined);
      socket.on("close", () => {
        this.#sockets.delete(socket);
        other.destroy();
      });
    }
    client.on("data", (chunk) => {
      const began = performance.now();
      const pass = (): void => {
        this.held.push(performance.now() - began);
        upstream.write(chunk);
      };
      if (delayMs === 0) pass();
      else setTimeout(pass, delayMs);
    });
    upstream.on("data", (chunk) => client.write(chunk));
  }
}
