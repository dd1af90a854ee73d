import { beforeAll, describe, expect, it } from "vitest";
import { RULES } from "../../policies/all-rules";
import type { CheckedResource } from "../../policies/rule";
import { declare, platformArgs } from "../support/pulumi/eks";
import type { ProgramRun } from "../support/pulumi/pulumi-mocks";

const rule = (name: string): ((resource: CheckedResource) => string[]) => {
  const found = RULES.find((each) => each.name === name);
  if (found === undefined) throw new Error(`${name}: no such rule`);
  return found.check;
};
const of = (type: string, props: Record<string, unknown>): CheckedResource => ({ type, name: "x", props });

const secure = {
  allowPrivilegeEscalation: false,
  runAsNonRoot: true,
  capabilities: { drop: ["ALL"] },
  seccompProfile: { type: "RuntimeDefault" },
};
const container = (changes: Record<string, unknown> = {}): Record<string, unknown> => ({
  name: "valkey",
  image: "valkey:9.1.2",
  securityContext: secure,
  ...changes,
});
const pod = (changes: Record<string, unknown> = {}): CheckedResource =>
  of("kubernetes:core/v1:Pod", { metadata: { namespace: "valkey" }, spec: { containers: [container()], ...changes } });
const servers = (spec: Record<string, unknown>, replicas = 6): CheckedResource =>
  of("kubernetes:apps/v1:StatefulSet", {
    metadata: { namespace: "valkey" },
    spec: {
      replicas,
      template: {
        metadata: { labels: { "app.kubernetes.io/name": "valkey" } },
        spec: { containers: [container()], ...spec },
      },
    },
  });
const zoneSpread = (whenUnsatisfiable: string): Record<string, unknown> => ({
  topologySpreadConstraints: [{ topologyKey: "topology.kubernetes.io/zone", whenUnsatisfiable }],
});
const inZones = (...values: string[]): Record<string, unknown> => ({
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: "topology.kubernetes.io/zone", operator: "In", values }] }],
      },
    },
  },
});

const BLOCK = "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock";
const NODE_POOL = "kubernetes:karpenter.sh/v1:NodePool";
const pool = (name: string, requirements: object[], spec: object = { expireAfter: "Never" }): CheckedResource =>
  of(NODE_POOL, { metadata: { name }, spec: { template: { spec: { requirements, ...spec } } } });
const capacity = (...values: string[]): object => ({ key: "karpenter.sh/capacity-type", operator: "In", values });
const nodeClass = (spec: object): CheckedResource =>
  of("kubernetes:karpenter.k8s.aws/v1:EC2NodeClass", { metadata: { name: "servers" }, spec });
const cluster = (props: Record<string, unknown>): CheckedResource =>
  of("eks:index:Cluster", {
    version: "1.35",
    vpcCniOptions: { addonVersion: "v1" },
    kubeProxyAddonOptions: { version: "v1" },
    encryptionConfigKeyArn: "arn",
    publicAccessCidrs: ["198.51.100.0/24"],
    ...props,
  });
const chart = (props: Record<string, unknown>): CheckedResource =>
  of("kubernetes:helm.sh/v4:Chart", { chart: "oci://x/y", version: "1.2.3", ...props });
const nodeGroup = (props: Record<string, unknown>): CheckedResource => of("aws:eks/nodeGroup:NodeGroup", props);
const launchTemplate = (props: Record<string, unknown>): CheckedResource =>
  of("aws:ec2/launchTemplate:LaunchTemplate", props);
const storageClass = (props: Record<string, unknown>): CheckedResource =>
  of("kubernetes:storage.k8s.io/v1:StorageClass", props);
const configMap = (data: Record<string, string>): CheckedResource => of("kubernetes:core/v1:ConfigMap", { data });
/** A pod whose container has a security context with these changes. */
const secured = (changes: Record<string, unknown>): CheckedResource =>
  pod({ containers: [container({ securityContext: { ...secure, ...changes } })] });
