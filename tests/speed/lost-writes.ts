/** Accounting held against servers that lose acknowledged writes on purpose: every one of them named, none invented. */
import type { FaultSubject } from "../../faults/scenarios/run-scenarios";
import { HostFaultInjector } from "../../faults/injectors/host-injector";
import type { HostDeploymentPlan } from "../../platforms/host/deployment-plan";
import { verify } from "../../valkey/verification/verify";
import type { InducedLoss } from "../support/induced-loss";
import { truncateAppendOnlyFile, lostWriteNames, promoteStaleReplica } from "../support/induced-loss";
import type { Benchmark, BenchmarkContext } from "./benchmark";
import { singleRow, atMost } from "./row";
import type { BenchServers } from "./workbench";
import { hostPlan } from "./workbench";

/** Writes at the end of a file that are cut off. */
const CUT_OFF = 200;

const IDS = ["lost-cut-off-file", "lost-replica-behind"] as const;

export const lostWrites: Benchmark = {
  title: "Accounting, where writes are lost on purpose",
  ids: IDS,
  run: async (order) => {
    if (order.wanted.has("lost-cut-off-file"))
      await hold(
        "lost-cut-off-file",
        `the last ${CUT_OFF} writes cut off the append-only file of a primary`,
        {
          ...hostPlan("replication", "replication", { primaries: 1, replicasPerPrimary: 1 }),
          settings: { save: "", appendonly: true, "repl-diskless-sync-delay": 0 },
        },
        (servers, subject) => truncateAppendOnlyFile(servers.host, subject, CUT_OFF),
        order,
      );
    if (order.wanted.has("lost-replica-behind"))
      await hold(
        "lost-replica-behind",
        "a replica promoted that had stopped following its primary",
        hostPlan("cluster", "cluster", { primaries: 3, replicasPerPrimary: 1 }),
        (_servers, subject) => promoteStaleReplica(subject),
        order,
      );
  },
};

async function hold(
  id: (typeof IDS)[number],
  how: string,
  plan: HostDeploymentPlan,
  lose: (servers: BenchServers, subject: FaultSubject) => Promise<InducedLoss>,
  { workbench, emit }: BenchmarkContext,
): Promise<void> {
  const { accounting, lost } = await workbench.withServers([plan], async (servers) => {
    const {
      host,
      deployments: [deployment],
      signal,
    } = servers;
    if (deployment === undefined) throw new Error("no deployment was started");
    await host.form(deployment, plan.shape, { signal });
    const { verdict } = await verify(deployment);
    const subject: FaultSubject = {
      injector: new HostFaultInjector(host, deployment, signal),
      shape: plan.shape,
      hasAutomaticFailover: plan.mode === "cluster",
      initialPrimaries: verdict.shards.flatMap(({ primary }) => primary ?? []),
    };
    return lose(servers, subject);
  });
  const names = new Set(lostWriteNames(accounting));
  const truly = new Set(lost);
  const missed = [...truly].filter((each) => !names.has(each)).length;
  const invented = [...names].filter((each) => !truly.has(each)).length;
  if (truly.size === 0) throw new Error(`${id}: nothing was lost`);
  emit(
    singleRow(
      {
        id,
        what: `${how}: of ${accounting.acknowledged} acknowledged writes ${truly.size} are lost; those not named (${missed}) or named though kept (${invented})`,
        unit: "writes",
      },
      missed + invented,
      atMost(0),
    ),
  );
}
