import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { JOB_LABELS, type JobPlan, type RunnerTlsSecret } from "../../../../benchmarks/load/jobs/job-plan";
import { benchmarkJob, featuresJob } from "../../../../benchmarks/load/jobs/benchmark-job";
import { runnerTls } from "../../../../benchmarks/load/jobs/runner-pod";
import { jobPhase, toolRun, workload } from "../../../support/benchmarks/tool-runs";

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

const podOf = (
  changes: Partial<JobPlan> = {},
): NonNullable<NonNullable<ReturnType<typeof benchmarkJob>["job"]["spec"]>["template"]["spec"]> => {
  const spec = benchmarkJob(plan(changes)).job.spec?.template.spec;
  if (spec === undefined) throw new Error("the Job has no pods");
  return spec;
};
const container = (changes: Partial<JobPlan> = {}): ReturnType<typeof podOf>["containers"][number] => {
  const [only] = podOf(changes).containers;
  if (only === undefined) throw new Error("the pod has no container");
  return only;
};
const environment = (changes: Partial<JobPlan> = {}): Record<string, string | undefined> =>
  Object.fromEntries((container(changes).env ?? []).map(({ name, value }) => [name, value]));

describe("a benchmark Job", () => {
  it("has one pod per runner, starts all at once, repeats none and has a deadline", () => {
    expect(benchmarkJob(plan()).job.spec).toMatchObject({
      completionMode: "Indexed",
      completions: 3,
      parallelism: 3,
      backoffLimit: 0,
      activeDeadlineSeconds: 600,
      ttlSecondsAfterFinished: 300,
    });
    expect(podOf().restartPolicy).toBe("Never");
  });

  it("never holds the password, which is in a Secret that the suspended Job waits for", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z0-9]{16,32}$/), (password) => {
        const { job, secret } = benchmarkJob(plan({ user: { username: "made-for-the-run", password } }));
        expect(JSON.stringify(job)).not.toContain(password);
        expect(secret?.stringData).toEqual({ password });
        expect(job.spec?.suspend).toBe(true);
      }),
    );
    expect(container().env).toContainEqual({
      name: "TOOL_PASSWORD",
      valueFrom: { secretKeyRef: { name: "bench-cluster-1a2b3c4d", key: "password" } },
    });
  });

  it("starts at once where the servers want no password", () => {
    const { job, secret } = benchmarkJob(plan({ user: undefined }));
    expect(secret).toBeUndefined();
    expect(job.spec?.suspend).toBe(false);
    expect(container({ user: undefined }).env?.map(({ name }) => name)).not.toContain("TOOL_PASSWORD");
  });

  it("keeps runners off the servers' machines, and only prefers that where sharing is allowed", () => {
    const term = {
      topologyKey: "kubernetes.io/hostname",
      namespaces: ["data"],
      labelSelector: { matchLabels: { app: "cluster" } },
    };
    expect(podOf().affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution).toEqual([term]);
    const sharing = podOf({ runner: { runners: 3, sharing: true } }).affinity?.podAntiAffinity;
    expect(sharing?.requiredDuringSchedulingIgnoredDuringExecution).toBeUndefined();
    expect(sharing?.preferredDuringSchedulingIgnoredDuringExecution?.[0]).toEqual({
      weight: 100,
      podAffinityTerm: term,
    });
  });

  it("spreads runners over zones, each on a machine without another, where machines are started for them", () => {
    const { affinity, topologySpreadConstraints } = podOf({
      runner: { runners: 3, sharing: false, ownMachinesIn: ["a", "b", "c"] },
    });
    const labels = { matchLabels: JOB_LABELS };
    expect(topologySpreadConstraints).toMatchObject([
      {
        topologyKey: "topology.kubernetes.io/zone",
        whenUnsatisfiable: "DoNotSchedule",
        minDomains: 3,
        labelSelector: labels,
      },
    ]);
    expect(affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution).toMatchObject([
      { labelSelector: { matchLabels: { app: "cluster" } } },
      { topologyKey: "kubernetes.io/hostname", labelSelector: labels },
    ]);
    expect(affinity?.podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution).toBeUndefined();
    expect(podOf().topologySpreadConstraints).toBeUndefined();
  });

  it("meets the restricted Pod Security Standard", () => {
    const pod = podOf();
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } });
    expect(pod.automountServiceAccountToken).toBe(false);
    expect(pod.hostNetwork ?? pod.hostPID ?? false).toBe(false);
    for (const each of pod.containers)
      expect(each.securityContext).toMatchObject({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
      });
    for (const volume of pod.volumes ?? [])
      expect(Object.keys(volume).filter((key) => !["name", "emptyDir", "secret"].includes(key))).toEqual([]);
  });

  it("puts placeholders in the arguments for what each runner fills in", () => {
    const load = workload({ rate: 1001, length: { requests: 10_007 } });
    const args =
      container({
        phases: [
          jobPhase(toolRun({ workload: load, seed: 100, length: { seconds: 1 } })),
          jobPhase(toolRun({ workload: load, seed: 200 })),
        ],
      }).args ?? [];
    const then = args.indexOf("@THEN@");
    expect(args.slice(0, then).join(" ")).toBe(
      "-h 10.0.0.1 -p 6379 --user made-for-the-run -a @PASSWORD@ -c 4 -P 2 -d 16 --threads 1 -r 100 --seed @SEED@ --rps @RATE@ --duration 1 -t set",
    );
    expect(args.slice(then + 1).join(" ")).toBe(
      "-h 10.0.0.1 -p 6379 --user made-for-the-run -a @PASSWORD@ -c 4 -P 2 -d 16 -r 100 --seed @SEED@ --rps @RATE@ -n @REQUESTS@ -t set",
    );
    expect(
      environment({
        phases: [
          jobPhase(toolRun({ workload: load, seed: 100, length: { seconds: 1 } })),
          jobPhase(toolRun({ workload: load, seed: 200 })),
        ],
      }),
    ).toMatchObject({
      SEEDS: "100 200",
      RATE: "1001",
      REQUESTS: "10007",
      RUNNERS: "3",
      PHASES: "2",
      HOST: "10.0.0.1",
      PORT: "6379",
    });
  });

  it("mounts the TLS files and names them to valkey-benchmark and valkey-cli", () => {
    const runner = { runners: 1, sharing: false, tls: { secret: "certificates", cacert: "ca.crt" } };
    const own = runnerTls({ sni: "valkey.data" }, runner);
    const tls = {
      tls: { sni: "valkey.data" },
      runner,
      phases: [jobPhase(toolRun(), own === undefined ? {} : { tls: own })],
    };
    expect(container(tls).args?.join(" ")).toContain("--tls --cacert /tls/ca.crt --sni valkey.data");
    expect(environment(tls)["TLS_OPTIONS"]).toBe("--tls --cacert /tls/ca.crt --sni valkey.data");
    expect(podOf(tls).volumes).toContainEqual({
      name: "tls",
      // The servers' private key is in the same Secret.
      secret: { secretName: "certificates", defaultMode: 0o440, items: [{ key: "ca.crt", path: "ca.crt" }] },
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

  it("has the node selector, the tolerations and the labels of its runners", () => {
    const runner = {
      runners: 1,
      sharing: false,
      nodeSelector: { pool: "clients" },
      tolerations: [{ key: "clients", operator: "Exists" as const }],
      labels: { "valkey-client": "true" },
    };
    expect(podOf({ runner })).toMatchObject({
      nodeSelector: { pool: "clients" },
      tolerations: [{ key: "clients", operator: "Exists" }],
    });
    expect(benchmarkJob(plan({ runner })).job.spec?.template.metadata?.labels).toMatchObject({
      "valkey-client": "true",
      "app.kubernetes.io/name": "valkey-benchmark",
    });
  });

  it("has no CPU limit by default, because a limit slows the load generator down", () => {
    expect(container().resources?.limits).toEqual({ memory: "1Gi" });
  });
});

describe("a Job whose load generator runs in a sidecar", () => {
  const sidecar = { image: "node:22", program: "node /tmp/x.cjs", setup: "true" };
  const pod = podOf({ sidecar: { ...sidecar, files: { "x.gz": Buffer.from("bundle") } } });

  it("waits in the servers' image and sends the load from its own image, which gets the resources", () => {
    const resources = { requests: { cpu: "4", memory: "1Gi" }, limits: { cpu: "4", memory: "1Gi" } };
    const [runner, load] = podOf({ sidecar, runner: { runners: 1, sharing: false, resources } }).containers;
    expect(runner).toMatchObject({
      image: "valkey/valkey:9.1.2",
      resources: { requests: { cpu: "50m", memory: "32Mi" }, limits: { cpu: "50m", memory: "32Mi" } },
    });
    expect(load).toMatchObject({
      image: "node:22",
      resources,
      securityContext: { readOnlyRootFilesystem: true, allowPrivilegeEscalation: false },
    });
    expect(
      load?.volumeMounts
        ?.filter(({ name }) => runner?.volumeMounts?.some((each) => each.name === name))
        .map(({ name }) => name),
    ).toContain("exchange");
  });

  it("has its files in a ConfigMap, which the suspended Job waits for, and the password in the environment", () => {
    const { job, files } = benchmarkJob(
      plan({ sidecar: { ...sidecar, files: { "x.gz": Buffer.from("bundle") } }, user: undefined }),
    );
    expect(files).toMatchObject({
      metadata: { name: "bench-cluster-1a2b3c4d", namespace: "data" },
      binaryData: { "x.gz": Buffer.from("bundle").toString("base64") },
    });
    expect(job.spec?.suspend).toBe(true);
    expect(pod.volumes).toContainEqual({ name: "files", configMap: { name: "bench-cluster-1a2b3c4d" } });
    expect(pod.containers[1]?.env).toContainEqual({
      name: "TOOL_PASSWORD",
      valueFrom: { secretKeyRef: { name: "bench-cluster-1a2b3c4d", key: "password" } },
    });
  });
});

describe("the Job that reads the options of valkey-benchmark", () => {
  it("has the affinity of other Jobs, and no arguments or environment", () => {
    const { name, namespace, image, servers, runner } = plan();
    const spec = featuresJob({ name, namespace, image, servers, runner }).spec;
    expect(spec).toMatchObject({ completions: 1, suspend: false });
    expect(spec?.template.spec?.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution).toHaveLength(
      1,
    );
    expect(spec?.template.spec?.containers[0]).toMatchObject({
      args: [],
      env: [],
      securityContext: { readOnlyRootFilesystem: true },
    });
  });
});
