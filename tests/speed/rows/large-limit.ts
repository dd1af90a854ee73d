/** The largest cluster that this machine runs, and the resource that limits it. */
import { totalmem } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { Failure, messageOf } from "../../../lib/errors";
import { withTimeLimit } from "../../../lib/polling";
import { form } from "../../../valkey/formation/form";
import { availableCores, sampleCpu } from "../../../platforms/host/cpu";
import { verdictLine } from "../../../valkey/verification/format";
import { verify } from "../../../valkey/verification/verify";
import type { Benchmark, BenchmarkContext } from "../benchmark";
import { mostOpenFiles, openFiles, residentBytes } from "../proc";
import { singleRow, atLeast } from "../row";
import { hostPlan } from "../workbench";

const LIMIT = "large-limit";
/** Nodes of the first size. */
const FIRST_SIZE = 200;
/** Factor from one size to the next. */
const STEP = 1.25;
const MAX_STEPS = 8;
/** Seconds within which a cluster must start, form and verify. */
const TIMEOUT_SECONDS = 240;
/**
 * Seconds after which it must still verify: longer than the node timeout, by which the others suspect a node that does
 * not keep up.
 */
const REST_SECONDS = 20;
const NODE_TIMEOUT_MS = 15_000;

/** Shares of the machine's resources that a cluster uses at rest. */
type Shares = Readonly<Record<"CPU" | "memory" | "open files of a node", number>>;

export const largeLimit: Benchmark = {
  title: "The largest cluster that this machine runs",
  ids: [LIMIT],
  run: async (context) => {
    let best: { readonly nodes: number; readonly shares: Shares } | undefined;
    let end = `no limit found in ${MAX_STEPS} steps`;
    for (let step = 0; step < MAX_STEPS; step++) {
      const nodes = 2 * Math.round((FIRST_SIZE * STEP ** step) / 2);
      try {
        best = { nodes, shares: await runCluster(nodes, context) };
      } catch (error) {
        context.workbench.signal.throwIfAborted();
        end = `${nodes} nodes failed: ${messageOf(error).split("\n", 1)[0] ?? ""}`;
        break;
      }
    }
    context.report(end);
    const shares = best === undefined ? "nothing ran" : describeShares(best.shares);
    const criteria = `formed and verified within ${TIMEOUT_SECONDS} s, and verified again ${REST_SECONDS} s later`;
    const setting = `half of them replicas, node timeout ${NODE_TIMEOUT_MS / 1000} s, ${availableCores()} cores`;
    const what = `most nodes that ${criteria} (${setting}); ${end}; at rest they use ${shares}`;
    context.emit(singleRow({ id: LIMIT, what, unit: "nodes" }, best?.nodes ?? 0, atLeast(FIRST_SIZE)));
  },
};

/**
 * Runs a cluster of so many nodes.
 * @throws Failure (or what formation throws) when they do not become and stay a cluster
 */
async function runCluster(nodes: number, { workbench, report }: BenchmarkContext): Promise<Shares> {
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
      const { milliseconds } = await withTimeLimit(signal, TIMEOUT_SECONDS * 1000, (limited) =>
        form(deployment, shape, { signal: limited }),
      );
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
      report(`${nodes} nodes: formed in ${(milliseconds / 1000).toFixed(1)} s; at rest ${describeShares(shares)}`);
      return shares;
    },
  );
}

/** `memory 80 %, CPU 20 %, …`: the scarcest resource first. */
function describeShares(shares: Shares): string {
  const descending = Object.entries(shares).sort(([, a], [, b]) => b - a);
  return descending.map(([resource, share]) => `${resource} ${(share * 100).toFixed(0)} %`).join(", ");
}
