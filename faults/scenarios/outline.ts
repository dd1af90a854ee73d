/** Makes the outline of a running deployment, on which a fault is planned. Pure. */
import type { Verification } from "../../valkey/verification/verify";
import type { DeploymentOutline } from "../plan/fault-plan";
import type { FaultSubject } from "./scenario-run";

/**
 * The outline of a running deployment.
 * @param verification verification that contains the current primary of each shard
 */
export function outlineOf(subject: FaultSubject, { verdict }: Verification): DeploymentOutline {
  const { mode, nodes, directives, sentinels } = subject.injector.deployment;
  const { initialPrimaries } = subject;
  const place = (primary: string): number =>
    initialPrimaries.includes(primary) ? initialPrimaries.indexOf(primary) : initialPrimaries.length;
  const promotesReplicas = directives.get("cluster-replica-no-failover") !== "yes";
  return {
    mode,
    shape: subject.shape,
    shards: verdict.shards
      .flatMap(({ primary, replicas }) => (primary === undefined ? [] : [{ primary, replicas }]))
      .toSorted((a, b) => place(a.primary) - place(b.primary)),
    zoneOf: new Map(nodes.map(({ name, zone }) => [name, zone ?? ""])),
    machineOf: new Map(nodes.map(({ name, machine }) => [name, machine])),
    sentinelZoneOf: new Map((sentinels?.nodes ?? []).map(({ name, zone }) => [name, zone ?? ""])),
    hasAutomaticFailover: mode === "cluster" ? promotesReplicas : subject.hasAutomaticFailover,
    persistent: directives.get("appendonly") === "yes",
    rediscoversPeers: subject.injector.rediscoversPeers,
  };
}
