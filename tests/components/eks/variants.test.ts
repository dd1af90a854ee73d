import { beforeAll, describe, expect, it } from "vitest";
import { type Problem, Failure, problemText } from "../../../lib/errors";
import type { AccountFacts, accountProblems } from "../../../components/eks/account-checks";
import type { NetworkFacts, SubnetFacts } from "../../../components/eks/network-checks";
import type { EksPlatformArgs } from "../../../components/eks/platform-args";
import { POOL_DEFAULTS } from "../../../platforms/eks/pools/pools";
import { planEks } from "../../../platforms/eks/plan";
import {
  ACCOUNT_ID,
  accountCalls,
  awsOutputs,
  declare,
  platformArgs,
  VALKEY_ON_EKS_PLAN,
  EKS_ZONES,
} from "../../support/pulumi/eks";
import { type ProgramRun, runProgram } from "../../support/pulumi/pulumi-mocks";
import { testProblems } from "../../support/problems";
import { expectReviewed } from "../../support/reviewed";

/** The stack of "Valkey on EKS" with changes. */
async function platform(changes: Partial<EksPlatformArgs>): Promise<ProgramRun> {
  const { EksPlatform } = await import("../../../components/eks/platform.js");
  return declare(() => new EksPlatform("valkey", platformArgs(VALKEY_ON_EKS_PLAN, changes)));
}

describe("a stack whose API server is open to the world", () => {
  it("says so by a tag, for the guardrails", async () => {
    const cidrs = ["198.51.100.0/24", "0.0.0.0/0"];
    const program = await platform({ publicAccess: { cidrs, openToTheWorld: true } });
    expect(program.one("eks:index:Cluster").inputs).toMatchObject({
      publicAccessCidrs: cidrs,
      clusterTags: { "valkey-measured/open-to-the-world": "true" },
    });
  }, 60_000);
});

describe("a stack in an existing network, with a key that is given", () => {
  const keyArn = `arn:aws:kms:us-west-2:${ACCOUNT_ID}:key/1`;
  const subnets = ["subnet-a", "subnet-b", "subnet-c"];
  let program: ProgramRun;
  beforeAll(async () => {
    program = await platform({ keyArn, existingNetwork: { vpcId: "vpc-1", privateSubnetIds: subnets } });
  }, 60_000);

  it("uses the network by its ids and leaves it as it is", () => {
    for (const type of [
      "awsx:ec2:Vpc",
      "aws:ec2/vpcEndpoint:VpcEndpoint",
      "aws:ec2/subnetCidrReservation:SubnetCidrReservation",
    ])
      expect(program.ofType(type)).toEqual([]);
    expect(program.one("eks:index:Cluster").inputs).toMatchObject({ vpcId: "vpc-1", privateSubnetIds: subnets });
    expect(program.one("aws:eks/nodeGroup:NodeGroup").inputs["subnetIds"]).toEqual(subnets);
    for (const { inputs } of program.ofType("kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"))
      expect(inputs).toMatchObject({ spec: { subnetSelectorTerms: subnets.map((id) => ({ id })) } });
    expect(program.ofType("aws:ec2/tag:Tag").map(({ inputs }) => inputs["resourceId"])).toEqual([
      "sg-of:id:eks:index:Cluster:valkey",
    ]);
  });

  it("uses the key, and makes none", () => {
    expect(program.one("eks:index:Cluster").inputs["encryptionConfigKeyArn"]).toBe(keyArn);
    expect(program.ofType("aws:kms/key:Key")).toEqual([]);
  });
});

/** Quotas and types of an account that holds the plan. */
const FACTS: AccountFacts = {
  zones: [...EKS_ZONES, "us-west-2d"],
  offers: new Map(["r7g.large", "m7g.large", "c7gn.xlarge"].map((type) => [type, EKS_ZONES])),
  quotas: new Map([["L-1216C47A", 100]]),
  spotRole: undefined,
  keyProblem: undefined,
  network: undefined,
  leftoverLogGroup: false,
};

describe("a stack on x86", () => {
  it("has images, pools and problems of that architecture", async () => {
    const args = {
      ...VALKEY_ON_EKS_PLAN,
      system: { instanceType: "m7i.large", machines: 2 },
      pools: {
        servers: { ...POOL_DEFAULTS.servers, instanceTypes: ["r7i.large"] },
        clients: { ...POOL_DEFAULTS.clients, instanceTypes: ["c7a.large"] },
      },
    };
    const plan = planEks(args);
    expect(plan.problems).toEqual([]);
    const { EksPlatform } = await import("../../../components/eks/platform.js");
    const program = await declare(() => new EksPlatform("valkey", platformArgs(args)));
    expect(program.one("aws:eks/nodeGroup:NodeGroup").inputs).toMatchObject({
      amiType: "AL2023_x86_64_STANDARD",
      instanceTypes: ["m7i.large"],
    });
    for (const { inputs } of program.ofType("kubernetes:karpenter.sh/v1:NodePool"))
      expect(JSON.stringify(inputs["spec"])).toContain(
        '{"key":"kubernetes.io/arch","operator":"In","values":["amd64"]}',
      );
    const { accountProblems: problemsOf } = await import("../../../components/eks/account-checks.js");
    expect(problemsOf(plan, { ...FACTS, offers: new Map() })).toMatchObject([
      {
        message:
          "us-west-2 offers none of the planned machines (m7i.large, r7i.large, c7a.large); " +
          "choose another region, or types that it offers",
      },
    ]);
  }, 60_000);
});

