/** `npm start -- break` runs them while clients write. */
import { z } from "zod";
import type { FaultKind, FaultOptions } from "../../../faults/plan/fault";
import { FAULT_KINDS, FAULTS, scenarioSeconds as seconds } from "../../../faults/plan/fault";
import { APPENDFSYNC_VALUES } from "../../../model/settings";
import { wholeNumber } from "../../../lib/schema/fields";

/**
 * Text that the reference of the configuration shows as the default of a directive. A scenario that does not set the
 * directive keeps the deployment's value.
 */
const UNCHANGED = "the deployment's";

const settingsSchema = z.strictObject({
  appendonly: z
    .boolean()
    .optional()
    .meta({ description: "Whether the servers write an append-only file.", fallback: UNCHANGED }),
  appendfsync: z
    .enum(APPENDFSYNC_VALUES)
    .optional()
    .meta({ description: "Policy for syncing the append-only file to disk.", fallback: UNCHANGED }),
  "min-replicas-to-write": wholeNumber(0, 100).optional().meta({
    description: "Number of replicas that a primary needs to accept writes.",
    fallback: UNCHANGED,
  }),
  "min-replicas-max-lag": wholeNumber(0, 3600).optional().meta({
    description: "Replication lag up to which a replica counts for `min-replicas-to-write`.",
    unit: "seconds",
    fallback: UNCHANGED,
  }),
  "cluster-node-timeout": wholeNumber(100, 600_000).optional().meta({
    description: "Time without a reply after which nodes suspect that a node has failed.",
    unit: "milliseconds",
    fallback: UNCHANGED,
  }),
});

const common = {
  deployments: z.array(z.string()).min(1).optional().meta({
    description: "Names of the deployments that the fault is injected into.",
    fallback: "every deployment that the fault can be injected into",
  }),
  rate: wholeNumber(1, 100_000).default(1000).meta({
    description: "Offered rate of writes, evenly spaced.",
    unit: "writes per second",
  }),
  dataSize: wholeNumber(1, 1024 * 1024)
    .default(64)
    .meta({ description: "Value size.", unit: "bytes" }),
  writeTimeoutMs: wholeNumber(10, 600_000).default(1000).meta({
    description: "Time after which a client gives up a write.",
    unit: "milliseconds",
  }),
  waitFor: wholeNumber(0, 10).default(0).meta({
    description: "Number of replicas that must confirm a write (WAIT) before it counts as acknowledged.",
  }),
  settings: settingsSchema
    .prefault({})
    .meta({ description: "Directives that are set on the servers while the scenario runs." }),
  before: seconds.default(2).meta({ description: "Duration of the writes before the fault.", unit: "seconds" }),
  after: seconds.default(2).meta({ description: "Duration of the writes after the recovery.", unit: "seconds" }),
  recoveryTimeout: seconds.min(1).default(120).meta({
    description: "Time limit for the recovery of the deployment.",
    unit: "seconds",
  }),
  repair: z.boolean().default(true).meta({
    description:
      "Whether the program hands over primaries after the recovery until no primary has a replica in its own zone.",
  }),
  repeats: wholeNumber(1, 1000)
    .default(1)
    .meta({ description: "Number of repeats. A distribution of outages needs several repeats." }),
};

/** One scenario, parsed. */
export type ScenarioConfig = z.infer<z.ZodObject<typeof common>> &
  { readonly [Kind in FaultKind]: { readonly fault: Kind } & FaultOptions[Kind] }[FaultKind];

const scenarioOf = (kind: FaultKind) =>
  z
    .strictObject({
      fault: z.literal(kind).meta({ description: "Kind of the fault." }),
      ...FAULTS[kind].fields,
      ...common,
    })
    .meta({ title: kind, description: FAULTS[kind].description });
export const failureSchema = z.discriminatedUnion(
  "fault",
  FAULT_KINDS.map(scenarioOf) as [ReturnType<typeof scenarioOf>],
) as unknown as z.ZodType<ScenarioConfig>;

export const DEFAULT_SCENARIOS: Readonly<Record<string, unknown>> = Object.fromEntries(
  FAULT_KINDS.filter((kind) => FAULTS[kind].isDefault).map((kind) => [kind, { fault: kind }]),
);
