import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JobPlan, RunnerTlsSecret } from "../../../../benchmarks/load/jobs/job-plan";
import { benchmarkJob, featuresJob } from "../../../../benchmarks/load/jobs/benchmark-job";
import { runnerTls } from "../../../../benchmarks/load/jobs/runner-pod";
import { RULES } from "../../../../policies/all-rules";
import { jobPhase, toolRun, workload } from "../../../support/benchmarks/tool-runs";
import { expectReviewed } from "../../../support/reviewed";
import { forAll } from "../../../support/properties";

function plan(changes: Partial<JobPlan> = {}): JobPlan {
  return {
    name: "bench-cluster-1a2b3c4d",
    namespace: "data",
    image: "valkey/valkey:9.1.2",
    servers: { namespace: "data", labels: { app: "cluster" } },
    runner: { runners: 3, sharing: false },
    keys: "bench:{06S}",
    phases: [jobPhase(toolRun({ seed: 100, length: { seconds: 1 } })), jobPhase(toolRun({ seed: 200 }))],
    user: { username: "made-for-the-run", password: "s3cret" },
    tls: undefined,
    timeoutSeconds: 300,
    deadlineSeconds: 600,
    ...changes,
  };
}

const TLS_RUNNER = { runners: 1, sharing: false, tls: { secret: "certificates", cacert: "ca.crt" } };
const SIDECAR = { image: "node:22", program: "node /tmp/x.cjs", setup: "true" };

/** Plans, by what their Jobs are of. */
const PLANS: Readonly<Record<string, JobPlan>> = {
  "three runners": plan(),
  "three runners that may share machines with servers": plan({ runner: { runners: 3, sharing: true } }),
  "runners on machines that are started for them": plan({
    runner: {
      ...{ runners: 3, sharing: false, ownMachinesIn: ["a", "b", "c"] },
      ...{ nodeSelector: { pool: "clients" }, tolerations: [{ key: "clients", operator: "Exists" }] },
      labels: { "valkey-client": "true" },
    },
  }),
  "servers without a password": plan({ user: undefined }),
  "a rate and a number of requests, which are shared": plan({
    phases: [{ seconds: 1 }, { requests: 10_007 }].map((length) =>
      jobPhase(toolRun({ workload: workload({ rate: 1001 }), length })),
    ),
  }),
  "servers with TLS": plan({
    tls: { sni: "valkey.data" },
    runner: TLS_RUNNER,
    phases: [jobPhase(toolRun(), { tls: runnerTls({ sni: "valkey.data" }, TLS_RUNNER) ?? { insecure: true } })],
  }),
  "a load generator in a sidecar": plan({
    sidecar: { ...SIDECAR, files: { "x.gz": Buffer.from("bundle") } },
    user: undefined,
    runner: {
      ...{ runners: 1, sharing: false },
      resources: { requests: { cpu: "4", memory: "1Gi" }, limits: { cpu: "4", memory: "1Gi" } },
    },
  }),
};

/** Without the scripts, which runner-script.test.ts runs. */
const withoutScripts = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (_key, each: unknown) => (typeof each === "string" && each.length > 300 ? "[script]" : each)),
  );

describe("a benchmark Job", () => {
  it("has these objects, of which the Job is suspended until the others are there", async () => {
    const { name, namespace, image, servers, runner } = plan();
    const features = featuresJob({ name, namespace, image, servers, runner });
    await expectReviewed("benchmarks/benchmark-jobs", "Jobs that measure, and what they mount.", [
      ...Object.entries(PLANS).map(([of, each]) => [of, withoutScripts(benchmarkJob(each))] as const),
      ["the options of valkey-benchmark", withoutScripts(features)],
    ]);
  });

  it.each(Object.entries(PLANS))("of %s meets the restricted Pod Security Standard", (_of, each) => {
    const { spec, metadata } = benchmarkJob(each).job;
    const rule = RULES.find(({ name }) => name === "restricted-pod-security");
    expect(rule?.check({ type: "kubernetes:batch/v1:Job", name: "job", props: { spec, metadata } })).toEqual([]);
    expect(spec?.template.spec?.automountServiceAccountToken).toBe(false);
  });

  it("never holds the password, which is in a Secret that the suspended Job waits for", () => {
    forAll([fc.stringMatching(/^[a-z0-9]{16,32}$/)], (password) => {
      const { job, secret } = benchmarkJob(plan({ user: { username: "made-for-the-run", password } }));
      expect(JSON.stringify(job)).not.toContain(password);
      expect(secret?.stringData).toEqual({ password });
      expect(job.spec?.suspend).toBe(true);
    });
  });

  it("checks certificates wherever it has an authority", () => {
    const checks = (tls: RunnerTlsSecret | undefined): boolean | undefined => {
      const own = runnerTls({}, tls === undefined ? {} : { tls });
      return own && !own.insecure;
    };
    expect([checks({ secret: "s", cacert: "ca" }), checks({ secret: "s", cert: "c" }), checks(undefined)]).toEqual([
      true,
      false,
      false,
    ]);
  });
});
