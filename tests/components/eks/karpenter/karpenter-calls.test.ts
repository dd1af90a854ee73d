/**
 * Calls that the real Karpenter 1.14.1 made to a fake AWS, each held against its policies: from its start to the end of a
 * pool of on-demand and a pool of spot machines, with an interruption. `karpenter-calls.json` has each kind of call once.
 */
import { describe, expect, it } from "vitest";
import type { PolicyDocument } from "../../../../components/eks/karpenter/karpenter-policies";
import {
  deniedRequests,
  describeRequest,
  distinctRequests,
  karpenterPolicies,
} from "../../../support/aws/denied-requests";
import { karpenterRequests } from "../../../support/aws/karpenter-requests";
import { type NamedPolicy, isAllowed } from "../../../support/aws/policy-simulation";
import { ACCOUNT_ID } from "../../../support/pulumi/eks";
import calls from "../../../fixtures/karpenter-calls.json";

const OWN = "valkey";
const REQUESTS = karpenterRequests(calls);

const denied = async (policies: readonly NamedPolicy[], requests = REQUESTS): Promise<string[]> =>
  (await deniedRequests(requests, policies, `${OWN}-karpenter`)).map(describeRequest);

const actionsOf = ({ Statement }: PolicyDocument): string[] => Statement.flatMap(({ Action }) => [Action].flat());
const GRANTED = [...new Set(karpenterPolicies(OWN).flatMap(({ policy }) => actionsOf(policy)))];

/** Rights that no recorded call needs, and why the controller has them. Paths are of Karpenter 1.14.1's sources. */
const UNRECORDED: Readonly<Record<string, string>> = {
  "ec2:DescribeCapacityReservations":
    "pkg/providers/capacityreservation: where a class selects reservations; reads only",
  "ec2:DescribePlacementGroups": "pkg/providers/placementgroup: where a class selects a placement group; reads only",
  "iam:TagInstanceProfile": "pkg/providers/instanceprofile makes profiles with tags, which IAM may check as tagging",
  "iam:ListInstanceProfiles":
    "pkg/controllers/nodeclass: finds a deleted class's profiles; ISOLATED_VPC, as the fake AWS has it, skips that",
  "iam:RemoveRoleFromInstanceProfile": "pkg/providers/instanceprofile, Delete: skipped by ISOLATED_VPC",
  "iam:DeleteInstanceProfile": "pkg/providers/instanceprofile, Delete: skipped by ISOLATED_VPC",
  "pricing:GetProducts": "pkg/providers/pricing: skipped by ISOLATED_VPC",
};

describe("the calls of Karpenter", () => {
  it("are of machines on demand and of spot, from the controller's start to the last template", () => {
    const operations = new Set(calls.map(({ operation }) => operation));
    for (const operation of ["GetQueueUrl", "RunInstances", "CreateFleet", "CreateTags", "DeleteMessage"])
      expect(operations).toContain(operation);
    for (const operation of ["CreateInstanceProfile", "TerminateInstances", "DeleteLaunchTemplate"])
      expect(operations).toContain(operation);
    expect(distinctRequests(REQUESTS).length).toBeGreaterThan(100);
  });

  it("are all allowed by its policies", async () => {
    expect(await denied(karpenterPolicies(OWN))).toEqual([]);
  });

  it("are denied where they ask for spot machines and no pool is of them, and only there", async () => {
    const found = await deniedRequests(REQUESTS, karpenterPolicies(OWN, false), `${OWN}-karpenter`);
    expect(new Set(found.map(({ resource }) => resource.split(":").at(-1)?.split("/")[0]))).toEqual(
      new Set(["spot-instances-request"]),
    );
  });

  it("are denied to another cluster's controller, if they change anything", async () => {
    const foreign = karpenterPolicies("orders");
    const role = `arn:aws:iam::${ACCOUNT_ID}:role/orders-karpenter`;
    // What a machine is started from has no owner; the machine, which is another request, has one.
    const isChange = ({ action, resource }: (typeof REQUESTS)[number]): boolean =>
      !/:(Describe|Get)/.test(action) && !/:(image|snapshot|subnet|security-group)\//.test(resource);
    const changes = distinctRequests(REQUESTS).filter(isChange);
    expect(changes.length).toBeGreaterThan(50);
    for (const request of changes)
      expect(await isAllowed(request, role, foreign), describeRequest(request)).toBe(false);
  });

  it("need every right of the policies but those that are listed with a reason", () => {
    const needed = new Set(REQUESTS.map(({ action }) => action));
    expect(GRANTED.filter((action) => !needed.has(action)).sort()).toEqual(Object.keys(UNRECORDED).sort());
  });

  it.each(GRANTED.filter((action) => UNRECORDED[action] === undefined))("fail without %s", async (action) => {
    const without = karpenterPolicies(OWN).map(({ name, policy }) => ({
      name,
      policy: {
        ...policy,
        Statement: policy.Statement.map((each) => {
          const left = [each.Action].flat().filter((other) => other !== action);
          return { ...each, Action: left.length === 0 ? "sts:GetCallerIdentity" : left };
        }),
      },
    }));
    const concerned = REQUESTS.filter((request) => request.action === action);
    expect((await denied(without, concerned)).length).toBeGreaterThan(0);
  });
});
