import { describe, expect, it } from "vitest";
import { BadInput } from "../../../../lib/errors";
import { describePlan } from "../../../../stacks/plan/describe";
import { planStack } from "../../../../stacks/plan/stack-plan";
import { parseConfig } from "../../../../stacks/config/parse";

type Raw = Record<string, unknown>;
const MACHINE = { cores: 4, memoryBytes: 16 * 2 ** 30 };
const eks = (changes: Raw = {}): Raw => ({ type: "eks", ...changes });
const kubernetes: Raw = { type: "kubernetes", zones: ["a", "b", "c"] };
const cluster = (changes: Raw = {}): Raw => ({ mode: "cluster", primaries: 3, ...changes });
const single = (changes: Raw = {}): Raw => ({ mode: "replication", replicas: 0, ...changes });

function problems(platform: Raw, deployment: Raw, benchmark?: Raw): readonly string[] {
  try {
    parseConfig(
      "s",
      { platform, deployments: { d: deployment }, ...(benchmark === undefined ? {} : { benchmark }) },
      MACHINE,
    );
    return [];
  } catch (error) {
    if (error instanceof BadInput) return error.problems;
    throw error;
  }
}

describe("what a platform cannot give", () => {
  it.each<[string, Raw, Raw, RegExp]>([
    [
      "Redis on this machine",
      { type: "host" },
      cluster({ engine: "redis" }),
      /^valkey:deployments\.d\.engine: redis runs on the platforms kubernetes and eks/,
    ],
    [
      "a cluster of Dragonfly",
      kubernetes,
      cluster({ engine: "dragonfly" }),
      /^valkey:deployments\.d\.engine: this project runs dragonfly without cluster mode/,
    ],
    [
      "a directive for Dragonfly",
      kubernetes,
      single({ engine: "dragonfly", pods: { zones: ["a"] }, settings: { "io-threads": 4 } }),
      /^valkey:deployments\.d\.settings\.io-threads: dragonfly does not have this setting; expected maxmemory, or a flag by its name/,
    ],
    [
      "TLS for Redis",
      { ...kubernetes, tls: { secretName: "t" } },
      cluster({ engine: "redis" }),
      /^valkey:platform\.tls: d runs redis, but this project deploys redis only without TLS/,
    ],
    [
      "the upstream chart on this machine",
      { type: "host" },
      single({ replicas: 2, chart: {} }),
      /^valkey:deployments\.d\.chart: the platform host cannot install charts/,
    ],
    [
      "TLS for the upstream chart",
      { ...kubernetes, tls: { secretName: "t" } },
      single({ replicas: 2, chart: {} }),
      /^valkey:deployments\.d\.chart: the chart does not support valkey:platform\.tls/,
    ],
    [
      "the upstream chart with Sentinels",
      kubernetes,
      single({ replicas: 2, sentinel: true, chart: {} }),
      /^valkey:deployments\.d\.chart: the chart does not support valkey:deployments\.d\.sentinel/,
    ],
    [
      "the upstream chart without replicas",
      kubernetes,
      single({ pods: { zones: ["a"] }, chart: {} }),
      /^valkey:deployments\.d\.replicas: .*at least 1/,
    ],
    [
      "a value of the upstream chart that the deployment decides",
      kubernetes,
      single({ replicas: 2, chart: { values: { replica: { replicas: 3 } } } }),
      /^valkey:deployments\.d\.chart\.values\.replica\.replicas: the deployment sets this value itself/,
    ],
    [
      "TLS without a certificate",
      { ...kubernetes, tls: {} },
      cluster(),
      /^valkey:platform\.tls: expected either secretName or issuer/,
    ],
    [
      "a Secret on this machine",
      { type: "host", zones: ["a", "b", "c"] },
      cluster({ passwordSecret: { name: "login", key: "password" } }),
      /^valkey:deployments\.d\.passwordSecret: the platform host has no Secrets/,
    ],
    [
      "a generated password beside one in a Secret",
      kubernetes,
      cluster({ passwordVersion: 1, passwordSecret: { name: "login", key: "password" } }),
      /^valkey:deployments\.d\.passwordSecret: cannot be set together with passwordVersion/,
    ],
    [
      "a controller on this machine",
      { type: "host", zones: ["a", "b", "c"] },
      cluster({ controller: {} }),
      /^valkey:deployments\.d\.controller: the platform host has no pods; npm start -- watch verifies/,
    ],
    [
      "a controller of the upstream chart",
      kubernetes,
      single({ replicas: 2, chart: {}, controller: {} }),
      /^valkey:deployments\.d\.controller: cannot be set together with chart/,
    ],
    [
      "a controller of another engine",
      kubernetes,
      single({ replicas: 2, engine: "redis", controller: {} }),
      /^valkey:deployments\.d\.controller: needs Valkey, but d runs redis/,
    ],
    [
      "looks that are too frequent",
      kubernetes,
      cluster({ controller: { everySeconds: 1 } }),
      /^valkey:deployments\.d\.controller\.everySeconds is 1: expected .*5/,
    ],
    [
      "pods that are replaced by a controller that does not repair",
      kubernetes,
      cluster({ controller: { repair: false, replaceLostMachinesAfterSeconds: 300 } }),
      /^valkey:deployments\.d\.controller\.replaceLostMachinesAfterSeconds: needs repair: true/,
    ],
    [
      "pods that are replaced without a replica",
      kubernetes,
      cluster({ replicasPerPrimary: 0, controller: { repair: true, replaceLostMachinesAfterSeconds: 300 } }),
      /^valkey:deployments\.d\.controller\.replaceLostMachinesAfterSeconds: needs replicas/,
    ],
    [
      "repairs of settings without repairs",
      kubernetes,
      cluster({ controller: { repair: false, repairSettings: true } }),
      /^valkey:deployments\.d\.controller\.repairSettings: needs repair: true/,
    ],
    [
      "a backup of servers on this machine",
      { type: "host", zones: ["a", "b", "c"] },
      cluster({ backup: { bucket: "backups", region: "eu-central-1" } }),
      /^valkey:deployments\.d\.backup: the platform host has no pods; npm start -- archive writes backups/,
    ],
    [
      "a backup of the upstream chart",
      kubernetes,
      single({ replicas: 2, chart: {}, backup: { bucket: "backups", region: "eu-central-1" } }),
      /^valkey:deployments\.d\.backup: cannot be set together with chart/,
    ],
    [
      "a backup into a bucket with a wrong name",
      kubernetes,
      cluster({ backup: { bucket: "My_Bucket", region: "eu-central-1" } }),
      /^valkey:deployments\.d\.backup\.bucket: it is "My_Bucket"; expected the name of a bucket/,
    ],
    [
      "a backup without a bucket on a platform that has none",
      kubernetes,
      cluster({ backup: {} }),
      /^valkey:deployments\.d\.backup\.bucket: it is missing; expected the name of a bucket$/,
    ],
    [
      "a backup without a bucket on EKS without platform.backups",
      eks(),
      cluster({ backup: {} }),
      /^valkey:deployments\.d\.backup\.bucket: it is missing; name a bucket, or set valkey:platform\.backups: \{\}, so that/,
    ],
    [
      "a backup to the platform's bucket with credentials of its own",
      eks({ backups: {} }),
      cluster({ backup: { credentials: { secretName: "keys" } } }),
      /^valkey:deployments\.d\.backup\.credentials: needs bucket; the bucket of valkey:platform\.backups has its own$/,
    ],
    [
      "a bucket of the platform that is encrypted by an alias",
      eks({ backups: { encryption: "aws:kms:alias/ours" } }),
      cluster({ backup: {} }),
      /^valkey:platform\.backups\.encryption: it is "aws:kms:alias\/ours"; expected AES256, aws:kms, or aws:kms: and the ARN/,
    ],
    [
      "a backup that is kept for a shorter time than between two bases",
      kubernetes,
      cluster({ backup: { bucket: "backups", region: "eu-central-1", keepSeconds: 3600 } }),
      /^valkey:deployments\.d\.backup\.keepSeconds: it is 3600; expected at least baseEverySeconds, which is 86400/,
    ],
    [
      "a restore into pods from a folder",
      kubernetes,
      cluster({ restoreFrom: { from: "/backups/shop" } }),
      /^valkey:deployments\.d\.restoreFrom\.from: it is "\/backups\/shop"; pods can only read s3:\/\/BUCKET\/PREFIX$/,
    ],
    [
      "a restore into pods from a bucket without a region",
      kubernetes,
      cluster({ restoreFrom: { from: "s3://backups/shop" } }),
      /^valkey:deployments\.d\.restoreFrom\.region: it is missing; only a pod with role or endpoint/,
    ],
    [
      "the memory of a pod on this machine",
      { type: "host", zones: ["a", "b", "c"] },
      cluster({ restoreFrom: { from: "/backups/shop", memory: "2Gi" } }),
      /^valkey:deployments\.d\.restoreFrom\.memory: does not apply to the platform host$/,
    ],
    [
      "a restore from a path that is not absolute",
      { type: "host", zones: ["a", "b", "c"] },
      cluster({ restoreFrom: { from: "backups/shop" } }),
      /^valkey:deployments\.d\.restoreFrom: from is "backups\/shop": expected the absolute path of a folder .*, or s3:/,
    ],
    [
      "pods on this machine",
      { type: "host" },
      cluster({ pods: {} }),
      /^valkey:deployments\.d\.pods: the platform host has no pods/,
    ],
    [
      "a pool where there are none",
      kubernetes,
      cluster({ pods: { pool: "servers" } }),
      /^valkey:deployments\.d\.pods\.pool: only the platform eks has pools/,
    ],
    [
      "a machine type where there are no pools",
      kubernetes,
      cluster({ pods: { instanceType: "r7g.large" } }),
      /^valkey:deployments\.d\.pods\.instanceType: only the platform eks has pools/,
    ],
    [
      "replicas on one machine",
      eks(),
      cluster({ pods: { oneMachine: true, zones: ["a", "b"] } }),
      /^valkey:deployments\.d\.pods\.oneMachine: one machine cannot keep the replicas of d apart/,
    ],
    [
      "one machine in three zones",
      eks(),
      cluster({ replicasPerPrimary: 0, pods: { oneMachine: true } }),
      /^valkey:deployments\.d\.pods\.oneMachine: one machine is in one zone, but 3 zones are named/,
    ],
    [
      "a Helm chart, which no deployment uses",
      { ...kubernetes, chart: { from: "path", path: "charts/valkey" } },
      cluster(),
      /^valkey:platform\.chart: unknown key/,
    ],
    [
      "a zone that is not the platform's",
      eks(),
      cluster({ pods: { zones: ["a", "e"] } }),
      /^valkey:deployments\.d\.pods\.zones: the platform has no zone us-west-2e; zones of the platform: us-west-2a, us-west-2b, us-west-2c/,
    ],
    [
      "a storage class that is none of eks'",
      eks(),
      cluster({ pods: { storage: { className: "io2" } } }),
      /^valkey:deployments\.d\.pods\.storage\.className is io2: expected one of gp3, gp3-fast/,
    ],
    [
      "a type that its pool may not start",
      eks(),
      cluster({ pods: { instanceType: "r7g.2xlarge" } }),
      /^valkey:deployments\.d\.pods\.instanceType: the pool servers has no r7g\.2xlarge; it has r7g\.large/,
    ],
    [
      "a pool that is not configured",
      eks(),
      cluster({ pods: { pool: "networkOptimized" } }),
      /^valkey:platform\.pools\.networkOptimized: the pool is missing, but d must run in it/,
    ],
    [
      "a type that is not in the table",
      eks({ pools: { servers: { instanceTypes: ["r7g.huge"] } } }),
      cluster(),
      /^valkey:platform\.pools\.servers\.instanceTypes\.0: r7g\.huge is not in the table of machine types/,
    ],
    [
      "a network too small for the machines",
      eks({ network: { cidr: "10.0.0.0/24" } }),
      cluster(),
      /^valkey:platform\.network\.cidr: 10\.0\.0\.0\/24 has room for .* at least a \/\d\d/,
    ],
    [
      "more memory than a pod of its own may have",
      eks(),
      cluster({
        settings: { maxmemory: "10gb" },
        pods: { resources: { requests: { cpu: "1", memory: "8Gi" }, limits: { cpu: "2", memory: "8Gi" } } },
      }),
      /^valkey:deployments\.d\.settings\.maxmemory: 10\.0 GiB; expected at most \d\.\d GiB of the memory limit of 8\.0 GiB; the rest is for program .*, client buffers .*\. Lower maxmemory, raise valkey:deployments\.d\.pods\.resources\.limits\.memory, or set oversubscribed: true to allow this$/,
    ],
    [
      "replicas that no even spread keeps apart",
      { ...kubernetes, zones: ["a", "b"] },
      cluster({ replicasPerPrimary: 3 }),
      /^valkey:platform\.zones: 12 nodes in 2 zones \(6 \+ 6\) cannot put every replica of 3 primaries into a different zone than its primary; use a different number of zones, primaries or replicas$/,
    ],
    [
      "the same in zones of its own",
      eks(),
      cluster({ replicasPerPrimary: 3, pods: { zones: ["a", "b"] } }),
      /^valkey:deployments\.d\.pods\.zones: 12 nodes in 2 zones/,
    ],
    [
      "as many io-threads as whole CPUs that are nobody's own",
      eks(),
      cluster({
        settings: { "io-threads": 2 },
        pods: { resources: { requests: { cpu: "2", memory: "8Gi" }, limits: { cpu: "2", memory: "8Gi" } } },
      }),
      /^valkey:deployments\.d\.settings\.io-threads: 2 threads on 2 cores/,
    ],
    [
      "as many io-threads as a pod has CPUs that it shares",
      eks(),
      cluster({ settings: { "io-threads": 2 } }),
      /^valkey:deployments\.d\.settings\.io-threads: 2 threads on 2 cores, but idle threads spin; expected at most 1, or oversubscribed: true/,
    ],
  ])("refuses %s", (_what, platform, deployment, message) => {
    const found = problems(platform, deployment);
    expect(
      found.some((problem) => message.test(problem)),
      found.join("\n"),
    ).toBe(true);
  });

  const whole = { requests: { cpu: "2", memory: "8Gi" }, limits: { cpu: "2", memory: "8Gi" } };
  it.each<[string, Raw, Raw]>([
    [
      "as many io-threads as whole CPUs of its own",
      eks({ pools: { servers: { instanceTypes: ["r7g.2xlarge"], tuning: { staticCpus: true } } } }),
      cluster({ settings: { "io-threads": 2 }, pods: { resources: whole } }),
    ],
    [
      "more data than the limit carries, on purpose",
      kubernetes,
      cluster({ oversubscribed: true, settings: { maxmemory: "2gb" } }),
    ],
    ["too many on purpose", eks(), cluster({ oversubscribed: true, settings: { "io-threads": 9 } })],
    ["a cluster of Redis", kubernetes, cluster({ engine: "redis" })],
    [
      "Dragonfly with flags",
      kubernetes,
      single({
        engine: "dragonfly",
        pods: { zones: ["a"] },
        settings: { maxmemory: "512mb", conn_use_incoming_cpu: true },
      }),
    ],
    [
      "shards on one machine",
      eks(),
      cluster({
        replicasPerPrimary: 0,
        pods: {
          oneMachine: true,
          zones: ["a"],
          storage: { ephemeral: true },
          resources: { requests: { cpu: "500m", memory: "2Gi" }, limits: { cpu: "2", memory: "2Gi" } },
        },
      }),
    ],
    [
      "replication whose data is lost with its pods",
      eks(),
      single({ pods: { zones: ["a"], storage: { ephemeral: true } } }),
    ],
    [
      "a deployment that opts into more bandwidth",
      eks({ pools: { networkOptimized: {} } }),
      cluster({ pods: { pool: "networkOptimized" } }),
    ],
  ])("takes %s", (_what, platform, deployment) => {
    expect(problems(platform, deployment)).toEqual([]);
  });

  it("derives maxmemory from the memory limit, and says it with its parts", () => {
    const config = parseConfig("s", { platform: kubernetes, deployments: { d: cluster() } }, MACHINE);
    const { maxmemory = 0 } = config.deployments["d"]?.settings ?? {};
    expect(maxmemory / 2 ** 30).toBeGreaterThan(0.4);
    expect(maxmemory / 2 ** 30).toBeLessThan(0.8);
    expect(describePlan(planStack("s", config)).join("\n")).toMatch(
      /\n {2}maxmemory: \d+ MiB of the memory limit of 1\.0 GiB; the rest is for program .*, fragmentation/,
    );
    const host = parseConfig(
      "s",
      { platform: { type: "host", zones: ["a", "b", "c"] }, deployments: { d: cluster() } },
      MACHINE,
    );
    expect(host.deployments["d"]?.settings.maxmemory).toBeUndefined();
  });

  it("says what a deployment survives, and warns where everything is lost", () => {
    const described = (deployment: Raw): string =>
      describePlan(
        planStack("s", parseConfig("s", { platform: kubernetes, deployments: { d: deployment } }, MACHINE)),
      ).join("\n");
    const kept = described(cluster());
    expect(kept).toContain(
      "\n  if a zone fails: clients lose writes that no replica had received; clients cannot write for about 7 s",
    );
    expect(kept).not.toContain("everything is lost");
    expect(described(cluster({ settings: { save: "" } }))).toContain(
      "\nnote: d: everything is lost if all pods are killed at once",
    );
    expect(described({ mode: "replication", replicas: 2 })).not.toContain("everything is lost");
    expect(described(single({ pods: { zones: ["a"] } }))).toContain(
      "\nnote: d: everything is lost if the volume of a primary is deleted",
    );
  });

  it("derives the interval of pings for images whose servers know it, and for no others", () => {
    const derived = (changes: Raw): unknown =>
      parseConfig("stack x", { platform: kubernetes, deployments: { d: cluster(changes) } }, MACHINE).deployments["d"]
        ?.settings["cluster-ping-interval"];
    const of = (engine: string, image: string): unknown => derived({ engine, pods: { image } });
    expect([
      of("valkey", "docker.io/valkey/valkey:8.0.1"),
      of("valkey", "x/valkey:9.1.2@sha256:0"),
      of("redis", "x/redis:8.0.6"),
    ]).toEqual([300, 300, 300]);
    expect([of("redis", "x/redis:7.0.15"), of("valkey", "x/valkey:latest"), of("valkey", "host:5000/valkey")]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  it("refuses a load that shards cannot share evenly, unless it may be adjusted", () => {
    const load = { clients: 50, threads: 4 };
    expect(problems(eks(), cluster(), load)).toEqual([
      expect.stringMatching(/^valkey:benchmark\.threads: 4 threads cannot be shared evenly by 3 primaries of d/),
      expect.stringMatching(/^valkey:benchmark\.clients: 50 clients cannot be/),
    ]);
    expect(problems(eks(), cluster(), { ...load, adjustLoad: true })).toEqual([]);
  });
});

describe("the bucket of a platform on EKS", () => {
  const parsed = (deployments: Raw): ReturnType<typeof parseConfig> =>
    parseConfig("s", { platform: eks({ backups: {} }), deployments }, MACHINE);

  it("takes the backups of the deployments without a bucket, and the plan names them", () => {
    const config = parsed({
      a: cluster({ backup: {} }),
      b: cluster({ backup: { bucket: "ours", region: "eu-central-1" } }),
      c: cluster({ backup: { prefix: "former/c" } }),
      d: cluster(),
    });
    const lines = describePlan(planStack("s", config));
    expect(lines).toContain(
      "backups of a, c: a new S3 bucket with a name that AWS generates, encrypted by AES256; deleted objects are kept for " +
        "3 days; destroy keeps the bucket",
    );
    expect(lines.join("\n")).toMatch(/not counted: backups: storage in S3, and up to 172,800 PUT requests a day/);
    const without = parseConfig("s", { platform: eks(), deployments: { d: cluster() } }, MACHINE);
    expect(describePlan(planStack("s", without)).join("\n")).not.toContain("backups");
  });

  it("has a part for each deployment, and refuses parts that overlap", () => {
    const overlapping = (first: string, second: string): (() => unknown) => {
      const backup = (prefix: string): Raw => cluster({ backup: { prefix } });
      return () => parsed({ a: backup(first), b: backup(second) });
    };
    for (const [first, second] of [
      ["x", "x"],
      ["x", "x/y"],
      ["x/y", "x"],
    ] as const)
      expect(overlapping(first, second)).toThrow(
        `valkey:deployments.b.backup.prefix: ${second} and ${first} of a overlap; expected a part of the bucket for each`,
      );
    expect(overlapping("x", "x-y")).not.toThrow();
  });
});
