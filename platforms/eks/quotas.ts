import { type Problem, problem } from "../../lib/errors";
import { compact } from "../../lib/compact";
import type { MachineGroup } from "./pools/machine-plan";

/** A quota, with its codes in AWS Service Quotas. */
export interface QuotaNeed {
  readonly service: "ec2" | "ebs" | "vpc";
  readonly code: string;
  readonly name: string;
  readonly needed: number;
  /** Value that the quota has in a new account. */
  readonly usual: number;
}

interface QuotaArgs {
  readonly machines: readonly MachineGroup[];
  readonly isSpot: (pool: MachineGroup["pool"]) => boolean;
  readonly volumeGib: number;
  /** Number of NAT gateways: the highest number in any zone, and the sum over all zones. */
  readonly natGateways: { readonly perZone: number; readonly total: number };
  /** Number of network interfaces that do not belong to machines. */
  readonly otherInterfaces: number;
}

/** Each machine is one network interface, whose prefixes have addresses for all pods. */
export function quotaNeeds({ machines, isSpot, volumeGib, natGateways, otherInterfaces }: QuotaArgs): QuotaNeed[] {
  const vcpusOf = (spot: boolean): number =>
    machines.filter(({ pool }) => isSpot(pool) === spot).reduce((sum, group) => sum + group.count * group.vcpus, 0);
  const spotVcpus = vcpusOf(true);
  const count = machines.reduce((sum, group) => sum + group.count, 0);
  return compact([
    {
      service: "ec2",
      code: "L-1216C47A",
      name: "vCPUs of running on-demand standard instances (A, C, D, H, I, M, R, T, Z)",
      needed: vcpusOf(false),
      usual: 5,
    },
    spotVcpus === 0
      ? undefined
      : {
          service: "ec2" as const,
          code: "L-34B43A08",
          name: "vCPUs of spot standard instances (A, C, D, H, I, M, R, T, Z)",
          needed: spotVcpus,
          usual: 5,
        },
    {
      service: "ebs",
      code: "L-7A658B76",
      name: "storage of gp3 volumes, TiB",
      needed: Math.ceil((volumeGib / 1024) * 100) / 100,
      usual: 50,
    },
    {
      service: "vpc",
      code: "L-DF5E4CA3",
      name: "network interfaces of the region",
      needed: count + otherInterfaces,
      usual: 5000,
    },
    { service: "ec2", code: "L-0263D0A3", name: "Elastic IP addresses", needed: natGateways.total, usual: 5 },
    { service: "vpc", code: "L-FE5A380F", name: "NAT gateways per zone", needed: natGateways.perZone, usual: 5 },
  ]);
}

export function quotaProblems(needs: readonly QuotaNeed[], granted: ReadonlyMap<string, number>): Problem[] {
  return needs.flatMap(({ service, code, name, needed }) => {
    const value = granted.get(code);
    return value === undefined || needed <= value
      ? []
      : [
          problem(
            "quota",
            "",
            `the account's quota ${code} (${service}: ${name}) is ${value}, but the plan needs ${needed}; ` +
              "ask AWS for a higher quota, or plan for less",
          ),
        ];
  });
}
