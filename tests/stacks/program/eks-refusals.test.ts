/**
 * Problems of an account that a preview finds before anything is made: the whole program, AWS's answers and no engine.
 */
import { beforeAll, describe, expect, it } from "vitest";
import { BadInput, problemText } from "../../../lib/errors";
import { parseConfig } from "../../../stacks/config/parse";
import { STACKS_DIRECTORY } from "../../../stacks/config/sections/paths";
import { program } from "../../../stacks/program/program";
import type { StackConfig } from "../../../stacks/config/schema/stack";
import { applyOverrides } from "../../../stacks/config/sections/overrides";
import { readStackFile } from "../../../stacks/config/sections/stack-file";
import { accountCalls, awsOutputs } from "../../support/pulumi/eks";
import type { MockCalls } from "../../support/pulumi/pulumi-mocks";
import { runProgram } from "../../support/pulumi/pulumi-mocks";

const KEY = "arn:aws:kms:us-west-2:123456789012:key/gone";
const configOf = (...assignments: readonly string[]): StackConfig =>
  parseConfig("stack topologies", applyOverrides(readStackFile(STACKS_DIRECTORY, "topologies"), assignments), {
    cores: 2,
    memoryBytes: 16 * 2 ** 30,
  });

/** As a region without Graviton answers, of two zones only. */
const POOR: MockCalls = {
  "aws:index/getAvailabilityZones:getAvailabilityZones": () => ({ names: ["us-west-2a", "us-west-2b"], zoneIds: [] }),
  "aws:ec2/getInstanceTypeOfferings:getInstanceTypeOfferings": () => ({
    instanceTypes: [],
    locations: [],
    locationTypes: [],
  }),
};
const NO_QUOTA: MockCalls = {
  "aws:servicequotas/getServiceQuota:getServiceQuota": ({ quotaCode }) => ({
    value: quotaCode === "L-1216C47A" ? 5 : 1e6,
  }),
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
): Promise<{ readonly problems: readonly string[]; readonly made: readonly string[] }> {
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
  return { problems: thrown.problems.map(problemText), made };
}

describe("a preview on EKS", () => {
  beforeAll(async () => {
    await import("../../../stacks/program/platforms/eks.js");
  }, 60_000);

  it("says all that is wrong with an account in one message, each once, and makes nothing", async () => {
    const { problems, made } = await refused(configOf(`platform.cluster.keyArn=${KEY}`), {
      ...POOR,
      ...NO_QUOTA,
      ...NO_KEY,
    });
    expect(problems).toEqual([
      "valkey:platform.region: us-west-2 has 2 zones for this account, but at least 3 are needed",
      "valkey:platform.zones: us-west-2c: this account has no such zone in us-west-2; zones of the account: us-west-2a, us-west-2b",
      "valkey:platform.region: us-west-2 offers none of the planned machines (m7g.large, r7g.large, c7gn.xlarge), all of them Graviton; choose another region, or types that it offers",
      expect.stringMatching(
        /^the account's quota L-1216C47A .* is 5, but the plan needs 28; ask AWS for a higher quota, or plan for less$/,
      ),
      expect.stringMatching(
        /^valkey:platform\.cluster\.keyArn: arn:aws:kms:.*key\/gone cannot be used: .*NotFoundException/s,
      ),
    ]);
    expect(made).toEqual(["pulumi:providers:aws"]);
  }, 60_000);

  it("asks where no price table knows the region", async () => {
    const { problems } = await refused(configOf("platform.region=us-west-1"), POOR);
    expect(problems.some((problem) => problem.includes("us-west-1 offers none of the planned machines"))).toBe(true);
  }, 60_000);
});
