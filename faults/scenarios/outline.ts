/** From a deployment that runs to the outline that a fault is planned on. Pure. */
import type { Verification } from "../../valkey/verification/verify";
import type { DeploymentOutline } from "../plan/fault-plan";
import type { ScenarioRun } from "./scenario-run";

type OutlinedRun = Pick<ScenarioRun, "injector" | "shape" | "hasAutomaticFailover">;

/** @param verification says which node leads which shard now */
export function outlineOf(run: OutlinedRun, { verdict }: Verification): DeploymentOutline {
  const { mode, nodes, directives, sentinels } = run.injector.deployment;
  const promotesReplicas = directives.get("cluster-replica-no-failover") !== "yes";
  return {
    mode,
    shape: run.shape,
    shards: verdict.shards.flatMap(({ primary, replicas }) => (primary === undefined ? [] : [{ primary, replicas }])),
    zoneOf: new Map(nodes.map(({ name, zone }) => [name, zone ?? ""])),
    machineOf: new Map(nodes.map(({ name, machine }) => [name, machine])),
    sentinelZoneOf: new Map((sentinels?.nodes ?? []).map(({ name, zone }) => [name, zone ?? ""])),
    hasAutomaticFailover: mode === "cluster" ? promotesReplicas : run.hasAutomaticFailover,
    persistent: directives.get("appendonly") === "yes",
    rediscoversPeers: run.injector.rediscoversPeers,
  };
}
