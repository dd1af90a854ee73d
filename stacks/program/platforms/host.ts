import * as pulumi from "@pulumi/pulumi";
import { HostDeployment } from "../../../components/host-deployment";
import { hostPlans } from "../../plan/benchmark-plans";
import type { ProgramDeployment } from "./deployed";
import type { HostConfig } from "../../config/schema/platform";
import type { StackConfig } from "../../config/schema/stack";

export function deployOnHost(stack: string, platform: HostConfig, config: StackConfig): ProgramDeployment[] {
  const { timeout, trigger } = config.verification;
  return hostPlans(platform, config).map(({ shape, settings, ...plan }) => {
    const { name } = plan;
    const owner = `${pulumi.getProject()}/${stack}/${name}`;
    return {
      name,
      component: new HostDeployment(name, {
        ...{ plan, settings, shape, owner, trigger },
        timeoutSeconds: timeout,
        passwordVersion: config.deployments[name]?.passwordVersion,
        restoreFrom: config.deployments[name]?.restoreFrom,
      }),
    };
  });
}
