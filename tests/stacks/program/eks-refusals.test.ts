/**
 * Problems of an account that a preview finds before anything is made: the whole program, AWS's answers and no engine.
 */
import { beforeAll, describe, expect, it } from "vitest";
import { type Problem, BadInput } from "../../../lib/errors";
import { program } from "../../../stacks/program/program";
import type { StackConfig } from "../../../stacks/config/schema/stack";
import { accountCalls, awsOutputs } from "../../support/pulumi/eks";
import { type MockCalls, runProgram } from "../../support/pulumi/pulumi-mocks";
import { configOf } from "../../support/stack-config";
import { nameOf } from "../../support/problems";

const KEY = "arn:aws:kms:us-west-2:123456789012:key/gone";

/** As a region without Graviton answers, of two zones only. */
const POOR: MockCalls = {
  "aws:index/getAvailabilityZones:getAvailabilityZones": () => ({ names: ["us-west-2a", "us-west-2b"], zoneIds: [] }),
  "aws:ec2/getInstanceTypeOfferings:getInstanceTypeOfferings": () => ({
    instanceTypes: [],
    locations: [],
    locationTypes: [],
  }),
};
/** A quota that is too small, and one that may not be read. */
const NO_QUOTA: MockCalls = {
  "aws:servicequotas/getServiceQuota:getServiceQuota": ({ quotaCode }) => {
    if (quotaCode === "L-0263D0A3") throw new Error("AccessDenied");
    return { value: quotaCode === "L-1216C47A" ? 5 : 1e6 };
  },
};
const NO_KEY: MockCalls = {
  "aws:kms/getKey:getKey": () => {
    throw Object.assign(new Error("gone"), { details: "NotFoundException: no such key" });
  },
};

/** @returns what is said, and what has been made by then */
async function refused(
  config: StackConfig,
  calls: MockCalls,
): Promise<{ readonly problems: readonly Problem[]; readonly made: readonly string[] }> {
  const made: string[] = [];
  let thrown: unknown;
  await runProgram(
    () => program("topologies", config),
    (type, name, inputs) => {
      made.push(type);
      return awsOutputs(type, name, inputs);
    },
    { ...accountCalls, ...calls },
    "topologies",
  ).catch((error: unknown) => {
    thrown = error;
  });
  if (!(thrown instanceof BadInput)) throw new Error("it is not refused", { cause: thrown });
  return { problems: thrown.problems, made };
}

describe("a preview on EKS", () => {
  beforeAll(async () => {
    await import("../../../stacks/program/platforms/eks.js");
  }, 60_000);

  it("says all that is wrong with an account in one message, each once, nothing about what it may not read, and makes nothing", async () => {
    const { problems, made } = await refused(configOf("topologies", `platform.cluster.keyArn=${KEY}`), {
      ...POOR,
      ...NO_QUOTA,
      ...NO_KEY,
    });
    expect(problems.map(nameOf)).toEqual([
      "too-few-zones platform.region",
      "no-such-zone platform.zones",
      "type-not-in-region platform.region",
      "quota",
      "unusable-key platform.cluster.keyArn",
    ]);
    expect(made).toEqual(["pulumi:providers:aws"]);
  }, 60_000);

  it("asks where no price table knows the region", async () => {
    const { problems } = await refused(configOf("topologies", "platform.region=us-west-1"), POOR);
    expect(problems.map(nameOf)).toContain("type-not-in-region platform.region");
  }, 60_000);
});
