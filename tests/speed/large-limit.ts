/** How many nodes this machine holds, and what they run out of first. */
import { totalmem } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { Failure, messageOf } from "../../lib/errors";
import { form } from "../../valkey/formation/form";
import { availableCores, sampleCpu } from "../../platforms/host/cpu";
import { verdictLine } from "../../valkey/verification/format";
import { verify } from "../../valkey/verification/verify";
import type { Benchmark, BenchmarkContext } from "./benchmark";
import { mostOpenFiles, openFiles, residentBytes } from "./proc";
import { singleRow, atLeast } from "./row";
import { hostPlan } from "./workbench";

const LIMIT = "large-limit";
const FROM = 200;
/** From one size to the next. */
const STEP = 1.25;
const MOST_STEPS = 8;
/** A cluster that takes longer to start, form and verify is held to be more than the machine can bear, seconds. */
const PATIENCE_SECONDS = 240;
/**
 * After which it still has to be well, seconds: longer than the node timeout, by which a node that does not keep up is
 * suspected.
 */
const REST_SECONDS = 20;
const NODE_TIMEOUT_MS = 15_000;

/** Parts of what the machine has that a cluster takes at rest. */
type Shares = Readonly<Record<"CPU" | "memory" | "open files of a node", number>>;

export const largeLimit: Benchmark = {
  title: "The most nodes that this machine holds",
  ids: [LIMIT],
  run: async (order) => {
    let best: { readonly nodes: number; readonly shares: Shares } | undefined;
    let end = `no end found in ${MOST_STEPS} steps`;
    for (let step = 0; step < MOST_STEPS; step++) {
      const nodes = 2 * Math.round((FROM * STEP ** step) / 2);
      try {
        best = { nodes, shares: await hold(nodes, order) };
      } catch (error) {
        order.workbench.signal.throwIfAborted();
        end = `${nodes} nodes did not hold: ${messageOf(error).split("\n", 1)[0] ?? ""}`;
        break;
      }
    }
    order.report(end);
    const shares = Object.entries(best?.shares ?? {}).sort(([, a], [, b]) => b - a);
    const [scarce] = shares;
    const what = `most nodes (half of them replicas, node timeout ${NODE_TIMEOUT_MS / 1000} s) that formed and verified within ${PATIENCE_SECONDS} s and were well ${REST_SECONDS} s later, on ${availableCores()} cores; ${end}; what the last that held took at rest: ${shares.map(([what, part]) => `${what} ${(part * 100).toFixed(0)} %`).join(", ")}: ${scarce === undefined ? "nothing held" : `${scarce[0]} is what runs out`}`;
    order.emit(singleRow({ id: LIMIT, what, unit: "nodes" }, best?.nodes ?? 0, atLeast(FROM)));
  },
};

/** @throws Failure (or what formation throws) when so many nodes do not become and stay a cluster */
async function hold(nodes: number, { workbench, report }: BenchmarkContext): Promise<Shares> {
  const shape = { primaries: nodes / 2, replicasPerPrimary: 1 };
  const base = hostPlan("cluster", "cluster", shape);
  return workbench.withServers(
    [
      {
        ...base,
        settings: { ...base.settings, "cluster-node-timeout": NODE_TIMEOUT_MS, "repl-diskless-sync-delay": 0 },
      },
    ],
    async ({ host, deployments: [deployment], signal }) => {
      if (deployment === undefined) throw new Error("no deployment was started");
      const patience = AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_SECONDS * 1000)]);
      const { milliseconds } = await form(deployment, shape, { signal: patience });
      const pids = host.servers(deployment.name).map(({ process }) => process.pid);
      const cpu = (): number => pids.reduce((sum, pid) => sum + (sampleCpu(pid, 0).processSeconds ?? NaN), 0);
      const [before, since] = [cpu(), performance.now()];
      await sleep(REST_SECONDS * 1000, undefined, { signal });
      const cores = (cpu() - before) / ((performance.now() - since) / 1000);
      const { verdict } = await verify(deployment);
      if (!verdict.pass) throw new Failure(verdictLine(verdict));
      const shares = {
        CPU: cores / availableCores(),
        memory: pids.reduce((sum, pid) => sum + residentBytes(pid), 0) / totalmem(),
        "open files of a node": Math.max(...pids.map((pid) => openFiles(pid) / mostOpenFiles(pid))),
      };
      report(
        `${nodes} nodes: formed in ${(milliseconds / 1000).toFixed(1)} s; at rest ${Object.entries(shares)
          .map(([what, part]) => `${what} ${(part * 100).toFixed(0)} %`)
          .join(", ")}`,
      );
      return shares;
    },
  );
}
