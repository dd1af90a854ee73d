/** Facts are read from AWS first and then judged. */
import { type Problem, BadInput, Failure, messageOf, problem, within } from "../../lib/errors";
import * as aws from "./aws/aws-sdk";
import { hasLeftoverLogGroup } from "./control-plane-logs";
import type { ExistingNetworkArgs } from "./network";
import { type NetworkFacts, networkProblems, readNetwork } from "./network-checks";
import { architecturesOf } from "../../platforms/eks/pools/pools";
import { type EksPlan, demandByZone } from "../../platforms/eks/plan";
import { quotaProblems } from "../../platforms/eks/quotas";
import { SECRET_CONTENT, secretCommand } from "../../platforms/eks/scale/image-pulls";
import { COMMAND } from "../../lib/system/package";

export interface AccountFacts {
  /** Names of the region's zones that this account can use. */
  readonly zones: readonly string[];
  /** A type that no zone offers has no entry. */
  readonly offers: ReadonlyMap<string, readonly string[]>;
  /** A quota that could not be read has no entry. */
  readonly quotas: ReadonlyMap<string, number>;
  /** Whether the account has AWS' role for spot machines; undefined if the role could not be read or is not needed. */
  readonly spotRole: boolean | undefined;
  /** Reason why the secret of the image cache cannot be used. */
  readonly secretProblem?: string | undefined;
  /** Reason why the configured KMS key cannot be used; undefined if it can be used or no key is configured. */
  readonly keyProblem: string | undefined;
  /** Reason why the KMS key of the bucket for backups cannot be used; undefined if it can be used or there is none. */
  readonly backupKeyProblem?: string | undefined;
  /** An existing network; undefined if the stack creates its own. */
  readonly network: { readonly vpcId: string; readonly facts: NetworkFacts } | undefined;
  /** The control plane's log group of an earlier stack with this name exists, but the cluster does not. */
  readonly leftoverLogGroup: boolean;
}

export interface ExistingResources {
  /** An earlier stack may have left the log group of an earlier cluster with the same name. */
  readonly clusterName: string;
  readonly keyArn: string | undefined;
  readonly network: Pick<ExistingNetworkArgs, "vpcId" | "privateSubnetIds"> | undefined;
  /** Whether any pool uses spot machines. @default false */
  readonly spot?: boolean | undefined;
  /** Name of the secret in Secrets Manager with the image cache's credentials for Docker Hub. @default no cache */
  readonly credentialsSecret?: string | undefined;
  /** ARN of the user's own KMS key of the bucket for backups. @default none */
  readonly backupKeyArn?: string | undefined;
}

/** Karpenter has no right to create it. */
const SPOT_ROLE = "AWSServiceRoleForEC2Spot";

export function accountProblems(
  plan: Pick<EksPlan, "region" | "zones" | "machines" | "quotas">,
  facts: AccountFacts,
): Problem[] {
  const { region, zones, machines, quotas } = plan;
  const problems: Problem[] = [];
  const refuse = (code: string, path: string, message: string | undefined): void => {
    if (message !== undefined) problems.push(problem(code, path, message));
  };
  if (facts.zones.length < 3)
    refuse(
      "too-few-zones",
      "region",
      `${region} has ${facts.zones.length} zones for this account, but at least 3 are needed`,
    );
  const unknown = zones.filter((zone) => !facts.zones.includes(zone));
  if (unknown.length > 0)
    refuse(
      "no-such-zone",
      "zones",
      `${unknown.join(", ")}: this account has no such zone in ${region}; zones of the account: ${facts.zones.join(", ")}`,
    );
  const types = [...new Set(machines.map((group) => group.type))];
  const nowhere = types.filter((type) => !facts.offers.has(type));
  if (nowhere.length > 0)
    refuse(
      "type-not-in-region",
      "region",
      nowhere.length === types.length
        ? `${region} offers none of the planned machines (${types.join(", ")})${kindOf(types)}; ` +
            "choose another region, or types that it offers"
        : `${region} does not offer ${nowhere.join(", ")}; choose another region, or types that it offers`,
    );
  for (const type of types) {
    const offered = facts.offers.get(type) ?? [];
    const missing = [...new Set(machines.filter((group) => group.type === type).map(({ zone }) => zone))].filter(
      (zone) => !offered.includes(zone),
    );
    if (offered.length > 0 && missing.length > 0)
      refuse(
        "type-not-in-zone",
        "zones",
        `${type} is not offered in ${missing.join(", ")}, but it is offered in ${offered.join(", ")}`,
      );
  }
  problems.push(...quotaProblems(quotas, facts.quotas));
  if (facts.spotRole === false)
    refuse(
      "no-spot-role",
      "pools.clients.capacity",
      `spot needs the role ${SPOT_ROLE}, which the account does not have; ` +
        "create it once: aws iam create-service-linked-role --aws-service-name spot.amazonaws.com",
    );
  refuse("unusable-key", "cluster.keyArn", facts.keyProblem);
  refuse("unusable-key", "backups.encryption", facts.backupKeyProblem);
  refuse("unusable-secret", "imageCache.credentialsSecret", facts.secretProblem);
  if (facts.network !== undefined)
    problems.push(...networkProblems(facts.network, facts.network.facts, demandByZone(machines)));
  return problems;
}

