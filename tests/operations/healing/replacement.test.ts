/** Which pods on lost machines the controller replaces, and when it stands still. */
import { describe, expect, it } from "vitest";
import type { MachineMemory, PlaceFacts, ReplacementDecision } from "../../../operations/healing/replacement";
import { decideReplacement, rememberMachines } from "../../../operations/healing/replacement";
import type { MachineState } from "../../../platforms/kubernetes/cluster/machines";
import type { PodPlace, VolumeTie } from "../../../platforms/kubernetes/cluster/pod-places";
import { expectReviewed } from "../../support/reviewed";

const AFTER = 60;
const machine = (name: string, isReady = true, change = `${name} ${isReady}`): MachineState => ({
  ...{ name, isReady, change, labels: {} },
});
const server = (index: number, on: string | undefined, changes: Partial<PodPlace> = {}): PodPlace => ({
  ...{
    name: `orders-${index}`,
    uid: `uid-${index}`,
    machine: on,
    address: `10.0.0.${index}`,
    isReady: true,
    claims: [],
  },
  ...changes,
});
const away = (index: number, on: string | undefined, tie?: VolumeTie): PodPlace =>
  server(index, on, {
    isReady: false,
    claims: tie === undefined ? [] : [{ name: `data-orders-${index}`, uid: `claim-${index}`, tie }],
  });
const onMachine = (name: string): VolumeTie => ({ kind: "machine", machine: name });
const MACHINES = [machine("a"), machine("b"), machine("c", false)];
const HEALTHY = [server(0, "a"), server(1, "b")];

function facts(servers: readonly PodPlace[], changes: Partial<PlaceFacts> = {}): PlaceFacts {
  return {
    machines: MACHINES,
    servers,
    sentinels: [],
    wanted: { servers: servers.length, sentinels: 0 },
    outlivesDisk: false,
    ...changes,
  };
}

/** The decision after looks at these seconds, all of which found the same facts. */
function decisionAt(
  seconds: readonly number[],
  found: PlaceFacts,
  repairs: readonly number[] = [],
): ReplacementDecision {
  const memory = seconds.reduce<MachineMemory>((last, at) => rememberMachines(last, found, at * 1000), new Map());
  return decideReplacement(memory, found, { now: (seconds.at(-1) ?? 0) * 1000, afterSeconds: AFTER, repairs });
}
const WAITED = [0, 30, 60];
/** The decision in words: why nothing is replaced yet, or the pod that is replaced with its claims and the facts. */
const said = (seconds: readonly number[], found: PlaceFacts, repairs?: readonly number[]): unknown => {
  const decision = decisionAt(seconds, found, repairs);
  if (decision.kind !== "replace") return decision.kind === "wait" ? `wait: ${decision.why}` : decision.kind;
  const { role, pod, claims, lost, facts: reasons } = decision;
  return {
    replaced: `${role} ${pod.name}`,
    claims: claims.map(({ name }) => name),
    lost: lost.servers.map(({ name }) => name),
    facts: reasons,
  };
};
const sentinel = (index: number, on: string, isReady = true): PodPlace => ({
  ...server(index, on, { isReady }),
  name: `orders-sentinel-${index}`,
});

