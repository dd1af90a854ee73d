/** Which servers certainly do not run. */
import type { V1Node, V1Pod } from "@kubernetes/client-node";
import { describe, expect, it } from "vitest";
import { findStoppedServers } from "../../../../platforms/kubernetes/pods/stopped-servers";

type MachineState = "ready" | "silent" | "out of service";

function machine(name: string, state: MachineState = "ready"): V1Node {
  const taint = { key: "node.kubernetes.io/out-of-service", effect: "NoExecute" };
  return {
    metadata: { name },
    spec: { taints: state === "out of service" ? [taint] : [] },
    status: { conditions: [{ type: "Ready", status: state === "ready" ? "True" : "Unknown" }] },
  };
}

function pod(name: string, nodeName: string | undefined, state: "running" | "waiting" = "running"): V1Pod {
  const status = { name: "valkey", image: "", imageID: "", ready: true, restartCount: 0 };
  const containerStatuses = [{ ...status, state: state === "running" ? { running: {} } : { waiting: {} } }];
  return { metadata: { name }, spec: { containers: [], ...(nodeName && { nodeName }) }, status: { containerStatuses } };
}

const MACHINES = ["m-0", "m-1", "m-2"].map((name) => machine(name));
const findFor = (pods: readonly V1Pod[], machines: readonly V1Node[]): ReturnType<typeof findStoppedServers> =>
  findStoppedServers({ names: ["n-0"], pods, machines, container: "valkey" });

describe("a server certainly does not run", () => {
  it.each([
    ["its machine does not exist any more", [pod("n-0", "m-9")], MACHINES, "machine m-9 does not exist any more"],
    [
      "its machine is out of service",
      [pod("n-0", "m-2")],
      [...MACHINES.slice(0, 2), machine("m-2", "out of service")],
      "machine m-2 is out of service",
    ],
    [
      "its container does not run on a machine that is ready",
      [pod("n-0", "m-0", "waiting")],
      MACHINES,
      "its container",
    ],
    ["its pod has no machine yet", [pod("n-0", undefined, "waiting")], MACHINES, "its container does not run"],
    ["it has no pod", [], MACHINES, "it has no pod"],
  ])("if %s", (_what, pods, machines, why) => {
    const { stopped, doubts } = findFor(pods, machines);
    expect(stopped.get("n-0")).toContain(why);
    expect(doubts).toEqual([]);
  });
});

describe("a server may still run", () => {
  const silent = [...MACHINES.slice(0, 2), machine("m-2", "silent")];
  it.each([
    ["its container runs", [pod("n-0", "m-0")], MACHINES, "the container of n-0 runs on machine m-0"],
    ["its machine is only not ready", [pod("n-0", "m-2")], silent, "machine m-2 is not ready and may still run n-0"],
    // Somebody may have deleted the pod without waiting.
    ["it has no pod, and a machine is not ready", [], silent, "machine m-2 is not ready and may still run n-0"],
    ["it waits to start, and a machine is not ready", [pod("n-0", "m-0", "waiting")], silent, "may still run n-0"],
    [
      "the majority of the machines is not ready",
      [pod("n-0", "m-9")],
      [machine("m-0"), machine("m-1", "silent")],
      "1 of 2 machines are not ready",
    ],
  ])("if %s", (_what, pods, machines, doubt) => {
    const { stopped, doubts } = findFor(pods, machines);
    expect([...stopped]).toEqual([]);
    expect(doubts.join("\n")).toContain(doubt);
  });
});
