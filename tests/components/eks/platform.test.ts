import { beforeAll, describe, expect, it } from "vitest";
import { WARM_ADDRESSES } from "../../../platforms/eks/network-plan";
import { STORAGE_CLASS_NAMES } from "../../../platforms/eks/offers/storage-classes";
import { poolSelector, poolTaint, poolToleration } from "../../../platforms/eks/pools/pools";
import type { PoolName } from "../../../platforms/eks/pools/pools";
import { EKS_VERSIONS } from "../../../components/eks/aws/versions";
import { EKS_CLUSTER_NAME, declare, platformArgs, VALKEY_ON_EKS_PLAN, EKS_ZONES } from "../../support/pulumi/eks";
import type { DeclaredResource, ProgramRun } from "../../support/pulumi/pulumi-mocks";

let program: ProgramRun;
beforeAll(async () => {
  const { EksPlatform } = await import("../../../components/eks/platform.js");
  program = await declare(() => new EksPlatform("valkey", platformArgs()));
}, 120_000);

const DISCOVERY = { "karpenter.sh/discovery": EKS_CLUSTER_NAME };
const NODE_POOL = "kubernetes:karpenter.sh/v1:NodePool";
const NODE_CLASS = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass";
const CHART = "kubernetes:helm.sh/v4:Chart";

interface NodePoolInputs {
  readonly metadata: { readonly name: string; readonly annotations: Readonly<Record<string, string>> };
  readonly spec: {
    readonly template: {
      readonly metadata: { readonly labels: object };
      readonly spec: {
        readonly nodeClassRef: { readonly name: string };
        readonly taints: readonly object[];
        readonly requirements: readonly { readonly key: string; readonly values: readonly string[] }[];
        readonly expireAfter: string;
      };
    };
    readonly disruption: { readonly consolidationPolicy: string };
    readonly limits: { readonly cpu: string };
  };
}
interface NodeClassInputs {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly role: string;
    readonly subnetSelectorTerms: readonly object[];
    readonly securityGroupSelectorTerms: readonly object[];
    readonly amiSelectorTerms: readonly object[];
    readonly blockDeviceMappings: readonly { readonly ebs: object }[];
    readonly metadataOptions: object;
    readonly tags: object;
  };
}
const nodePool = (pool: DeclaredResource): NodePoolInputs => pool.inputs as unknown as NodePoolInputs;
const nodeClass = (each: DeclaredResource): NodeClassInputs => each.inputs as unknown as NodeClassInputs;
const pools = (): { pool: PoolName; inputs: NodePoolInputs }[] =>
  (["servers", "clients"] as const).map((pool) => ({
    pool,
    inputs: nodePool(program.one(NODE_POOL, `valkey-${pool}`)),
  }));

describe("the network", () => {
  it("has a private and a public subnet in each zone, and those for machines carry the tag that Karpenter discovers by", () => {
    const vpc = program.one("awsx:ec2:Vpc").inputs;
    expect(vpc).toMatchObject({
      cidrBlock: "10.0.0.0/16",
      availabilityZoneNames: EKS_ZONES,
      enableDnsHostnames: true,
      natGateways: { strategy: "Single" },
      vpcEndpointStrategy: "Auto",
    });
    const [own, open] = vpc["subnetSpecs"] as readonly { type: string; tags: object; cidrBlocks: readonly string[] }[];
    expect(own).toMatchObject({
      type: "Private",
      tags: { ...DISCOVERY, "kubernetes.io/role/internal-elb": "1" },
      cidrBlocks: ["10.0.0.0/18", "10.0.64.0/18", "10.0.128.0/18"],
    });
    expect(open).toMatchObject({ type: "Public", tags: { "kubernetes.io/role/elb": "1" } });
    expect(open?.tags).not.toHaveProperty("karpenter.sh/discovery");
  });

  it("reaches S3, ECR and STS without NAT", () => {
    const gateways = program.one("awsx:ec2:Vpc").inputs["vpcEndpointSpecs"] as readonly { serviceName: string }[];
    const interfaces = program.ofType("aws:ec2/vpcEndpoint:VpcEndpoint").map(({ inputs }) => inputs["serviceName"]);
    expect([...gateways.map(({ serviceName }) => serviceName), ...interfaces]).toEqual(
      ["s3", "ecr.api", "ecr.dkr", "sts"].map((service) => `com.amazonaws.us-west-2.${service}`),
    );
  });

  it("has its endpoints in every private subnet, under their usual names, open to the network's own addresses and no others", () => {
    const group = program.one("aws:ec2/securityGroup:SecurityGroup");
    expect(group.inputs["ingress"]).toEqual([
      { protocol: "tcp", fromPort: 443, toPort: 443, cidrBlocks: ["10.0.0.0/16"] },
    ]);
    for (const { inputs } of program.ofType("aws:ec2/vpcEndpoint:VpcEndpoint")) {
      expect(inputs).toMatchObject({
        vpcEndpointType: "Interface",
        privateDnsEnabled: true,
        subnetIds: EKS_ZONES.map((_, index) => `id:awsx:ec2:Vpc:valkey:private-${String(index)}`),
        securityGroupIds: [`id:aws:ec2/securityGroup:SecurityGroup:${group.name}`],
      });
    }
  });

  it("keeps most of each private subnet for prefixes, in that subnet", () => {
    const reservations = program
      .ofType("aws:ec2/subnetCidrReservation:SubnetCidrReservation")
      .map(({ inputs }) => [inputs["subnetId"], inputs["cidrBlock"], inputs["reservationType"]]);
    expect(reservations).toContainEqual(["id:awsx:ec2:Vpc:valkey:private-1", "10.0.96.0/19", "prefix"]);
    expect(reservations).toHaveLength(12);
  });
});

