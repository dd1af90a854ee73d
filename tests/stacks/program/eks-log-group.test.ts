/** `up` after `destroy`: the log group that the first cluster of a name left. */
import type * as pulumi from "@pulumi/pulumi";
import { beforeAll, describe, expect, it } from "vitest";
import { accountCalls, awsOutputs } from "../../support/pulumi/eks";
import { type DeclaredResource, type MockCalls, runProgram } from "../../support/pulumi/pulumi-mocks";
import { configOf } from "../../support/stack-config";

const GROUP = "/aws/eks/valkey-dev/cluster";
const config = configOf("dev");

/** The log group that the stack `dev` declares in an account with these clusters and log groups. */
async function logGroupWith(
  clusters: readonly string[],
  groups: readonly string[],
): Promise<{ readonly inputs: DeclaredResource["inputs"]; readonly options: pulumi.CustomResourceOptions }> {
  const { deployOnEks } = await import("../../../stacks/program/platforms/eks.js");
  const { platform } = config;
  if (platform.type !== "eks") throw new Error("the stack dev is not on EKS");
  const calls: MockCalls = {
    ...accountCalls,
    "aws:eks/getClusters:getClusters": () => ({ names: clusters }),
    "aws:cloudwatch/getLogGroups:getLogGroups": ({ logGroupNamePrefix }) => ({
      logGroupNames: groups.filter((name) => name.startsWith(String(logGroupNamePrefix))),
    }),
  };
  const run = await runProgram(() => deployOnEks("dev", platform, config), awsOutputs, calls, "dev");
  return run.one("aws:cloudwatch/logGroup:LogGroup");
}

describe("the control plane's log group", () => {
  beforeAll(async () => {
    await import("../../../stacks/program/platforms/eks.js");
  }, 60_000);

  it("is taken over, with the stack's retention, where it is there and the cluster is not", async () => {
    const { inputs, options } = await logGroupWith(["another"], [GROUP]);
    expect(inputs).toMatchObject({ name: GROUP, retentionInDays: 7 });
    expect(options.import).toBe(GROUP);
    expect(options.retainOnDelete).toBe(true);
  }, 60_000);

  it.each([
    ["there is none", [], []],
    ["only one of a similar name is there", [], [`${GROUP}-2`]],
    ["the cluster is there: the stack has both", ["valkey-dev"], [GROUP]],
  ])(
    "is made where %s",
    async (_why, clusters, groups) => {
      expect((await logGroupWith(clusters, groups)).options.import).toBeUndefined();
    },
    60_000,
  );
});