/** As the engine is told of them: of a remote component nothing, of what it is made of everything. */
const untold = (type: string): CheckedResource => of(type, {});
const controlPlane = (props: Record<string, unknown> = {}): CheckedResource =>
  of("aws:eks/cluster:Cluster", {
    version: "1.35",
    vpcConfig: { endpointPublicAccess: true, publicAccessCidrs: ["198.51.100.7/32"] },
    encryptionConfig: { provider: { keyArn: "arn" }, resources: ["secrets"] },
    tags: {},
    ...props,
  });

/** Each rule: what violates it, and what conforms. */
const CASES: Readonly<
  Record<
    string,
    {
      readonly violating: Readonly<Record<string, CheckedResource>>;
      readonly conforming: Readonly<Record<string, CheckedResource>>;
    }
  >
> = {
  "no-spot-servers": {
    violating: {
      "spot beside on-demand": pool("servers", [capacity("on-demand", "spot")]),
      "no requirement": pool("servers", []),
      "not spot, said the other way": pool("servers", [{ key: "karpenter.sh/capacity-type", operator: "Exists" }]),
      "a spot node group": nodeGroup({ capacityType: "SPOT" }),
    },
    conforming: {
      "on demand": pool("servers", [capacity("on-demand")]),
      "spot clients": pool("clients", [capacity("spot")]),
      "a node group": nodeGroup({ capacityType: "ON_DEMAND" }),
    },
  },
  "explicit-expiry": {
    violating: { "no expiry": pool("servers", [capacity("on-demand")], {}) },
    conforming: {
      never: pool("servers", [], { expireAfter: "Never" }),
      "a week": pool("clients", [], { expireAfter: "168h" }),
    },
  },
  "pinned-machine-images": {
    violating: {
      latest: nodeClass({ amiSelectorTerms: [{ alias: "al2023@latest" }] }),
      "no version": nodeClass({ amiSelectorTerms: [{ alias: "al2023" }] }),
      "a name pattern": nodeClass({ amiSelectorTerms: [{ name: "eks-*" }] }),
      "no terms": nodeClass({}),
      "a node group of no release": nodeGroup({}),
      "one by a template that need not name an image": nodeGroup({ launchTemplate: { id: "lt-1" } }),
    },
    conforming: {
      alias: nodeClass({ amiSelectorTerms: [{ alias: "al2023@v20260714" }] }),
      id: nodeClass({ amiSelectorTerms: [{ id: "ami-1" }] }),
      "a node group": nodeGroup({ releaseVersion: "1.35.6-20260714" }),
      "a template's image": nodeGroup({ amiType: "CUSTOM", launchTemplate: { id: "lt-1" } }),
    },
  },
  "pinned-charts": {
    violating: {
      none: chart({ version: undefined }),
      range: chart({ version: "^1.2.0" }),
      "a major version": chart({ version: "1" }),
      "a release": of("kubernetes:helm.sh/v3:Release", { chart: "x" }),
      "a component's": of("valkey:eks:Karpenter", {
        charts: [
          { chart: "oci://x/y", version: "1.2.3" },
          { chart: "oci://x/z", version: "1" },
        ],
      }),
    },
    conforming: {
      exact: chart({}),
      "with a v": chart({ version: "v1.2.3" }),
      "a directory": chart({ chart: "./charts/valkey", version: undefined }),
      untold: untold("kubernetes:helm.sh/v4:Chart"),
      "a component's": of("valkey:eks:Karpenter", {
        charts: [{ chart: "oci://x/y", version: "1.2.3" }, { chart: "/charts/valkey" }],
      }),
    },
  },
  "pinned-addons": {
    violating: {
      "an add-on": of("aws:eks/addon:Addon", { addonName: "coredns" }),
      "a cluster": cluster({ version: undefined }),
      "its CNI": cluster({ vpcCniOptions: {} }),
      "its proxy": cluster({ kubeProxyAddonOptions: { enabled: true } }),
      "a control plane": controlPlane({ version: undefined }),
      "a component's": of("valkey:eks:Cluster", { addons: { "vpc-cni": "latest" } }),
    },
    conforming: {
      "an add-on": of("aws:eks/addon:Addon", { addonName: "coredns", addonVersion: "v1.13.2-eksbuild.11" }),
      "a cluster": cluster({}),
      "a control plane": controlPlane(),
      untold: untold("eks:index:Cluster"),
      "a component's": of("valkey:eks:Cluster", { addons: { "vpc-cni": "v1.22.3-eksbuild.1" } }),
    },
  },
  "encrypted-storage": {
    violating: {
      "a class": storageClass({
        provisioner: "ebs.csi.aws.com",
        parameters: { type: "gp3" },
      }),
      "a machine's disk": nodeClass({ blockDeviceMappings: [{ deviceName: "/dev/xvda", ebs: { encrypted: false } }] }),
      "a machine's disks unsaid": nodeClass({}),
      "a template": launchTemplate({ blockDeviceMappings: [{ ebs: {} }] }),
      "a template without disks": launchTemplate({}),
      "a node group without a template": nodeGroup({ releaseVersion: "1.35.6-20260714" }),
      "a volume": of("aws:ebs/volume:Volume", {}),
      "a queue": of("aws:sqs/queue:Queue", {}),
      "secrets in etcd": cluster({ encryptionConfigKeyArn: undefined }),
      "secrets of a control plane": controlPlane({ encryptionConfig: undefined }),
    },
    conforming: {
      "a class": storageClass({
        provisioner: "ebs.csi.aws.com",
        parameters: { encrypted: "true" },
      }),
      "another's class": storageClass({ provisioner: "rancher.io/local-path" }),
      "a disk": nodeClass({ blockDeviceMappings: [{ ebs: { encrypted: true } }] }),
      "a template": launchTemplate({ blockDeviceMappings: [{ ebs: { encrypted: "true" } }] }),
      "a node group by a template": nodeGroup({ launchTemplate: { id: "lt-1" } }),
      "a volume": of("aws:ebs/volume:Volume", { encrypted: true }),
      "a queue with a key": of("aws:sqs/queue:Queue", { kmsMasterKeyId: "k" }),
      "a control plane": controlPlane(),
      untold: untold("eks:index:Cluster"),
    },
  },
  "hard-zone-spread": {
    violating: {
      "no spread": servers({}),
      "a wish": servers(zoneSpread("ScheduleAnyway")),
      "by machine only": servers({
        topologySpreadConstraints: [{ topologyKey: "kubernetes.io/hostname", whenUnsatisfiable: "DoNotSchedule" }],
      }),
      "bound to two zones": servers(inZones("a", "b")),
    },
    conforming: {
      "a condition": servers(zoneSpread("DoNotSchedule")),
      "one zone each": servers(inZones("a")),
      "by selector": servers({ nodeSelector: { "topology.kubernetes.io/zone": "a" } }),
      alone: servers({}, 1),
      "not Valkey": of("kubernetes:apps/v1:Deployment", {
        spec: { replicas: 2, template: { spec: { containers: [] } } },
      }),
    },
  },
  "no-open-api-endpoint": {
    violating: {
      everyone: cluster({ publicAccessCidrs: ["0.0.0.0/0"] }),
      "everyone on IPv6": cluster({ publicAccessCidrs: ["::/0"] }),
      "two halves of everyone": cluster({ publicAccessCidrs: ["0.0.0.0/1", "128.0.0.0/1"] }),
      "no blocks": cluster({ publicAccessCidrs: undefined }),
      "AWS's own resource": controlPlane({ vpcConfig: { endpointPublicAccess: true } }),
      "everyone, there": controlPlane({ vpcConfig: { publicAccessCidrs: ["0.0.0.0/0"] } }),
    },
    conforming: {
      "named blocks": cluster({}),
      closed: cluster({ endpointPublicAccess: false, publicAccessCidrs: undefined }),
      "tagged as open": cluster({
        publicAccessCidrs: ["0.0.0.0/0"],
        clusterTags: { "valkey-measured/open-to-the-world": "true" },
      }),
      "AWS's own resource": controlPlane(),
      "closed, there": controlPlane({ vpcConfig: { endpointPublicAccess: false } }),
      "tagged as open, there": controlPlane({
        vpcConfig: { publicAccessCidrs: ["0.0.0.0/0"] },
        tags: { "valkey-measured/open-to-the-world": "true" },
      }),
      untold: untold("eks:index:Cluster"),
    },
  },
  "no-public-buckets": {
    violating: {
      "a bucket that may become public": of(BLOCK, {
        blockPublicAcls: true,
        blockPublicPolicy: true,
        ignorePublicAcls: true,
      }),
    },
    conforming: {
      "a private bucket": of(BLOCK, {
        ...{ blockPublicAcls: true, blockPublicPolicy: true, ignorePublicAcls: true, restrictPublicBuckets: true },
      }),
    },
  },
  "no-plain-text-secrets": {
    violating: {
      "a variable": pod({ containers: [container({ env: [{ name: "VALKEY_PASSWORD", value: "hunter2" }] })] }),
      "a command line": pod({ containers: [container({ command: ["valkey-cli", "-a", "hunter2", "ping"] })] }),
      "a server's command line": pod({ initContainers: [container({ args: ["--requirepass", "hunter2"] })] }),
      "a configuration": configMap({ "valkey.conf": "port 6379\nrequirepass hunter2\n" }),
      "a script's password": configMap({ "start.sh": "requirepass $ecret-9\n" }),
      "an ACL": of("kubernetes:core/v1:ConfigMapPatch", { data: { "users.acl": "user default on >hunter2 ~* +@all" } }),
      "a chart's values": chart({ values: { auth: { password: "hunter2" } } }),
    },
    conforming: {
      "a reference": pod({
        containers: [
          container({ env: [{ name: "VALKEY_PASSWORD", valueFrom: { secretKeyRef: { name: "s", key: "p" } } }] }),
        ],
      }),
      "a variable on a command line": pod({
        containers: [container({ command: ["valkey-cli", "-a", "$VALKEY_PASSWORD"] })],
      }),
      "a configuration": configMap({ "valkey.conf": "port 6379\naclfile /etc/valkey/users.acl\n" }),
      "a script's variable": configMap({
        "start.sh": 'cat <<CONF\nrequirepass $password\nprimaryauth "${password}"\nCONF\n',
      }),
      "a hash": configMap({
        "users.acl": "user default on #2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b ~* +@all",
      }),
      "a chart's values": chart({ values: { auth: { usersExistingSecret: "valkey", passwordKey: "p" } } }),
      "a Secret": of("kubernetes:core/v1:Secret", { stringData: { password: "hunter2" } }),
    },
  },
  "restricted-pod-security": {
    violating: {
      root: secured({ runAsNonRoot: undefined }),
      "user 0": secured({ runAsUser: 0 }),
      privileged: secured({ privileged: true }),
      escalation: secured({ allowPrivilegeEscalation: undefined }),
      "capabilities kept": secured({ capabilities: {} }),
      "capabilities added": secured({ capabilities: { drop: ["ALL"], add: ["SYS_ADMIN"] } }),
      "no seccomp": secured({ seccompProfile: undefined }),
      "the machine's network": pod({ hostNetwork: true }),
      "the machine's files": pod({ volumes: [{ name: "sys", hostPath: { path: "/sys" } }] }),
      "the machine's port": pod({ containers: [container({ ports: [{ containerPort: 6379, hostPort: 6379 }] })] }),
      "a sysctl": pod({ securityContext: { sysctls: [{ name: "net.core.somaxconn", value: "1024" }] } }),
      "an init container": pod({ initContainers: [container({ securityContext: {} })] }),
      "a Job": of("kubernetes:batch/v1:Job", { spec: { template: { spec: { containers: [{ name: "load" }] } } } }),
      "a CronJob": of("kubernetes:batch/v1:CronJob", {
        spec: { jobTemplate: { spec: { template: { spec: { containers: [{ name: "load" }] } } } } },
      }),
    },
    conforming: {
      "a pod": pod(),
      "said for the pod": pod({
        securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
        containers: [
          container({
            securityContext: {
              allowPrivilegeEscalation: false,
              capabilities: { drop: ["ALL"], add: ["NET_BIND_SERVICE"] },
            },
          }),
        ],
      }),
      volumes: pod({
        volumes: [
          { name: "data", persistentVolumeClaim: { claimName: "d" } },
          { name: "conf", configMap: { name: "c" } },
        ],
      }),
      "others' pods": of("kubernetes:apps/v1:DaemonSet", {
        metadata: { namespace: "kube-system" },
        spec: { template: { spec: { hostNetwork: true, containers: [{ name: "aws-node" }] } } },
      }),
    },
  },
};

