import { compact } from "../../lib/compact";
import { formatUsd } from "../../lib/dollars";
import { textTable } from "../../lib/table";
import { counted, formatCount, formatList } from "../../lib/units";
import type { BackupBucketPlan } from "./backup-bucket";
import type { MachineGroup } from "./pools/machine-plan";
import type { MachineSet } from "./pools/machine-sets";
import type { EksPlan } from "./plan";
import { describeControlPlane } from "./offers/control-plane";
import { ANONYMOUS_PULLS, SECRET_CONTENT, secretCommand } from "./scale/image-pulls";
import type { PolicyPeers } from "./scale/policy-peers";
import type { SystemPlan } from "./scale/system-machines";

/** Machines by pool and zone, cost, quotas, notes; not problems, because the caller prints them. */
export function describeEksPlan(plan: Omit<EksPlan, "problems">): string[] {
  const { cost, network, volumes } = plan;
  return compact([
    `machines in ${plan.region}:`,
    ...indent(machineTable(plan.machines, plan.zones)),
    `control plane: ${describeControlPlane(plan.controlPlane)}`,
    ...describePolicies(plan.policies),
    `system machines: ${describeSystem(plan.system)}`,
    ...indent(plan.sets.flatMap(describeShared)),
    ...describeImages(plan),
    ...describeBackups(plan.backups),
    volumes.count > 0 ? `volumes: ${formatCount(volumes.count)}, ${formatCount(volumes.gib)} GiB` : undefined,
    network === undefined
      ? undefined
      : `network: ${network.cidr}, private subnets ${network.zones.map(({ privateCidr }) => privateCidr).join(" ")}`,
    cost.usdPerHour === undefined || cost.date === undefined
      ? "cost: not known"
      : `cost: $${formatUsd(cost.usdPerHour)} per hour, prices of ${cost.region} on ${cost.date}`,
    ...indent(
      textTable(
        cost.lines.map(({ what, count, usdPerHour }) => [
          formatCount(count),
          what,
          usdPerHour === undefined ? "no price" : `$${formatUsd(usdPerHour)}`,
        ]),
        "r r",
      ),
    ),
    ...cost.notCounted.map((what) => `  not counted: ${what}`),
    "quotas that the plan needs (quota of a new account in brackets):",
    ...indent(
      textTable(
        plan.quotas.map(({ code, name, needed, usual }) => [
          Number.isInteger(needed) ? formatCount(needed) : needed.toFixed(2),
          `(${formatCount(usual)})`,
          code,
          name,
        ]),
        "rr",
      ),
    ),
    ...plan.notes.map((note) => `note: ${note}`),
  ]);
}

function describeSystem({ startedMachines, karpenter, dnsReplicas }: SystemPlan): string {
  const size = `${karpenter.cpuMilli / 1000} CPU and ${karpenter.memoryMiB / 1024} GiB`;
  const machines = counted(startedMachines, "machine");
  return `Karpenter with ${size} for ${machines}, ${formatCount(dnsReplicas)} replicas of CoreDNS`;
}

function describePolicies({ pods, cidr }: PolicyPeers): string[] {
  if (cidr === null) return [];
  const why = `EKS would otherwise send the addresses of ${formatCount(pods)} pods to every machine`;
  return [`network policies allow all addresses of ${cidr} instead of single pods, because ${why}`];
}

function describeImages({ region, images: { hubImages, pulls, cache } }: Pick<EksPlan, "region" | "images">): string[] {
  if (cache === null || hubImages.length === 0) return [];
  const rule = `without an account, Docker Hub allows ${ANONYMOUS_PULLS} pulls in 6 hours from one IP address`;
  return [
    `images: ${hubImages.join(", ")}, pulled ${formatCount(pulls)} times through a cache in ECR; ${rule}`,
    `  needed before pulumi up: an account at Docker Hub, stored in the secret ${cache.credentialsSecret} as ${SECRET_CONTENT}:`,
    `  ${secretCommand(cache.credentialsSecret, region)}`,
  ];
}

function describeBackups(plan: BackupBucketPlan | null): string[] {
  if (plan === null) return [];
  const { name, existing, encryption, keepDeletedDays, onDestroy, deployments } = plan;
  const users = deployments.length === 0 ? "no deployment yet" : formatList(deployments, deployments.length);
  const label = name === null ? "a name that AWS generates" : `the name ${name}`;
  const kept = `deleted objects are kept for ${counted(keepDeletedDays, "day")}`;
  const end = onDestroy === "keep" ? "destroy keeps the bucket" : "destroy deletes the bucket with all backups";
  const bucket = existing
    ? `the existing S3 bucket ${name ?? ""}`
    : `a new S3 bucket with ${label}, encrypted by ${encryption}; ${kept}; ${end}`;
  return [`backups of ${users}: ${bucket}`];
}

function machineTable(machines: readonly MachineGroup[], zones: readonly string[]): string[] {
  const rows = new Map<string, { pool: string; type: string; vcpus: number; perZone: Map<string, number> }>();
  for (const { pool, type, zone, count, vcpus } of machines) {
    const key = `${pool} ${type}`;
    const row = rows.get(key) ?? { pool, type, vcpus: 0, perZone: new Map<string, number>() };
    row.vcpus += count * vcpus;
    row.perZone.set(zone, (row.perZone.get(zone) ?? 0) + count);
    rows.set(key, row);
  }
  return textTable(
    [
      ["pool", "type", ...zones, "vCPUs"],
      ...[...rows.values()].map(({ pool, type, vcpus, perZone }) => [
        pool,
        type,
        ...zones.map((zone) => formatCount(perZone.get(zone) ?? 0)),
        formatCount(vcpus),
      ]),
    ],
    `  ${"r".repeat(zones.length + 1)}`,
  );
}

function describeShared({ type, groups, machines }: MachineSet): string[] {
  if (groups.length < 2) return [];
  const count = Object.values(machines).reduce((sum, each) => sum + each, 0);
  const names = groups.map(({ name }) => name);
  return [`${formatCount(count)} ${type} shared by ${formatList(names, names.length)}`];
}

function indent(lines: readonly string[]): string[] {
  return lines.map((line) => `  ${line}`);
}
