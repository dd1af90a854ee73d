/** Which pods on lost machines the controller replaces, and when it stands still. */
import { describe, expect, it } from "vitest";
import type { MachineMemory, PlaceFacts, ReplacementDecision } from "../../controller/replacement";
import { decideReplacement, rememberMachines } from "../../controller/replacement";
import type { MachineState } from "../../platforms/kubernetes/cluster/machines";
import type { PodPlace, VolumeTie } from "../../platforms/kubernetes/cluster/pod-places";

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
const whyAt = (seconds: readonly number[], found: PlaceFacts, repairs?: readonly number[]): string => {
  const decision = decisionAt(seconds, found, repairs);
  return decision.kind === "wait" ? decision.why : decision.kind;
};

describe("a pod on a machine that is not Ready", () => {
  const lost = facts([...HEALTHY, away(2, "c", onMachine("c"))]);

  it("is replaced with its claim after the wait, and not before", () => {
    expect(whyAt([0], lost)).toBe(
      "machines must be gone or not Ready for 60 s before their pods are replaced: c (affected pods: orders-2)",
    );
    expect(whyAt([0, 59], lost)).toBe(
      "machines must be gone or not Ready for 60 s before their pods are replaced: c (affected pods: orders-2)",
    );
    expect(decisionAt(WAITED, lost)).toMatchObject({
      kind: "replace",
      role: "server",
      pod: { name: "orders-2" },
      claims: [{ name: "data-orders-2" }],
      facts:
        "machine c has been not Ready for 60 s, 2 of 3 machines are Ready, the volume of data-orders-2 is on this machine and is deleted",
    });
  });

  it("waits anew when the machine was Ready in between, even if no look saw it", () => {
    const first = rememberMachines(new Map(), lost, 0);
    const again = { ...lost, machines: [machine("a"), machine("b"), machine("c", false, "later")] };
    const memory = rememberMachines(first, again, 60_000);
    expect(decideReplacement(memory, again, { now: 60_000, afterSeconds: AFTER, repairs: [] }).kind).toBe("wait");
    const seenReady = rememberMachines(first, { ...lost, machines: [machine("c")] }, 30_000);
    expect(rememberMachines(seenReady, lost, 60_000).get("c")?.since).toBe(60_000);
  });

  it("keeps the claim of a volume that other machines can use, if its driver takes it from the old machine first", () => {
    const found = facts([...HEALTHY, away(2, "c", { kind: "exclusive" })]);
    expect(decisionAt(WAITED, found)).toMatchObject({
      kind: "replace",
      claims: [],
      facts: expect.stringContaining("the volume of data-orders-2 is kept") as unknown,
    });
  });

  it("is left alone while two machines could write to its volume, until the machine is gone", () => {
    const found = facts([...HEALTHY, away(2, "c", { kind: "shared" })]);
    expect(whyAt(WAITED, found)).toMatch(/could use the volume of data-orders-2 .* delete its Node/);
    const gone = { ...found, machines: MACHINES.slice(0, 2) };
    const attached = facts([...HEALTHY, away(2, "c", { kind: "exclusive" })], { outlivesDisk: true });
    expect(whyAt(WAITED, attached)).toMatch(/could use the volume of data-orders-2/);
    expect(decisionAt(WAITED, gone)).toMatchObject({
      kind: "replace",
      claims: [],
      facts: "machine c has been gone for 60 s, 2 of 3 machines are Ready, the volume of data-orders-2 is kept",
    });
  });

  it("is replaced with its claim when its machine is gone, also when Kubernetes has deleted the pod already", () => {
    // The StatefulSet has created it again. It cannot be scheduled, because of its volume.
    const found = facts([...HEALTHY, away(2, "c", onMachine("c"))], { machines: MACHINES.slice(0, 2) });
    expect(decisionAt(WAITED, found)).toMatchObject({ kind: "replace", claims: [{ name: "data-orders-2" }] });
  });
});