describe("the cluster", () => {
  const cluster = (): Readonly<Record<string, unknown>> => program.one("eks:index:Cluster").inputs;

  it("is reached from named blocks only, by access entries, with its secrets encrypted by a key of its own", () => {
    expect(cluster()).toMatchObject({
      name: EKS_CLUSTER_NAME,
      version: EKS_VERSIONS.kubernetes,
      endpointPrivateAccess: true,
      endpointPublicAccess: true,
      publicAccessCidrs: ["198.51.100.0/24"],
      authenticationMode: "API",
      clusterTags: {},
    });
    expect(cluster()["encryptionConfigKeyArn"]).toContain("id:aws:kms/key:Key:valkey-secrets");
    expect(cluster()["accessEntries"]).toEqual({
      platform: {
        principalArn: "arn:aws:iam::123456789012:role/platform",
        accessPolicies: {
          admin: {
            policyArn: "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy",
            accessScope: { type: "cluster" },
          },
        },
      },
    });
  });

  it("writes every log of the control plane to a group that is there before it, and stays with its retention after it", () => {
    expect(cluster()["enabledClusterLogTypes"]).toEqual([
      "api",
      "audit",
      "authenticator",
      "controllerManager",
      "scheduler",
    ]);
    const group = program.one("aws:cloudwatch/logGroup:LogGroup");
    expect(group.inputs).toMatchObject({ name: "/aws/eks/valkey/cluster", retentionInDays: 7 });
    expect(program.isDeletedBefore(program.one("eks:index:Cluster"), group)).toBe(true);
    // EKS' service role makes a deleted group again for the last logs, without retention.
    expect(group.options.retainOnDelete).toBe(true);
  });

  it("pins every add-on and the machines' image, and has CoreDNS wait for machines", () => {
    expect(cluster()).toMatchObject({
      vpcCniOptions: { addonVersion: EKS_VERSIONS.vpcCni, enablePrefixDelegation: true },
      kubeProxyAddonOptions: { enabled: true, version: EKS_VERSIONS.kubeProxy },
      corednsAddonOptions: { enabled: false },
      skipDefaultNodeGroup: true,
      skipDefaultSecurityGroups: true,
    });
    expect(cluster()).not.toHaveProperty("useDefaultVpcCni");
    expect(
      Object.fromEntries(
        program.ofType("aws:eks/addon:Addon").map(({ inputs }) => [inputs["addonName"], inputs["addonVersion"]]),
      ),
    ).toEqual({
      "eks-pod-identity-agent": EKS_VERSIONS.podIdentityAgent,
      coredns: EKS_VERSIONS.coredns,
      "aws-ebs-csi-driver": EKS_VERSIONS.ebsCsi,
    });
    const nodes = program.one("aws:eks/nodeGroup:NodeGroup");
    expect(nodes.inputs).toMatchObject({
      releaseVersion: "1.35.6-20260714",
      capacityType: "ON_DEMAND",
      amiType: "AL2023_ARM_64_STANDARD",
      instanceTypes: ["m7g.large"],
      scalingConfig: { minSize: 2, desiredSize: 2 },
    });
    expect(program.isDeletedBefore(program.one("aws:eks/addon:Addon", "valkey-coredns"), nodes)).toBe(true);
    expect(program.isDeletedBefore(nodes, program.one("eks:index:Cluster"))).toBe(true);
  });

  it("gives pods addresses by the prefix with one to spare, as the plan counts them, enforces network policies, and brings no add-on that is not pinned", () => {
    expect(cluster()["vpcCniOptions"]).toMatchObject({
      addonVersion: EKS_VERSIONS.vpcCni,
      enablePrefixDelegation: true,
      warmIpTarget: WARM_ADDRESSES,
      enableNetworkPolicy: true,
      logLevel: "INFO",
      configurationValues: { env: { AWS_VPC_K8S_PLUGIN_LOG_LEVEL: "INFO" } },
    });
    expect(cluster()).toMatchObject({
      bootstrapSelfManagedAddons: false,
      createOidcProvider: false,
      deletionProtection: false,
    });
  });

  it("has its add-ons run on the system machines, which nothing else is let onto before there are others", () => {
    const settings = (addon: string): unknown =>
      JSON.parse(String(program.one("aws:eks/addon:Addon", addon).inputs["configurationValues"]));
    const [taint] = program.one("aws:eks/nodeGroup:NodeGroup").inputs["taints"] as readonly { key: string }[];
    const tolerations = [{ key: taint?.key, operator: "Exists" }];
    expect(settings("valkey-coredns")).toMatchObject({
      tolerations,
      topologySpreadConstraints: [{ topologyKey: "topology.kubernetes.io/zone" }],
    });
    // A default class of the driver's own would be one too many.
    expect(settings("valkey-ebs-csi")).toMatchObject({
      controller: { tolerations },
      defaultStorageClass: { enabled: false },
    });
  });

  it("spreads its system machines over every private subnet and keeps other pods off them", () => {
    const nodes = program.one("aws:eks/nodeGroup:NodeGroup").inputs;
    expect(nodes["subnetIds"]).toEqual(EKS_ZONES.map((_, index) => `id:awsx:ec2:Vpc:valkey:private-${String(index)}`));
    expect(nodes["taints"]).toEqual([{ key: "CriticalAddonsOnly", value: "true", effect: "NO_SCHEDULE" }]);
    expect(program.one("aws:ec2/launchTemplate:LaunchTemplate").inputs).toMatchObject({
      metadataOptions: { httpTokens: "required", httpPutResponseHopLimit: 1 },
      blockDeviceMappings: [{ ebs: { encrypted: "true" } }],
    });
  });

  it("gives the volume driver its rights by Pod Identity, to its own service account", () => {
    const driver = program.one("aws:eks/addon:Addon", "valkey-ebs-csi");
    expect(driver.inputs["podIdentityAssociations"]).toMatchObject([{ serviceAccount: "ebs-csi-controller-sa" }]);
    expect(JSON.stringify(driver.inputs)).toContain("role/valkey-ebs-csi");
    expect(program.isDeletedBefore(driver, program.one("aws:eks/addon:Addon", "valkey-pod-identity"))).toBe(true);
  });
});

