/** The record of a verified topology. Pure. */
import { formatRanges } from "../../valkey/topology/slots";
import { selfOf } from "../../valkey/verification/shards";
import { serverVersion } from "../../valkey/verification/shared-assertions";
import type { Verification } from "../../valkey/verification/verify";
import type { TopologyRecord } from "./schema";

/** @param formationMs null where this run did not form the deployment */
export function topologyOf({ facts, verdict }: Verification, formationMs: number | null): TopologyRecord {
  const primaries = new Set(verdict.shards.map(({ primary }) => primary));
  const [first] = facts.nodes.flatMap(({ info }) => (info.known ? [serverVersion(info.value)] : []));
  const [settings] = facts.nodes.flatMap((each) => (each.settings.known ? [each.settings.value] : []));
  return {
    deployment: facts.deployment,
    mode: facts.mode,
    version: first ?? "unknown",
    nodes: facts.nodes.map((each) => ({
      name: each.node.name,
      zone: each.node.zone ?? null,
      machine: each.node.machine,
      role: primaries.has(each.node.name) || selfOf(each)?.role === "primary" ? "primary" : "replica",
      keysAfter: null,
    })),
    shards: verdict.shards.map(({ primary, replicas, slots }) => ({
      primary: primary ?? null,
      replicas: [...replicas],
      slots: formatRanges(slots),
    })),
    settings: Object.fromEntries(settings ?? []),
    formationMs,
    verdict: {
      pass: verdict.pass,
      assertions: verdict.assertions.map((each) => ({ ...each, nodes: [...each.nodes] })),
      skippedAssertions: [...verdict.skippedAssertions],
    },
  };
}
