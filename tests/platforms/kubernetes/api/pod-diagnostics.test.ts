import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { PodEvidence } from "../../../../platforms/kubernetes/api/pod-diagnostics";
import { expectReviewed } from "../../../support/reviewed";
import { formatDiagnostic, isPodRunning, diagnosePods } from "../../../../platforms/kubernetes/api/pod-diagnostics";

/** Records of an API server about pods that did not run; the names say what was done to them. */
function seen(name: string): PodEvidence {
  const text = readFileSync(join(__dirname, "..", "..", "..", "fixtures", "pods", `${name}.json`), "utf8");
  const parsed = JSON.parse(text) as PodEvidence & { readonly lastWords: Record<string, string> };
  return { ...parsed, lastWords: new Map(Object.entries(parsed.lastWords)) };
}

describe("pods that do not run", () => {
  const TEMPORARY = ["cpu", "spread", "no-machine-left"];
  const PERMANENT = ["image", "image-name", "storage-class", "quota", "root", "secret", "crash"];

  it("are explained in one sentence each, which says whether the trouble stays", async () => {
    const evidence: Readonly<Record<string, PodEvidence>> = {
      ...Object.fromEntries([...PERMANENT, ...TEMPORARY].map((name) => [name, seen(name)])),
      "a storage class, where those may not be read": { ...seen("storage-class"), storageClasses: undefined },
      "no event that gives a reason": { ...seen("root"), events: [] },
    };
    const found = Object.entries(evidence).map(([what, each]) => [what, diagnosePods(each)] as const);
    for (const [what, troubles] of found) expect(troubles, what).toHaveLength(1);
    expect(found.filter(([, [trouble]]) => trouble?.permanent === false).map(([what]) => what)).toEqual([
      ...TEMPORARY,
      "no event that gives a reason",
    ]);
    const texts = found.map(([what, troubles]) => [what, troubles.map(formatDiagnostic)] as const);
    await expectReviewed("platforms/pod-diagnostics", "Why pods do not run.", texts);
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