describe("storage", () => {
  it("is encrypted gp3 that waits for its pod, at the baseline and at 6,000 IOPS and 500 MiB/s; gp3 is what a claim gets", () => {
    const classes = program
      .ofType("kubernetes:storage.k8s.io/v1:StorageClass")
      .map(
        ({ inputs }) =>
          inputs as { metadata: { name: string; annotations: object }; volumeBindingMode: string; parameters: object },
      );
    expect(classes.map(({ metadata }) => metadata.name).sort()).toEqual([...STORAGE_CLASS_NAMES].sort());
    for (const each of classes)
      expect(each).toMatchObject({
        volumeBindingMode: "WaitForFirstConsumer",
        reclaimPolicy: "Delete",
        parameters: { type: "gp3", encrypted: "true" },
      });
    expect(classes.find(({ metadata }) => metadata.name === "gp3-fast")?.parameters).toMatchObject({
      iops: "6000",
      throughput: "500",
    });
    expect(
      classes
        .filter(({ metadata }) => "storageclass.kubernetes.io/is-default-class" in metadata.annotations)
        .map(({ metadata }) => metadata.name),
    ).toEqual(["gp3"]);
  });

  it("has every class that a plan names", () => {
    const names = program
      .ofType("kubernetes:storage.k8s.io/v1:StorageClass")
      .map(({ inputs }) => (inputs["metadata"] as { name: string }).name);
    for (const { volume } of VALKEY_ON_EKS_PLAN.groups)
      if (volume !== undefined) expect(names).toContain(volume.storageClass);
  });

  it("goes before the driver that removes its volumes", () => {
    for (const each of program.ofType("kubernetes:storage.k8s.io/v1:StorageClass"))
      expect(program.isDeletedBefore(each, program.one("aws:eks/addon:Addon", "valkey-ebs-csi"))).toBe(true);
  });
});

