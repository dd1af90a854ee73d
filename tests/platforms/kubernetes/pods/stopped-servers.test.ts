/** Which servers are known to be off. */
import type { V1Node, V1Pod } from "@kubernetes/client-node";
import { describe, expect, it } from "vitest";
import { findStoppedServers, rememberPodMachines } from "../../../../platforms/kubernetes/pods/stopped-servers";

function machine(name: string, isReady: boolean, isTainted = false): V1Node {
  const taint = { key: "node.kubernetes.io/out-of-service", effect: "NoExecute" };
  return {
    metadata: { name },
    spec: { taints: isTainted ? [taint] : [] },
    status: { conditions: [{ type: "Ready", status: isReady ? "True" : "Unknown" }] },
  };
}

const pod = (name: string, nodeName: string | undefined): V1Pod => ({
  metadata: { name },
  spec: { containers: [], ...(nodeName && { nodeName }) },
});

const READY = ["m-0", "m-1"].map((name) => machine(name, true));
const findOn = (last: string | undefined, machines: readonly V1Node[]): ReturnType<typeof findStoppedServers> => {
  const lastMachines = new Map(last === undefined ? [] : [["n-0", last]]);
  return findStoppedServers({ names: ["n-0"], machines, lastMachines });
};

describe("a server is known to be off", () => {
  it.each([
    ["does not exist any more", READY, "machine m-2 does not exist any more"],
    ["is out of service and not ready", [...READY, machine("m-2", false, true)], "machine m-2 is out of service"],
  ])("if its machine %s", (_what, machines, why) => {
    const { stopped, doubts } = findOn("m-2", machines);
    expect(stopped.get("n-0")).toBe(why);
    expect(doubts).toEqual([]);
  });

  it("by the machine on which its pod last ran, although a new pod waits for a machine", () => {
    const seen = rememberPodMachines(new Map(), [pod("n-0", "m-2"), pod("n-1", "m-0")]);
    const later = rememberPodMachines(seen, [pod("n-0", undefined)]);
    expect([...later]).toEqual([
      ["n-0", "m-2"],
      ["n-1", "m-0"],
    ]);
    expect(rememberPodMachines(later, [pod("n-0", "m-1")]).get("n-0")).toBe("m-1");
  });
});

describe("a server may still run", () => {
  it.each([
    [
      "its machine is only not ready",
      "m-2",
      [...READY, machine("m-2", false)],
      "m-2 is not ready and may still run n-0",
    ],
    ["its machine is ready", "m-0", READY, ""],
    ["its machine is ready again, but still has the taint", "m-2", [...READY, machine("m-2", true, true)], ""],
    ["nobody has seen its machine", undefined, READY, "it is unknown on which machine"],
    ["half of the machines are not ready", "m-9", [machine("m-0", true), machine("m-1", false)], "1 of 2 machines"],
    ["the API server knows no machine", "m-9", [], "0 of 0 machines"],
  ])("if %s", (_what, last, machines, doubt) => {
    const { stopped, doubts } = findOn(last, machines);
    expect([...stopped]).toEqual([]);
    expect(doubts.join("\n")).toContain(doubt);
  });
});
