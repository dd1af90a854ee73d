import { describe, expect, it } from "vitest";
import { benchmarkJob } from "../../../benchmarks/load/jobs/benchmark-job";
import { parseConfig } from "../../../stacks/config/parse";
import { STACKS_DIRECTORY } from "../../../stacks/config/sections/paths";
import { deployOnKubernetes } from "../../../stacks/program/platforms/kubernetes";
import { readStackFile } from "../../../stacks/config/sections/stack-file";
import { renderObjects } from "../../support/kubernetes/kubernetes-objects";
import { scanObjects, SCAN_SKIP_NOTE } from "../../support/kubernetes/static-scan";
import { jobPhase, toolRun } from "../../support/benchmarks/tool-runs";

const MACHINE = { cores: 2, memoryBytes: 16 * 2 ** 30 };

async function objectsOf(changes: Readonly<Record<string, unknown>>): ReturnType<typeof renderObjects> {
  const raw = readStackFile(STACKS_DIRECTORY, "kind") as Record<string, Record<string, unknown>>;
  const config = parseConfig(
    "stack kind",
    { ...raw, platform: { ...raw["platform"], imagePullPolicy: undefined, ...changes } },
    MACHINE,
  );
  const { platform } = config;
  if (platform.type !== "kubernetes") throw new Error("kind is no stack for Kubernetes");
  return renderObjects(() => deployOnKubernetes("kind", platform, config));
}

const { job, secret } = benchmarkJob({
  name: "bench",
  namespace: "valkey",
  image: "docker.io/valkey/valkey:9.1.2",
  servers: { namespace: "valkey", labels: { app: "cluster" } },
  runner: { runners: 2, sharing: false, imagePullPolicy: "Always" },
  keys: "bench:{06S}",
  phases: [jobPhase(toolRun({ seed: 1, length: { seconds: 1 } }))],
  user: { username: "made-for-the-run", password: "s3cret" },
  tls: undefined,
  timeoutSeconds: 300,
  deadlineSeconds: 600,
});

describe.skipIf(SCAN_SKIP_NOTE !== "")(`static scan${SCAN_SKIP_NOTE}`, () => {
  it("finds nothing in what the program renders but what is explained where it is configured", async () => {
    const { passed, findings } = await scanObjects([
      ...(await objectsOf({ metrics: { serviceMonitor: true } })),
      job,
      ...(secret === undefined ? [] : [secret]),
    ]);
    expect(passed).toBeGreaterThan(100);
    expect(findings).toEqual([
      "CKV_K8S_11 Job.valkey.bench",
      "CKV_K8S_35 Job.valkey.bench",
      "CKV_K8S_43 Job.valkey.bench",
      "CKV_K8S_43 StatefulSet.valkey.cluster",
      "CKV_K8S_43 StatefulSet.valkey.replication",
    ]);
  });
});