describe("pools", () => {
  it("let in the pods that tolerate their taint and select their label, and no others", () => {
    for (const { pool, inputs } of pools()) {
      const { spec, metadata } = inputs.spec.template;
      expect(spec.taints).toEqual([poolTaint(pool)]);
      const { operator, ...tolerated } = poolToleration(pool);
      expect(operator).toBe("Equal");
      expect(spec.taints).toContainEqual(tolerated);
      expect(metadata.labels).toEqual(poolSelector(pool));
    }
    expect(poolTaint("servers")).not.toEqual(poolTaint("clients"));
  });

  it("are on demand, Graviton, of the types asked for, in the planned zones, never expired, never consolidated while in use", () => {
    for (const { pool, inputs } of pools()) {
      const only = Object.fromEntries(inputs.spec.template.spec.requirements.map(({ key, values }) => [key, values]));
      expect(only).toMatchObject({
        "karpenter.sh/capacity-type": ["on-demand"],
        "kubernetes.io/arch": ["arm64"],
        "node.kubernetes.io/instance-type": VALKEY_ON_EKS_PLAN.pools[pool]?.instanceTypes,
        "topology.kubernetes.io/zone": EKS_ZONES,
      });
      expect(inputs.spec.template.spec.expireAfter).toBe("Never");
      expect(inputs.spec.disruption.consolidationPolicy).toBe("WhenEmpty");
    }
  });

  it("may have what the plan needs and a machine more", () => {
    // "Valkey on EKS": 10 servers of 2 vCPUs each, and a quarter; one client machine of 4, and one more.
    expect(pools().map(({ inputs }) => inputs.spec.limits.cpu)).toEqual(["25", "8"]);
  });

  it("have a class each that is there, with the role that may join and the subnets and group that carry its tag", () => {
    const group = program.one("aws:ec2/tag:Tag").inputs;
    expect(group).toMatchObject({
      resourceId: "sg-of:id:eks:index:Cluster:valkey",
      key: "karpenter.sh/discovery",
      value: EKS_CLUSTER_NAME,
    });
    const roles = program.ofType("aws:iam/role:Role").map(({ inputs }) => inputs["name"]);
    const entry = program.one("aws:eks/accessEntry:AccessEntry").inputs;
    expect(entry).toMatchObject({ clusterName: EKS_CLUSTER_NAME, type: "EC2_LINUX" });
    for (const { inputs } of pools()) {
      const { spec } = nodeClass(
        program.one(NODE_CLASS, `valkey-${inputs.spec.template.spec.nodeClassRef.name}-class`),
      );
      expect(roles).toContain(spec.role);
      expect(entry["principalArn"]).toContain(`role/${spec.role}`);
      expect(spec.subnetSelectorTerms).toEqual([{ tags: DISCOVERY }]);
      expect(spec.securityGroupSelectorTerms).toEqual([{ tags: DISCOVERY }]);
      expect(spec.amiSelectorTerms).toEqual([{ alias: `al2023@v${EKS_VERSIONS.machineImage}` }]);
      expect(spec.blockDeviceMappings).toMatchObject([{ ebs: { encrypted: true, deleteOnTermination: true } }]);
      // A pod is one hop further away than the machine whose credentials these are.
      expect(spec.metadataOptions).toEqual({
        httpEndpoint: "enabled",
        httpTokens: "required",
        httpPutResponseHopLimit: 1,
        httpProtocolIPv6: "disabled",
      });
      expect(spec.tags).toEqual({ project: "valkey-measured" });
    }
    const systemRole = program.one("aws:iam/role:Role", "valkey-system-node").inputs["name"];
    for (const each of program.ofType(NODE_CLASS)) expect(nodeClass(each).spec.role).not.toBe(systemRole);
  });

  it("are waited for when they come and when they go", () => {
    for (const { inputs } of pools())
      expect(inputs.metadata.annotations).toEqual({
        "pulumi.com/waitFor": "condition=Ready",
        "pulumi.com/deletionPropagationPolicy": "foreground",
      });
  });
});