describe("what an account has", () => {
  let problemsOf: typeof accountProblems;
  beforeAll(async () => {
    problemsOf = (await import("../../../components/eks/account-checks.js")).accountProblems;
  }, 60_000);
  const plan = planEks(VALKEY_ON_EKS_PLAN);
  const find = (changes: Partial<AccountFacts>): readonly Problem[] => problemsOf(plan, { ...FACTS, ...changes });

  it("holds the plan", () => {
    expect(find({})).toEqual([]);
  });

  testProblems("./account-problems.txt", find, [
    ["too-few-zones region", { zones: EKS_ZONES.slice(0, 2) }],
    ["no-such-zone zones", { zones: ["us-west-2a", "us-west-2b", "us-west-2d"] }],
    ["type-not-in-region region", { offers: new Map() }],
    ["type-not-in-region region", { offers: new Map([...FACTS.offers].filter(([type]) => type !== "r7g.large")) }],
    ["type-not-in-zone zones", { offers: new Map([...FACTS.offers, ["r7g.large", ["us-west-2a"]]]) }],
    ["no-spot-role pools.clients.capacity", { spotRole: false }],
    ["quota", { quotas: new Map([["L-1216C47A", 5]]) }],
    ["unusable-key cluster.keyArn", { keyProblem: "arn:x cannot be used: not found" }],
  ]);
});

/** As the engine says that a function failed. */
const refuse = (details: string) => (): never => {
  throw Object.assign(new Error(details), { details });
};

it("says in words that an account does not answer, with what is needed", async () => {
  const { checkAccount } = await import("../../../components/eks/account-checks.js");
  let thrown: unknown;
  await runProgram(
    async () => {
      const used = { clusterName: "valkey", keyArn: undefined, network: undefined };
      await checkAccount(planEks(VALKEY_ON_EKS_PLAN), used, "valkey:platform").catch((error: unknown) => {
        thrown = error;
      });
    },
    awsOutputs,
    { ...accountCalls, "aws:index/getAvailabilityZones:getAvailabilityZones": refuse("no EC2 IMDS role found") },
  );
  expect(thrown).toBeInstanceOf(Failure);
  expect((thrown as Failure).message).toMatch(
    /^reading the account from AWS us-west-2 failed: .*no EC2 IMDS role found.*\nSet credentials/s,
  );
});

describe("a network that exists", () => {
  const demand = new Map([
    ["us-west-2a", { machines: 10, prefixes: 12 }],
    ["us-west-2b", { machines: 2, prefixes: 2 }],
  ]);
  const subnet = (id: string, zone: string, free = 500, vpcId = "vpc-1"): SubnetFacts => ({ id, vpcId, zone, free });
  const good: NetworkFacts = {
    vpc: { dnsHostnames: true, dnsSupport: true },
    subnets: [subnet("subnet-a", "us-west-2a"), subnet("subnet-b", "us-west-2b")],
  };

  it("has these problems", async () => {
    const { networkProblems } = await import("../../../components/eks/network-checks.js");
    const b = subnet("subnet-b", "us-west-2b");
    const networks: Readonly<Record<string, Partial<NetworkFacts>>> = {
      "holds the machines": {},
      "holds them in two subnets of a zone": {
        subnets: [subnet("subnet-a", "us-west-2a", 101), subnet("subnet-c", "us-west-2a", 101), b],
      },
      "is not there": { vpc: "InvalidVpcID.NotFound" },
      "has no DNS": { vpc: { dnsHostnames: false, dnsSupport: true } },
      "has not that subnet": {
        subnets: [{ id: "subnet-a", why: "InvalidSubnetID.NotFound" }, subnet("subnet-b", "us-west-2b", 500, "vpc-2")],
      },
      "has none in a zone": { subnets: [subnet("subnet-a", "us-west-2a")] },
      "has too few addresses": { subnets: [subnet("subnet-a", "us-west-2a", 201), b] },
    };
    const found = Object.entries(networks).map(([what, changes]) => {
      const problems = networkProblems({ vpcId: "vpc-1" }, { ...good, ...changes }, demand);
      return [what, problems.map(problemText)] as const;
    });
    await expectReviewed("components/network-problems", "Problems of networks that exist.", found);
  });

  it("is asked for at AWS: what is there, and why something is not", async () => {
    const { readNetwork } = await import("../../../components/eks/network-checks.js");
    let facts: unknown;
    await runProgram(
      async () => {
        facts = await readNetwork({ vpcId: "vpc-1", privateSubnetIds: ["subnet-a", "subnet-gone"] });
      },
      awsOutputs,
      {
        ...accountCalls,
        "aws:ec2/getVpc:getVpc": ({ id }) => ({ id, enableDnsHostnames: true, enableDnsSupport: false }),
        "aws:ec2/getSubnet:getSubnet": ({ id }) => {
          if (id === "subnet-gone") return refuse("InvalidSubnetID.NotFound")();
          return { id, vpcId: "vpc-1", availabilityZone: "us-west-2a", availableIpAddressCount: 250 };
        },
      },
    );
    expect(facts).toEqual({
      vpc: { dnsHostnames: true, dnsSupport: false },
      subnets: [
        { id: "subnet-a", vpcId: "vpc-1", zone: "us-west-2a", free: 250 },
        { id: "subnet-gone", why: expect.stringContaining("InvalidSubnetID.NotFound") as unknown },
      ],
    });
  });
});
