/** Machines pull images from ECR, which pulls each image from Docker Hub once. */
import * as aws from "./aws/aws-sdk";
import * as pulumi from "@pulumi/pulumi";
import { currentAccount } from "./aws/account";
import { cacheRepository } from "../../platforms/eks/scale/image-pulls";

interface ImageCacheComponentArgs {
  readonly credentialsSecret: string;
  /** It must differ from the prefixes of other cache rules in the account and region. */
  readonly prefix: string;
  readonly images: readonly string[];
  readonly nodeRole: string;
}

/** If ECR created repositories at the first pull, they would outlive the stack, and machines would need a right to. */
export class ImageCache extends pulumi.ComponentResource {
  /** @param opts `dependsOn` must name the machines' role */
  constructor(
    name: string,
    { credentialsSecret, prefix, images, nodeRole }: ImageCacheComponentArgs,
    opts: pulumi.ComponentResourceOptions,
  ) {
    super("valkey:eks:ImageCache", name, {}, opts);
    const child = { parent: this };
    const secret = aws.getSecretOutput({ name: credentialsSecret }, child);
    const rule = new aws.PullThroughCacheRule(
      `${name}-docker-hub`,
      { ecrRepositoryPrefix: prefix, upstreamRegistryUrl: "registry-1.docker.io", credentialArn: secret.arn },
      child,
    );
    for (const repository of new Set(images.map((image) => cacheRepository(image, prefix))))
      // Tags are mutable, because ECR asks Docker Hub once a day which image a tag names now.
      new aws.EcrRepository(
        `${name}-${repository.replaceAll("/", "-")}`,
        { name: repository, forceDelete: true, imageTagMutability: "MUTABLE" },
        { ...child, dependsOn: [rule] },
      );
    const policy = currentAccount(this).apply(({ partition, region, accountId }) => ({
      Version: "2012-10-17",
      Statement: [
        {
          Sid: "AllowImportFromDockerHub",
          Effect: "Allow",
          Action: "ecr:BatchImportUpstreamImage",
          Resource: `arn:${partition}:ecr:${region}:${accountId}:repository/${prefix}/*`,
        },
      ],
    }));
    new aws.iam.RolePolicy(`${name}-image-cache`, { role: nodeRole, policy: pulumi.jsonStringify(policy) }, child);
    this.registerOutputs({});
  }
}