describe("guardrails", () => {
  it("are each tried with what violates them and what conforms", () => {
    expect(Object.keys(CASES).sort()).toEqual(RULES.map(({ name }) => name).sort());
  });

  const table = (kind: "violating" | "conforming"): [string, string, CheckedResource][] =>
    Object.entries(CASES).flatMap(([name, cases]) =>
      Object.entries(cases[kind]).map(([what, resource]): [string, string, CheckedResource] => [name, what, resource]),
    );

  it.each(table("violating"))("%s catches: %s", (name, _what, resource) => {
    expect(rule(name)(resource)).not.toEqual([]);
  });

  it.each(table("conforming"))("%s lets pass: %s", (name, _what, resource) => {
    expect(rule(name)(resource)).toEqual([]);
  });

  it("have names that a policy pack takes, and nothing to say of what they do not know", () => {
    for (const { name, description, check } of RULES) {
      expect(name).toMatch(/^[a-z0-9-]{1,100}$/);
      expect(description.length).toBeGreaterThan(20);
      for (const props of [{}, { spec: null }, { spec: { template: "x" } }])
        expect(check(of("random:index/randomPassword:RandomPassword", props))).toEqual([]);
    }
  });
});

/** As @pulumi/policy gives inputs to a rule in a preview: who reads what is not known is thrown out. */
const UNKNOWN = "not known yet";
function preview<T extends object>(value: T): T {
  return new Proxy(value, {
    get: (target, key): unknown => {
      const found: unknown = Reflect.get(target, key);
      if (found === UNKNOWN) throw new Error(`${String(key)} is not known`);
      return typeof found === "object" && found !== null ? preview(found) : found;
    },
  });
}

