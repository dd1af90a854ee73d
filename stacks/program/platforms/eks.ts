import * as aws from "../../../components/eks/aws/aws-sdk";
import * as pulumi from "@pulumi/pulumi";
import { BadInput, within } from "../../../lib/errors";
import { checkAccount } from "../../../components/eks/account-checks";
import { EksPlatform } from "../../../components/eks/platform";
import type { EksPlatformArgs } from "../../../components/eks/platform-args";
import { ownKeyOf } from "../../../platforms/eks/backup-bucket";
import { isSpot } from "../../../platforms/eks/pools/pools";
import { nodeSelectorsOfMachineSets } from "../../../platforms/eks/pools/machine-sets";
import { type EksPlanArgs, planEks } from "../../../platforms/eks/plan";
import { cachedImage, cachePrefix } from "../../../platforms/eks/scale/image-pulls";
import { VolumeDeletionWait } from "../../../operations/provider/resources";
import { eksLoad, eksPlanArgs } from "../../plan/eks";
import { withImages } from "../../plan/images";
import type { Deployed } from "./deployed";
import type { StackConfig } from "../../config/schema/stack";
import type { EksPlatformConfig } from "../../config/schema/eks";
import { CONFIG_NAMESPACE } from "../../config/sections/stack-file";
import { createNamespace, deployPodsOfStack } from "./pod-deployments";

const SECTION = `${CONFIG_NAMESPACE}:platform`;

/** @throws BadInput, before anything is created, with every reason; Failure when AWS does not answer */
export async function deployOnEks(stack: string, platform: EksPlatformConfig, config: StackConfig): Promise<Deployed> {
  const planned = eksPlanArgs(platform, eksLoad(config));
  const plan = planEks(planned);
  if (plan.problems.length > 0) throw new BadInput(`stack ${stack}`, within(SECTION, plan.problems));
  const provider = new aws.Provider("aws", {
    region: platform.region,
    ...(Object.keys(platform.tags).length > 0 && { defaultTags: { tags: platform.tags } }),
  });
  const name = clusterName(stack, platform);
  const { leftoverLogGroup } = await checkAccount(
    plan,
    {
      clusterName: name,
      spot: isSpot(platform.pools, "clients"),
      keyArn: platform.cluster.keyArn,
      network: "vpcId" in platform.network ? platform.network : undefined,
      credentialsSecret: platform.imageCache?.credentialsSecret,
      backupKeyArn: plan.backups === null ? undefined : ownKeyOf(plan.backups.encryption),
    },
    SECTION,
    { provider },
  );

  const eks = new EksPlatform(name, platformArgs(name, platform, planned, leftoverLogGroup), {
    providers: { aws: provider },
  });
  const { timeout } = config.verification;
  // Order of deletion: the namespace with its claims, then this resource, which waits until the volumes are gone, and
  // then the controllers that delete volumes.
  const swept = new VolumeDeletionWait(
    "volumes",
    { kubeconfig: eks.kubeconfig, namespace: platform.namespace, timeoutSeconds: timeout },
    { dependsOn: eks.ready },
  );
  const namespace = createNamespace(platform.namespace, { provider: eks.provider, dependsOn: [...eks.ready, swept] });
  const pulled = await withCachedImages(name, platform, config, provider);
  const deployments = deployPodsOfStack(pulled.platform, pulled.config, {
    provider: eks.provider,
    namespace,
    kubeconfig: eks.kubeconfig,
    context: undefined,
    policyBlock: plan.policies.cidr ?? undefined,
    nodeSelectors: nodeSelectorsOfMachineSets(plan.sets),
    backupFor: (deployment, prefix) => eks.backupFor(deployment, platform.namespace, prefix),
    restoreFor: (deployment, archive) => eks.restoreFor(deployment, archive, platform.namespace),
  });
  const backupBucket = plan.backups === null ? undefined : eks.backupBucket;
  return { deployments, platform: pulled.platform, backupBucket };
}

/** So that pods pull images of Docker Hub from the image cache. Without one, nothing is changed. */
async function withCachedImages(
  name: string,
  platform: EksPlatformConfig,
  config: StackConfig,
  provider: aws.Provider,
): Promise<{ readonly platform: EksPlatformConfig; readonly config: StackConfig }> {
  if (platform.imageCache === undefined) return { platform, config };
  const { accountId } = await aws.getCallerIdentity({}, { provider });
  const registry = { host: `${accountId}.dkr.ecr.${platform.region}.amazonaws.com`, prefix: cachePrefix(name) };
  return withImages(platform, config, (image) => cachedImage(image, registry));
}

/** By default of the project's and the stack's names, shortened to what AWS allows. */
export function clusterName(stack: string, { clusterName: own }: Pick<EksPlatformConfig, "clusterName">): string {
  if (own !== undefined) return own;
  return `${pulumi.getProject()}-${stack}`
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, "-")
    .slice(0, 38)
    .replace(/-+$/, "");
}

function platformArgs(
  clusterName: string,
  platform: EksPlatformConfig,
  { zones, groups, system }: EksPlanArgs,
  takesOverLogGroup: boolean,
): EksPlatformArgs {
  const { region, network, cluster, pools, imageCache, backups, tags } = platform;
  const { publicAccessCidrs, openToTheWorld, ...rest } = cluster;
  return {
    clusterName,
    region,
    zones,
    ...("vpcId" in network ? { existingNetwork: network } : { network }),
    publicAccess: { cidrs: publicAccessCidrs, openToTheWorld },
    ...rest,
    takesOverLogGroup,
    pools,
    groups,
    system,
    imageCache,
    backups,
    tags,
  };
}