describe("nothing is replaced", () => {
  const lost = away(2, "c", onMachine("c"));

  it("while all machines of pods work, whatever the pods do", () => {
    expect(decisionAt(WAITED, facts([...HEALTHY, away(2, "b")])).kind).toBe("none");
    expect(decisionAt(WAITED, facts([...HEALTHY, away(2, undefined)])).kind).toBe("none");
    expect(decisionAt(WAITED, facts(HEALTHY)).kind).toBe("none");
  });

  it("unless a majority of the machines is Ready, because this side may be cut off", () => {
    const half = facts([...HEALTHY, lost], { machines: [...MACHINES, machine("d", false)] });
    expect(whyAt(WAITED, half)).toMatch(/^only 2 of 4 machines are Ready/);
    // Machines that are gone count.
    const gone = facts([server(0, "a"), away(1, "b"), lost], { machines: [machine("a")] });
    expect(whyAt(WAITED, gone)).toMatch(/^only 1 of 3 machines are Ready/);
  });

  it("while a pod is not ready for a different reason, such as one that was replaced and copies its data", () => {
    expect(whyAt(WAITED, facts([server(0, "a"), away(1, "b"), lost]))).toBe(
      "not ready, although the machine works: orders-1",
    );
    expect(whyAt(WAITED, facts([server(0, "a"), away(1, undefined), lost]))).toBe(
      "not ready, although the machine works: orders-1",
    );
    expect(whyAt(WAITED, facts([...HEALTHY, lost], { wanted: { servers: 4, sentinels: 0 } }))).toBe(
      "3 server pods exist, but the deployment has 4 servers",
    );
  });

  it("while a second machine has just failed", () => {
    const machines = [machine("a"), machine("b", false), machine("c", false), machine("d"), machine("e")];
    const found = facts([server(0, "a"), away(1, "b"), lost], { machines });
    const former = rememberMachines(new Map(), facts([...HEALTHY, lost]), 0);
    const memory = rememberMachines(former, found, 60_000);
    expect(decideReplacement(memory, found, { now: 60_000, afterSeconds: AFTER, repairs: [] })).toMatchObject({
      kind: "wait",
      why: "machines must be gone or not Ready for 60 s before their pods are replaced: b (affected pods: orders-1, orders-2)",
    });
  });

  it("beyond six repairs in an hour", () => {
    expect(whyAt(WAITED, facts([...HEALTHY, lost]), [1, 2, 3, 4, 5, 6])).toMatch(/^the limit of 6 repairs/);
    expect(decisionAt(WAITED, facts([...HEALTHY, lost]), [1, 2, 3, 4, 5]).kind).toBe("replace");
  });
});

describe("one pod at a time is replaced", () => {
  const sentinel = (index: number, on: string, isReady = true): PodPlace => ({
    ...server(index, on, { isReady }),
    name: `orders-sentinel-${index}`,
  });

  it("when a machine had several: Sentinels first, which have no data, then servers", () => {
    const servers = [...HEALTHY, away(2, "c", onMachine("c")), away(3, "c", onMachine("c"))];
    const sentinels = [sentinel(0, "a"), sentinel(1, "b"), sentinel(2, "c", false)];
    const found = facts(servers, { sentinels, wanted: { servers: 4, sentinels: 3 } });
    expect(decisionAt(WAITED, found)).toMatchObject({
      role: "Sentinel",
      pod: { name: "orders-sentinel-2" },
      claims: [],
    });
    const next = { ...found, sentinels: [sentinel(0, "a"), sentinel(1, "b"), sentinel(2, "b")] };
    expect(decisionAt(WAITED, next)).toMatchObject({
      role: "server",
      pod: { name: "orders-2" },
      lost: { servers: [{ name: "orders-2" }, { name: "orders-3" }] },
    });
  });

  it("and none without a majority of ready Sentinels", () => {
    const sentinels = [sentinel(0, "a"), sentinel(1, "b", false), sentinel(2, "c", false)];
    const found = facts([...HEALTHY, away(2, "c")], { sentinels, wanted: { servers: 3, sentinels: 3 } });
    expect(whyAt(WAITED, found)).toBe("only 1 of 3 Sentinels are ready");
  });
});
