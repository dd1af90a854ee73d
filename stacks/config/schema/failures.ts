/** `npm start -- break` runs them while clients write. */
import { z } from "zod";
import type { FaultKind, FaultOptions } from "../../../faults/plan/fault";
import { FAULT_KINDS, FAULTS, scenarioSeconds as seconds } from "../../../faults/plan/fault";
import { APPENDFSYNC_VALUES } from "../../../model/settings";
import { wholeNumber } from "../../../lib/schema/fields";

const settingsSchema = z.strictObject({
  /** Whether the servers write an append-only file. @default the deployment's */
  appendonly: z.boolean().optional(),
  /** Policy for syncing the append-only file to disk. @default the deployment's */
  appendfsync: z.enum(APPENDFSYNC_VALUES).optional(),
  /** Number of replicas that a primary needs to accept writes. @default the deployment's */
  "min-replicas-to-write": wholeNumber(0, 100).optional(),
  /**
   * Replication lag up to which a replica counts for `min-replicas-to-write`.
   * @unit seconds
   * @default the deployment's
   */
  "min-replicas-max-lag": wholeNumber(0, 3600).optional(),
  /**
   * Time without a reply after which nodes suspect that a node has failed.
   * @unit milliseconds
   * @default the deployment's
   */
  "cluster-node-timeout": wholeNumber(100, 600_000).optional(),
});

const common = {
  /**
   * Names of the deployments that the fault is injected into.
   * @default every deployment that the fault can be injected into
   */
  deployments: z.array(z.string()).min(1).optional(),
  /** Offered rate of writes, evenly spaced. @unit writes per second */
  rate: wholeNumber(1, 100_000).default(1000),
  /** Value size. @unit bytes */
  dataSize: wholeNumber(1, 1024 * 1024).default(64),
  /** Time after which a client gives up a write. @unit milliseconds */
  writeTimeoutMs: wholeNumber(10, 600_000).default(1000),
  /** Number of replicas that must confirm a write (WAIT) before it counts as acknowledged. */
  waitFor: wholeNumber(0, 10).default(0),
  /** Directives that are set on the servers while the scenario runs. */
  settings: settingsSchema.prefault({}),
  /** Duration of the writes before the fault. @unit seconds */
  before: seconds.default(2),
  /** Duration of the writes after the recovery. @unit seconds */
  after: seconds.default(2),
  /** Time limit for the recovery of the deployment. @unit seconds */
  recoveryTimeout: seconds.min(1).default(120),
  /** Whether the program hands over primaries after the recovery until no primary has a replica in its own zone. */
  repair: z.boolean().default(true),
  /** Number of repeats. A distribution of outages needs several repeats. */
  repeats: wholeNumber(1, 1000).default(1),
};

/** One scenario, parsed. */
export type ScenarioConfig = z.infer<z.ZodObject<typeof common>> &
  { readonly [Kind in FaultKind]: { readonly fault: Kind } & FaultOptions[Kind] }[FaultKind];

const scenarioOf = (kind: FaultKind) =>
  z
    .strictObject({
      /** Kind of the fault. */
      fault: z.literal(kind),
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
