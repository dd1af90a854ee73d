/** The loss of most primaries of a cluster: time until a controller with consent has every shard served again. */
import { Failure } from "../../../lib/errors";
import { ControlledPods } from "../../support/kubernetes/controlled-pods";
import { DeployedPods } from "../../support/kubernetes/deployed-pods";
import { giveBackPods, losePods } from "../../support/kubernetes/lost-pods";
import type { ObservedWrites } from "../../support/kubernetes/observer-main";
import { KUBECONFIG } from "../../support/kubernetes/throw-away";
import type { Benchmark, BenchmarkContext } from "../benchmark";
import { atMost, singleRow } from "../row";
import { CLUSTER, observe, RATE, shardsOf } from "./heal";

const SECONDS = "lost-majority-seconds";
const LOST = "lost-majority-lost";
const ROUNDS = 10;
const AFTER_MS = 3000;

export const lostMajority: Benchmark = {
  title: "Loss of most primaries",
  ids: [SECONDS, LOST],
  run: async (context) => {
    const ids = [SECONDS, LOST].filter((id) => context.wanted.has(id));
    if (ids.length === 0) return;
    if (KUBECONFIG === undefined)
      for (const id of ids) context.skip(id, "VALKEY_TEST_KUBECONFIG names no throw-away cluster");
    else await measure(context);
  },
};

async function measure({ report, emit, wanted, workbench: { signal } }: BenchmarkContext): Promise<void> {
  const settings = { save: "", appendonly: true, "cluster-node-timeout": 5000, "repl-diskless-sync-delay": 0 };
  const pods = await DeployedPods.open("beheaded", CLUSTER, { settings });
  const controlled = await ControlledPods.open(pods, { onLostMajority: "takeover" });
  const rounds: ObservedWrites[] = [];
  try {
    const observer = await observe(pods);
    while (rounds.length < ROUNDS && !signal.aborted) {
      await controlled.untilLook(120, ({ pass }) => pass);
      const shards = await shardsOf(pods);
      const survivor = shards[2]?.primary ?? "";
      const observed = await observer.during(async () => {
        await losePods(
          pods,
          shards.slice(0, 2).map(({ primary }) => primary),
        );
        await untilServed(pods, survivor);
      }, AFTER_MS);
      rounds.push(observed);
      const { pauseMs, lost, acknowledged } = observed;
      report(`${rounds.length}: ${(pauseMs / 1000).toFixed(1)} s, ${lost} of ${acknowledged} acknowledged writes lost`);
      await giveBackPods(pods, 6);
    }
  } finally {
    await controlled.close();
  }
  const what = `two of three primaries end for good, ${rounds.length} times under ${RATE} writes/s`;
  const longest = Math.max(...rounds.map(({ pauseMs }) => pauseMs)) / 1000;
  // Replication is asynchronous: a replica may lack the last writes before its primary ended.
  const lost = Math.max(...rounds.map((each) => each.lost));
  const rows = [
    singleRow({ id: SECONDS, what: `${what}: longest time without a write`, unit: "s" }, longest, atMost(20)),
    singleRow({ id: LOST, what: `${what}: most writes lost in a round`, unit: "writes" }, lost, atMost(RATE)),
  ];
  for (const row of rows) if (wanted.has(row.id)) emit(row);
}

/** Waits until the node says that every slot is served. */
async function untilServed({ here, target }: DeployedPods, node: string): Promise<void> {
  const ask = '. /valkey/scripts/node.sh; echo "CLUSTER INFO" | tell localhost 5';
  await here
    .until(120, async () => {
      const info = await here.run(node, target.container, ask);
      return info.includes("cluster_state:ok") ? undefined : info;
    })
    .catch((error: unknown) => {
      throw new Failure(`${target.name} is not served again`, { cause: error });
    });
}
