/** Time of a verification, which asks every node, beside `valkey-cli --cluster check`, which asks one. */
import type { Deployment } from "../../../valkey/deployment";
import { formatEndpoint } from "../../../valkey/node";
import { Failure } from "../../../lib/errors";
import { form } from "../../../valkey/formation/form";
import { median } from "../../../lib/statistics/median";
import { verdictLine } from "../../../valkey/verification/format";
import { verify } from "../../../valkey/verification/verify";
import type { Benchmark, BenchmarkContext } from "../benchmark";
import type { BenchRow } from "../row";
import { singleRow, atMost, comparedRow } from "../row";
import type { BenchServers } from "../workbench";
import { alternatingSides, runDirectly, hostPlan } from "../workbench";

/** Compared with valkey-cli. */
const COMPARED = 96;
const PAIRS = 11;
/** Ratio of our time to valkey-cli's. */
const TARGET = atMost(3);
/**
 * As many nodes as a small machine runs. Their target is in seconds, because valkey-cli asks one node and this project
 * all.
 */
const LARGE = 200;
const LARGE_TARGET = atMost(2);

const idOf = (nodes: number): string => `verification-${nodes}`;

export const verification: Benchmark = {
  title: "Verification, beside valkey-cli --cluster check",
  ids: [COMPARED, LARGE].map(idOf),
  run: async (order) => {
    for (const nodes of [COMPARED, LARGE]) if (order.wanted.has(idOf(nodes))) await measureSize(nodes, order);
  },
};

async function measureSize(nodes: number, { workbench, report, emit }: BenchmarkContext): Promise<void> {
  const shape = { primaries: nodes / 2, replicasPerPrimary: 1 };
  await workbench.withServers([hostPlan("cluster", "cluster", shape)], async (servers) => {
    const {
      deployments: [deployment],
      signal,
    } = servers;
    if (deployment === undefined) throw new Error("no deployment was started");
    await form(deployment, shape, { signal });
    const times = { ours: [] as number[], reference: [] as number[] };
    for (const side of alternatingSides(PAIRS)) {
      signal.throwIfAborted();
      times[side].push(await SIDES[side](servers, deployment));
    }
    const first = times.ours[0] ?? NaN;
    const how = `every node asked over its own connection, medians of ${PAIRS}`;
    const what = `verification of ${nodes} nodes over valkey-cli --cluster check, ${how} (first time ${first.toFixed(3)} s)`;
    const result = comparedRow(
      { id: idOf(nodes), what, unit: "s" },
      { ours: median(times.ours), reference: median(times.reference) },
      "ours/reference",
      TARGET,
    );
    const large: BenchRow = {
      ...singleRow({ id: idOf(nodes), what, unit: "s" }, median(times.ours), LARGE_TARGET),
      reference: median(times.reference),
    };
    const reference = `${median(times.reference).toFixed(3)} s by valkey-cli --cluster check`;
    report(`${nodes} nodes: ${result.ours.toFixed(3)} s by this project, ${reference}`);
    emit(nodes === LARGE ? large : result);
  });
}

/** @returns seconds */
type Check = (servers: BenchServers, deployment: Deployment) => Promise<number>;

const SIDES: Readonly<Record<"ours" | "reference", Check>> = {
  ours: async (_servers, deployment) => {
    const began = performance.now();
    const { verdict } = await verify(deployment);
    const seconds = (performance.now() - began) / 1000;
    if (!verdict.pass) throw new Failure(verdictLine(verdict));
    return seconds;
  },
  reference: async ({ host, signal }, deployment) => {
    const [node] = deployment.nodes;
    if (node === undefined) throw new Error("a deployment without nodes");
    const { seconds } = await runDirectly(host.programs.cli, ["--cluster", "check", formatEndpoint(node.endpoint)], {
      run: host.run,
      signal,
      password: deployment.access.password,
    });
    return seconds;
  },
};
