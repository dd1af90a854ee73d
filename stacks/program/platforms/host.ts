/** The platform `host`: processes on this machine. */
import * as pulumi from "@pulumi/pulumi";
import { HostServers } from "../../../provider/resources/host-servers";
import { Password } from "../../../provider/resources/password";
import { hostPlans } from "../../plan/benchmark-plans";
import type { StartedDeployment } from "../deployed";
import type { HostConfig } from "../../config/schema/platform";
import type { StackConfig } from "../../config/schema/stack";

/** Starts every deployment as processes on this machine. */
export function deployOnHost(stack: string, platform: HostConfig, config: StackConfig): StartedDeployment[] {
  return hostPlans(platform, config).flatMap(({ shape, ...plan }): StartedDeployment[] => {
    const deployment = config.deployments[plan.name];
    if (deployment === undefined) return [];
    const { password } = new Password(plan.name);
    const servers = new HostServers(plan.name, {
      plan,
      shape,
      password,
      timeoutSeconds: config.verification.timeout,
      owner: `${pulumi.getProject()}/${stack}/${plan.name}`,
    });
    return [
      {
        name: plan.name,
        config: deployment,
        target: servers.target,
        password,
        revision: pulumi.output(null),
        dependsOn: [servers],
        formsWithoutHelp: false,
      },
    ];
  });
}
