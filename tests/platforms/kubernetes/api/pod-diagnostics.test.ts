import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { PodEvidence } from "../../../../platforms/kubernetes/api/pod-diagnostics";
import { formatDiagnostic, isPodRunning, diagnosePods } from "../../../../platforms/kubernetes/api/pod-diagnostics";

/** Records of an API server about pods that did not run; the names say what was done to them. */
function seen(name: string): PodEvidence {
  const text = readFileSync(join(__dirname, "..", "..", "..", "fixtures", "pods", `${name}.json`), "utf8");
  const parsed = JSON.parse(text) as PodEvidence & { readonly lastWords: Record<string, string> };
  return { ...parsed, lastWords: new Map(Object.entries(parsed.lastWords)) };
}

describe("pods that do not run", () => {
  it.each([
    [
      "image",
      true,
      "valkey-0, valkey-1: image registry.invalid/nothing:1 cannot be pulled (dial tcp: lookup registry.invalid on 10.0.0.53:53: no such host); name an image that the machines can pull, and its pull secret if it needs one",
    ],
    [
      "image-name",
      true,
      'valkey-0, valkey-1: image Not:An:Image cannot be pulled (couldn\'t parse image name "Not:An:Image": invalid reference format: repository name (library/Not) must be lowercase); name an image that the machines can pull, and its pull secret if it needs one',
    ],
    [
      "storage-class",
      true,
      "valkey-0, valkey-1: the cluster has no storage class nope for its volume; available: gp3, standard",
    ],
    [
      "cpu",
      false,
      "valkey-0, valkey-1: it cannot be scheduled (0/4 nodes are available: 4 Insufficient cpu); add machines with enough room, or request less CPU or memory",
    ],
    [
      "spread",
      false,
      "valkey-0, valkey-1: it cannot be scheduled (0/4 nodes are available: 4 node(s) didn't match pod topology spread constraints (missing required label)); add machines in as many zones as the plan needs, or use a softer spread constraint",
    ],
    [
      "quota",
      true,
      "StatefulSet valkey: quota few-pods of namespace data allows pods=1; pods=1 is used and pods=1 more is requested. Raise the quota, or deploy less",
    ],
    [
      "root",
      true,
      'StatefulSet valkey: it cannot create its pods: pods "valkey-0" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true (pod must not set securityContext.runAsNonRoot=false), runAsUser=0 (pod must not set runAsUser=0)',
    ],
    ["secret", true, 'valkey-0, valkey-1: container valkey cannot be started: secret "valkey" not found'],
    [
      "crash",
      true,
      "valkey-0, valkey-1: container valkey has exited 2 times, the last time with exit code 3; the last lines of its log:\n    Bad directive or wrong number of arguments",
    ],
    [
      "no-machine-left",
      false,
      "bench-valkey-1a2b3c4d-0-shvzt: it cannot be scheduled (0/4 nodes are available: 4 node(s) didn't match pod anti-affinity rules); add machines, or allow it",
    ],
  ])("are explained in one sentence: %s", (name, stays, expected) => {
    const troubles = diagnosePods(seen(name));
    expect(troubles.map(formatDiagnostic)).toEqual([expected]);
    expect(troubles.map((trouble) => trouble.permanent)).toEqual([stays]);
  });

  it("do not name storage classes where those may not be read", () => {
    expect(diagnosePods({ ...seen("storage-class"), storageClasses: undefined }).map(formatDiagnostic)).toEqual([
      'valkey-0, valkey-1: storage class nope provisions no volume for the pod: storageclass.storage.k8s.io "nope" not found',
    ]);
  });

  it("are reported as missing where no event gives a reason", () => {
    expect(diagnosePods({ ...seen("root"), events: [] }).map(formatDiagnostic)).toEqual([
      "0 of 2 pods exist: no event gives a reason",
    ]);
  });
});

describe("a pod that runs", () => {
  const [pod] = seen("quota").pods;

  it("has a started container and an address", () => {
    if (pod === undefined) throw new Error("the fixture has no pod");
    expect(diagnosePods({ ...seen("quota"), wanted: 1 })).toEqual([]);
    expect(isPodRunning(pod, undefined)).toBe(true);
    expect(isPodRunning(pod, "valkey")).toBe(true);
    expect(isPodRunning(pod, "metrics")).toBe(false);
    if (pod.metadata !== undefined) pod.metadata.deletionTimestamp = new Date();
    expect(isPodRunning(pod, undefined)).toBe(false);
  });
});