describe("Karpenter's credentials", () => {
  const one = (type: string, name?: string): DeclaredResource => program.one(type, name);
  const association = (): DeclaredResource =>
    one("aws:eks/podIdentityAssociation:PodIdentityAssociation", "valkey-karpenter");
  /** Resources that take minutes, and those that the controller's pods wait for. */
  const slow = (): DeclaredResource[] => [
    one("aws:eks/nodeGroup:NodeGroup"),
    ...program.ofType("aws:eks/addon:Addon"),
    ...program.ofType("aws:ec2/launchTemplate:LaunchTemplate"),
  ];

  it("are made right after the control plane, while machines and add-ons take minutes, and the controller waits for both", () => {
    const rights = program
      .ofType("aws:iam/rolePolicyAttachment:RolePolicyAttachment")
      .filter(({ name }) => /^valkey-karpenter-(?!node)/.test(name));
    expect(rights).toHaveLength(5);
    expect(program.isDeletedBefore(association(), one("eks:index:Cluster"))).toBe(true);
    for (const right of rights) expect(program.isDeletedBefore(association(), right), right.name).toBe(true);
    expect(slow().length).toBe(5);
    for (const each of slow()) {
      for (const early of [association(), ...rights])
        expect(program.isDeletedBefore(early, each), `${early.name} waits for ${each.name}`).toBe(false);
      expect(program.isDeletedBefore(one(CHART, "valkey-karpenter"), each), each.name).toBe(true);
    }
    expect(program.isDeletedBefore(one(CHART, "valkey-karpenter"), association())).toBe(true);
  });

  it("come with the region, which no pod can ask the machine for", () => {
    expect(one(CHART, "valkey-karpenter").inputs["values"]).toMatchObject({
      controller: { env: [{ name: "AWS_REGION", value: "us-west-2" }] },
    });
  });
});

describe("destroying", () => {
  it("removes pools before classes, both before the controller, it before its definitions and rights, and all before the cluster and its network", () => {
    const [controller, definitions] = [
      program.one(CHART, "valkey-karpenter"),
      program.one(CHART, "valkey-karpenter-crd"),
    ];
    const cluster = program.one("eks:index:Cluster");
    const rights = [
      "aws:eks/podIdentityAssociation:PodIdentityAssociation",
      "aws:eks/accessEntry:AccessEntry",
      "aws:sqs/queue:Queue",
      "aws:iam/policy:Policy",
      "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
    ]
      .flatMap((type) => program.ofType(type))
      .filter(({ name }) => name.includes("karpenter") || name.includes("interruption"));
    expect(rights.length).toBeGreaterThan(10);
    for (const pool of ["servers", "clients"]) {
      const [own, ownClass] = [
        program.one(NODE_POOL, `valkey-${pool}`),
        program.one(NODE_CLASS, `valkey-${pool}-class`),
      ];
      const order = [own, ownClass, controller, ...rights];
      for (const [index, first] of order.entries())
        for (const second of index < 3 ? order.slice(index + 1) : [cluster])
          expect(program.isDeletedBefore(first, second), `${first.name} before ${second.name}`).toBe(true);
    }
    expect(program.isDeletedBefore(controller, definitions)).toBe(true);
    for (const last of ["awsx:ec2:Vpc", "aws:kms/key:Key", "aws:cloudwatch/logGroup:LogGroup"])
      expect(program.isDeletedBefore(cluster, program.one(last))).toBe(true);
  });

  it("removes everything inside the cluster before the cluster, and has it made by the cluster's own provider", () => {
    const inside = program.resources.filter(({ type }) => type.startsWith("kubernetes:"));
    expect(inside.length).toBe(8);
    for (const each of inside) {
      expect(program.isDeletedBefore(each, program.one("eks:index:Cluster")), each.name).toBe(true);
      expect(program.providerOf(each)).toBe("pulumi:providers:kubernetes valkey-provider");
    }
  });

  it("never goes in circles", () => {
    for (const each of program.resources) expect(program.isDeletedBefore(each, each), each.name).toBe(false);
  });
});

describe("names", () => {
  it("are fixed at AWS, so that tags and conditions can name them before they are there, and short enough", () => {
    for (const type of [
      "aws:iam/role:Role",
      "aws:iam/policy:Policy",
      "aws:sqs/queue:Queue",
      "aws:cloudwatch/eventRule:EventRule",
    ]) {
      for (const { inputs } of program.ofType(type)) {
        expect(String(inputs["name"])).toMatch(/^valkey/);
        expect(String(inputs["name"]).length).toBeLessThanOrEqual(64);
      }
    }
  });

  it("hold no secret", () => {
    expect(JSON.stringify(program.resources.map(({ inputs }) => inputs))).not.toMatch(/password|PRIVATE KEY/i);
  });
});
