/** Which volumes can be used only by one machine. */
import type { Plain } from "../../../../platforms/kubernetes/api/plain";
import type { V1PersistentVolume } from "@kubernetes/client-node";
import { describe, expect, it } from "vitest";
import { type MachineState, machineState } from "../../../../platforms/kubernetes/cluster/machines";
import { volumeTie } from "../../../../platforms/kubernetes/cluster/pod-places";

const MACHINE: MachineState = {
  ...{ name: "node-1.internal", isReady: false, change: "" },
  labels: { "kubernetes.io/hostname": "node-1", "topology.kubernetes.io/zone": "a" },
};

type Volume = Plain<Pick<V1PersistentVolume, "metadata" | "spec">>;

function volume(key: string, values: string[], more: Volume = {}): Volume {
  const terms = [{ matchExpressions: [{ key, operator: "In", values }] }];
  const spec = { accessModes: ["ReadWriteOnce"], nodeAffinity: { required: { nodeSelectorTerms: terms } } };
  return { ...more, spec: { ...spec, ...more.spec } };
}
const ATTACHED = { metadata: { finalizers: ["kubernetes.io/pv-protection", "external-attacher/ebs-csi-aws-com"] } };

describe("the tie of a volume", () => {
  it.each([
    ["a local volume", "kubernetes.io/hostname", "node-1", "node-1.internal"],
    ["a local volume of a machine that is gone", "kubernetes.io/hostname", "node-9", "node-9"],
    ["a volume of a local CSI driver", "topology.topolvm.io/node", "node-1.internal", "node-1.internal"],
  ])("is the machine for %s", (_, key, value, machine) => {
    expect(volumeTie(volume(key, [value]), [MACHINE])).toEqual({ kind: "machine", machine });
  });

  it("is not the machine for a volume of a zone, even if the zone has only this machine", () => {
    expect(volumeTie(volume("topology.kubernetes.io/zone", ["a"], ATTACHED), [MACHINE])).toEqual({ kind: "exclusive" });
    expect(volumeTie(volume("topology.ebs.csi.aws.com/zone", ["a"], ATTACHED), [MACHINE])).toEqual({
      kind: "exclusive",
    });
  });

  it("is not the machine if several machines can use the volume", () => {
    expect(volumeTie(volume("kubernetes.io/hostname", ["node-1", "node-2"]), [MACHINE])).toEqual({ kind: "shared" });
  });

  it("is exclusive only if a driver attaches the volume, and only to one machine", () => {
    expect(volumeTie(volume("topology.kubernetes.io/zone", ["a"]), [MACHINE])).toEqual({ kind: "shared" });
    const spec = { ...volume("topology.kubernetes.io/zone", ["a"]).spec, accessModes: ["ReadWriteMany"] };
    expect(volumeTie({ ...ATTACHED, spec }, [MACHINE])).toEqual({ kind: "shared" });
    expect(volumeTie({}, [])).toEqual({ kind: "shared" });
  });
});

describe("the state of a machine", () => {
  it("changes with the condition Ready, and with the machine itself", () => {
    const state = (uid: string, status: string, at: string): MachineState =>
      machineState({
        metadata: { name: "node-1", uid },
        status: { conditions: [{ type: "Ready", status, lastTransitionTime: new Date(at) }] },
      });
    const first = state("1", "Unknown", "2026-11-27T12:00:00Z");
    expect(first.isReady).toBe(false);
    expect(state("1", "True", "2026-11-27T12:00:00Z").isReady).toBe(true);
    expect(state("1", "Unknown", "2026-11-27T12:00:00Z").change).toBe(first.change);
    expect(state("1", "Unknown", "2026-11-27T12:01:00Z").change).not.toBe(first.change);
    expect(state("2", "Unknown", "2026-11-27T12:00:00Z").change).not.toBe(first.change);
    expect(machineState({}).isReady).toBe(false);
  });
});