/** A remark if all of the types are Graviton types, else empty: some regions have no Graviton machines. */
function kindOf(types: readonly string[]): string {
  const [only, ...others] = architecturesOf(types);
  return only === "arm64" && others.length === 0 ? ", all of them Graviton" : "";
}

/** Also in a preview. A quota that the credentials may not read is left out. */
export async function readAccount(
  plan: Pick<EksPlan, "region" | "machines" | "quotas">,
  { clusterName, keyArn, network, credentialsSecret, backupKeyArn, spot = false }: ExistingResources,
  opts?: { readonly provider: aws.Provider },
): Promise<AccountFacts> {
  const types = [...new Set(plan.machines.map((group) => group.type))];
  const [zones, offers, quotas, spotRole, keyProblem, found, secretProblem, leftoverLogGroup, backupKeyProblem] =
    await Promise.all([
      aws.getAvailabilityZones(
        { state: "available", filters: [{ name: "opt-in-status", values: ["opt-in-not-required"] }] },
        opts,
      ),
      aws.ec2.getInstanceTypeOfferings(
        { locationType: "availability-zone", filters: [{ name: "instance-type", values: types }] },
        opts,
      ),
      Promise.all(plan.quotas.map(async ({ service, code }) => [code, await quotaOf(service, code, opts)] as const)),
      spot ? hasSpotRole(opts) : undefined,
      keyProblemOf(keyArn, opts),
      network === undefined ? undefined : readNetwork(network, opts),
      secretProblemOf(credentialsSecret, plan.region, opts),
      hasLeftoverLogGroup(clusterName, opts),
      keyProblemOf(backupKeyArn, opts),
    ]);
  const byType = new Map<string, string[]>();
  for (const [index, type] of offers.instanceTypes.entries())
    byType.set(type, [...(byType.get(type) ?? []), offers.locations[index] ?? ""]);
  return {
    zones: zones.names,
    offers: byType,
    quotas: new Map(quotas.flatMap(([code, value]) => (value === undefined ? [] : [[code, value]]))),
    spotRole,
    keyProblem,
    backupKeyProblem,
    secretProblem,
    network: network === undefined || found === undefined ? undefined : { vpcId: network.vpcId, facts: found },
    leftoverLogGroup,
  };
}

async function quotaOf(
  serviceCode: string,
  quotaCode: string,
  opts?: { readonly provider: aws.Provider },
): Promise<number | undefined> {
  try {
    return (await aws.servicequotas.getServiceQuota({ serviceCode, quotaCode }, opts)).value;
  } catch {
    return undefined;
  }
}

async function hasSpotRole(opts?: { readonly provider: aws.Provider }): Promise<boolean | undefined> {
  try {
    const { names } = await aws.iam.getRoles({ pathPrefix: "/aws-service-role/spot.amazonaws.com/" }, opts);
    return names.includes(SPOT_ROLE);
  } catch {
    return undefined;
  }
}

async function keyProblemOf(
  keyArn: string | undefined,
  opts?: { readonly provider: aws.Provider },
): Promise<string | undefined> {
  if (keyArn === undefined) return undefined;
  try {
    const { enabled, keyUsage } = await aws.kms.getKey({ keyId: keyArn }, opts);
    return enabled && keyUsage === "ENCRYPT_DECRYPT"
      ? undefined
      : `${keyArn} is ${enabled ? `for ${keyUsage}` : "not enabled"}; an enabled key for ENCRYPT_DECRYPT is needed`;
  } catch (error) {
    return `${keyArn} cannot be used: ${messageOf(error)}`;
  }
}

/** Does not read the content of the secret, because only ECR needs that right. */
async function secretProblemOf(
  name: string | undefined,
  region: string,
  opts?: { readonly provider: aws.Provider },
): Promise<string | undefined> {
  if (name === undefined) return undefined;
  try {
    await aws.getSecret({ name }, opts);
    return undefined;
  } catch (error) {
    const remedy = `create it from a file with ${SECRET_CONTENT}: ${secretCommand(name, region)}`;
    return `the secret ${name} of ${region} cannot be read: ${messageOf(error)}; ${remedy}`;
  }
}

/** @param section path of the platform's section @throws BadInput; Failure when AWS does not answer */
export async function checkAccount(
  plan: EksPlan,
  used: ExistingResources,
  section: string,
  opts?: { readonly provider: aws.Provider },
): Promise<AccountFacts> {
  const facts = await readAccount(plan, used, opts).catch((error: unknown) => {
    throw new Failure(
      `reading the account from AWS ${plan.region} failed: ${messageOf(error)}\n` +
        "Set credentials in a way that the AWS tools find (aws sts get-caller-identity shows their identity). They need " +
        `ec2:Describe*, eks:ListClusters and logs:DescribeLogGroups. A command that needs no credentials: ${COMMAND} plan`,
      { cause: error },
    );
  });
  const problems = accountProblems(plan, facts);
  if (problems.length > 0)
    throw new BadInput(
      `AWS ${plan.region}`,
      problems.flatMap((each) => (each.path === "" ? each : within(section, [each]))),
    );
  return facts;
}
