/** Facts about an existing network are read from AWS first, and judged before anything is created in it. */
import { type Problem, messageOf, problem } from "../../lib/errors";
import * as aws from "./aws/aws-sdk";
import type { ExistingNetworkArgs } from "./network";
import { type ZoneDemand, PREFIX_SIZE } from "../../platforms/eks/network-plan";

export interface SubnetFacts {
  readonly id: string;
  readonly vpcId: string;
  readonly zone: string;
  readonly free: number;
}

/** If AWS answers with an error, the text of the error replaces the facts. */
export interface NetworkFacts {
  readonly vpc: { readonly dnsHostnames: boolean; readonly dnsSupport: boolean } | string;
  readonly subnets: readonly (SubnetFacts | { readonly id: string; readonly why: string })[];
}

/** @param demand number of machines and address prefixes, for each zone that has machines */
export function networkProblems(
  { vpcId }: Pick<ExistingNetworkArgs, "vpcId">,
  { vpc, subnets }: NetworkFacts,
  demand: ReadonlyMap<string, ZoneDemand>,
): Problem[] {
  const path = "network.privateSubnetIds";
  const known = subnets.filter((subnet) => "zone" in subnet);
  const problems: Problem[] = [];
  const refuse = (code: string, where: string, message: string): void => {
    problems.push(problem(code, where, message));
  };
  if (typeof vpc === "string") refuse("unusable-network", "network.vpcId", `${vpcId} cannot be used: ${vpc}`);
  else if (!vpc.dnsSupport || !vpc.dnsHostnames)
    refuse(
      "network-without-dns",
      "network.vpcId",
      `${vpcId} has no ${vpc.dnsSupport ? "DNS hostnames" : "DNS"}. Machines find the API server by DNS inside the ` +
        "network; set enableDnsSupport and enableDnsHostnames",
    );
  for (const [index, subnet] of subnets.entries()) {
    if ("why" in subnet) refuse("unusable-subnet", `${path}.${index}`, `${subnet.id} cannot be used: ${subnet.why}`);
    else if (subnet.vpcId !== vpcId)
      refuse(
        "subnet-of-other-network",
        `${path}.${index}`,
        `${subnet.id} is in ${subnet.vpcId}; expected a subnet of ${vpcId}`,
      );
  }
  // A subnet that could not be read may be in any zone, so the check of the zones is left out.
  if (known.length < subnets.length) return problems;
  for (const [zone, { machines, prefixes }] of demand) {
    const here = known.filter((subnet) => subnet.zone === zone);
    const free = here.reduce((sum, subnet) => sum + subnet.free, 0);
    const needed = machines + prefixes * PREFIX_SIZE;
    if (here.length === 0)
      refuse(
        "zone-without-subnet",
        path,
        `no subnet is in ${zone}, where machines are planned; the subnets are ${known.map((subnet) => `${subnet.id} in ${subnet.zone}`).join(", ")}`,
      );
    else if (free < needed)
      refuse(
        "too-few-addresses",
        path,
        `${here.map(({ id }) => id).join(" and ")} in ${zone} ${here.length === 1 ? "has" : "have"} ${free} free addresses, but ${machines} machines with ${prefixes} prefixes of ${PREFIX_SIZE} addresses need ${needed}`,
      );
  }
  return problems;
}

/** Reads the facts about an existing network from AWS, also in a preview. */
export async function readNetwork(
  { vpcId, privateSubnetIds }: Pick<ExistingNetworkArgs, "vpcId" | "privateSubnetIds">,
  opts?: { readonly provider: aws.Provider },
): Promise<NetworkFacts> {
  const [vpc, subnets] = await Promise.all([
    aws.ec2.getVpc({ id: vpcId }, opts).then(
      ({ enableDnsHostnames, enableDnsSupport }) => ({
        dnsHostnames: enableDnsHostnames,
        dnsSupport: enableDnsSupport,
      }),
      messageOf,
    ),
    Promise.all(
      privateSubnetIds.map((id) =>
        aws.ec2.getSubnet({ id }, opts).then(
          (subnet) => ({
            id,
            vpcId: subnet.vpcId,
            zone: subnet.availabilityZone,
            free: subnet.availableIpAddressCount,
          }),
          (error: unknown) => ({ id, why: messageOf(error) }),
        ),
      ),
    ),
  ]);
  return { vpc, subnets };
}