describe("what a preview does not know yet", () => {
  it("is there, for rules that want something to be there", () => {
    for (const resource of [
      controlPlane({
        encryptionConfig: UNKNOWN,
        version: UNKNOWN,
        vpcConfig: { subnetIds: UNKNOWN, publicAccessCidrs: ["198.51.100.7/32"] },
      }),
      of("aws:eks/addon:Addon", { addonName: "x", addonVersion: UNKNOWN }),
      of("aws:sqs/queue:Queue", { kmsMasterKeyId: UNKNOWN }),
    ]) {
      const previewed = { ...resource, props: preview(resource.props) };
      for (const { check } of RULES) expect(check(previewed)).toEqual([]);
    }
  });
});

describe("a stack on EKS", () => {
  let program: ProgramRun;
  beforeAll(async () => {
    const { EksPlatform } = await import("../../components/eks/platform.js");
    program = await declare(() => new EksPlatform("valkey", platformArgs()));
  }, 60_000);

  it("tells the engine of its charts and add-ons what policies need", () => {
    expect(program.one("valkey:eks:Karpenter").inputs["charts"]).toEqual(
      program
        .ofType("kubernetes:helm.sh/v4:Chart")
        .map(({ inputs }) => ({ chart: inputs["chart"], version: inputs["version"] })),
    );
    const { vpcCniOptions, kubeProxyAddonOptions } = program.one("eks:index:Cluster").inputs as {
      vpcCniOptions: { addonVersion: string };
      kubeProxyAddonOptions: { version: string };
    };
    expect(program.one("valkey:eks:Cluster").inputs["addons"]).toEqual({
      "vpc-cni": vpcCniOptions.addonVersion,
      "kube-proxy": kubeProxyAddonOptions.version,
    });
  });
});
