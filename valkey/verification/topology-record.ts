import { z } from "zod";
import { formatRanges } from "../topology/slots";
import { selfOf } from "./shards";
import { serverVersion } from "./shared-assertions";
import type { Verification } from "./verify";

export const modeSchema = z.enum(["replication", "cluster"]);
export const roleSchema = z.enum(["primary", "replica"]);

const assertionSchema = z.strictObject({
  id: z.string(),
  what: z.string(),
  expected: z.string(),
  found: z.string(),
  pass: z.boolean(),
  nodes: z.array(z.string()),
});

/** The state of a deployment at the time of a verification. */
export const topologySchema = z.strictObject({
  deployment: z.string(),
  mode: modeSchema,
  version: z.string(),
  nodes: z.array(
    z.strictObject({ name: z.string(), zone: z.string().nullable(), machine: z.string(), role: roleSchema }),
  ),
  shards: z.array(z.strictObject({ primary: z.string().nullable(), replicas: z.array(z.string()), slots: z.string() })),
  /** Settings of the first node, by directive. */
  settings: z.record(z.string(), z.string()),
  formationMs: z.number().min(0).nullable(),
  verdict: z.strictObject({
    pass: z.boolean(),
    assertions: z.array(assertionSchema),
    skippedAssertions: z.array(z.string()),
  }),
});
export type TopologyRecord = z.infer<typeof topologySchema>;
/**
 * The record of a verified deployment.
 * @param formationMs duration of the formation, milliseconds; null if this run did not form the deployment
 */
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
