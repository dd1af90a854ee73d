/** Accounting held against servers that lose acknowledged writes on purpose: every one of them named, none invented. */
import type { Sufferer } from "../../faults/break-all";
import { HostBreaker } from "../../faults/host-breaker";
import type { HostPlan } from "../../platforms/host/host";
import { verify } from "../../valkey/verification/verify";
import type { Losing } from "../support/losing";
import { cutOffFile, named, promoteBehind } from "../support/losing";
import type { Benchmark, Order } from "./benchmark";
import { alone, atMost } from "./result";
import type { Servers } from "./workbench";
import { planOf } from "./workbench";

/** Writes at the end of a file that are cut off. */
const CUT_OFF = 200;

const IDS = ["lost-cut-off-file", "lost-replica-behind"] as const;

export const lostWrites: Benchmark = {
  title: "Accounting, where writes are lost on purpose",
  ids: IDS,
  run: async (order) => {
    if (order.wanted.has("lost-cut-off-file")) await hold("lost-cut-off-file", `the last ${CUT_OFF} writes cut off the append-only file of a primary`, { ...planOf("replication", "replication", { primaries: 1, replicasPerPrimary: 1 }), settings: { save: "", appendonly: true, "repl-diskless-sync-delay": 0 } }, (servers, whom) => cutOffFile(servers.host, whom, CUT_OFF), order);
    if (order.wanted.has("lost-replica-behind")) await hold("lost-replica-behind", "a replica promoted that had stopped following its primary", planOf("cluster", "cluster", { primaries: 3, replicasPerPrimary: 1 }), (_servers, whom) => promoteBehind(whom), order);
  },
};

async function hold(id: (typeof IDS)[number], how: string, plan: HostPlan, lose: (servers: Servers, whom: Sufferer) => Promise<Losing>, { bench, emit }: Order): Promise<void> {
  const { accounting, lost } = await bench.withServers([plan], async (servers) => {
    const { host, deployments: [deployment], signal } = servers;
    if (deployment === undefined) throw new Error("no deployment was started");
    await host.form(deployment, plan.shape, { signal });
    const { verdict } = await verify(deployment);
    const whom: Sufferer = { breaker: new HostBreaker(host, deployment, signal), shape: plan.shape, failsOver: plan.mode === "cluster", primaries: verdict.shards.flatMap(({ primary }) => primary ?? []) };
    return lose(servers, whom);
  });
  const names = new Set(named(accounting));
  const truly = new Set(lost);
  const missed = [...truly].filter((each) => !names.has(each)).length;
  const invented = [...names].filter((each) => !truly.has(each)).length;
  if (truly.size === 0) throw new Error(`${id}: nothing was lost`);
  emit(alone({ id, what: `${how}: of ${accounting.acknowledged} acknowledged writes ${truly.size} are lost; those not named (${missed}) or named though kept (${invented})`, unit: "writes" }, missed + invented, atMost(0)));
}