describe("pods on machines that are not Ready", () => {
  const lost = away(2, "c", onMachine("c"));
  const found = facts([...HEALTHY, lost]);
  const gone = { machines: MACHINES.slice(0, 2) };
  const exclusive = away(2, "c", { kind: "exclusive" });
  const shared = away(2, "c", { kind: "shared" });
  const sentinels = [sentinel(0, "a"), sentinel(1, "b"), sentinel(2, "c", false)];
  const several = facts([...HEALTHY, lost, away(3, "c", onMachine("c"))], {
    sentinels,
    wanted: { servers: 4, sentinels: 3 },
  });

  it("are replaced one at a time after the wait, and not where this could lose data or this side may be cut off", async () => {
    await expectReviewed("operations/replacements", "Which pods on lost machines are replaced, with a wait of 60 s.", {
      "at the first look": said([0], found),
      "before the wait is over": said([0, 59], found),
      "after the wait": said(WAITED, found),
      "a volume that other machines can use, if its driver takes it from the old machine first": said(
        WAITED,
        facts([...HEALTHY, exclusive]),
      ),
      "a volume that two machines could write to": said(WAITED, facts([...HEALTHY, shared])),
      "a volume that two machines could write to, of a machine that is gone": said(
        WAITED,
        facts([...HEALTHY, shared], gone),
      ),
      "a volume of a driver that does not take it from the old machine": said(
        WAITED,
        facts([...HEALTHY, exclusive], { outlivesDisk: true }),
      ),
      // The StatefulSet has created the pod again. It cannot be scheduled, because of its volume.
      "a machine that is gone, and Kubernetes has deleted the pod already": said(WAITED, { ...found, ...gone }),
      "a pod that is not ready on a machine that works": said(WAITED, facts([...HEALTHY, away(2, "b")])),
      "a pod without a machine": said(WAITED, facts([...HEALTHY, away(2, undefined)])),
      "healthy pods": said(WAITED, facts(HEALTHY)),
      "two of four machines": said(WAITED, facts([...HEALTHY, lost], { machines: [...MACHINES, machine("d", false)] })),
      "two of three machines are gone": said(
        WAITED,
        facts([server(0, "a"), away(1, "b"), lost], { machines: [machine("a")] }),
      ),
      "another pod that was replaced and copies its data": said(WAITED, facts([server(0, "a"), away(1, "b"), lost])),
      "another pod that is not scheduled": said(WAITED, facts([server(0, "a"), away(1, undefined), lost])),
      "fewer pods than servers": said(WAITED, facts([...HEALTHY, lost], { wanted: { servers: 4, sentinels: 0 } })),
      "six repairs in an hour": said(WAITED, found, [1, 2, 3, 4, 5, 6]),
      "five repairs in an hour": said(WAITED, found, [1, 2, 3, 4, 5]),
      "a Sentinel, which has no data, and two servers": said(WAITED, several),
      "two servers": said(WAITED, { ...several, sentinels: [...sentinels.slice(0, 2), sentinel(2, "b")] }),
      "no majority of ready Sentinels": said(
        WAITED,
        facts([...HEALTHY, away(2, "c")], {
          sentinels: [sentinel(0, "a"), sentinel(1, "b", false), sentinel(2, "c", false)],
          wanted: { servers: 3, sentinels: 3 },
        }),
      ),
    });
  });

  it("wait anew when the machine was Ready in between, even if no look saw it", () => {
    const first = rememberMachines(new Map(), found, 0);
    const again = { ...found, machines: [machine("a"), machine("b"), machine("c", false, "later")] };
    const memory = rememberMachines(first, again, 60_000);
    expect(decideReplacement(memory, again, { now: 60_000, afterSeconds: AFTER, repairs: [] }).kind).toBe("wait");
    const seenReady = rememberMachines(first, { ...found, machines: [machine("c")] }, 30_000);
    expect(rememberMachines(seenReady, found, 60_000).get("c")?.since).toBe(60_000);
  });

  it("wait while a second machine has just failed", () => {
    const machines = [machine("a"), machine("b", false), machine("c", false), machine("d"), machine("e")];
    const second = facts([server(0, "a"), away(1, "b"), lost], { machines });
    const memory = rememberMachines(rememberMachines(new Map(), found, 0), second, 60_000);
    expect(decideReplacement(memory, second, { now: 60_000, afterSeconds: AFTER, repairs: [] })).toMatchObject({
      kind: "wait",
      why: "machines must be gone or not Ready for 60 s before their pods are replaced: b (affected pods: orders-1, orders-2)",
    });
  });
});
