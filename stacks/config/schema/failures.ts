/** The section `failures`: what is broken on purpose, by name, while clients write. `npm start -- break` does it. */
import { z } from "zod";
import { APPENDFSYNC_VALUES } from "../../../valkey/settings";
import { FAULT_KINDS } from "../../../faults/plan/fault";

const count = (least: number, most: number): z.ZodNumber => z.int().min(least).max(most);
const seconds = z.number().min(0).max(3600);

/** Directives that can be tried without another deployment. */
const settingsSchema = z.strictObject({
  appendonly: z.boolean().optional(),
  appendfsync: z.enum(APPENDFSYNC_VALUES).optional(),
  "min-replicas-to-write": count(0, 100).optional(),
  /** Seconds. */
  "min-replicas-max-lag": count(0, 3600).optional(),
  /** Milliseconds. */
  "cluster-node-timeout": count(100, 600_000).optional(),
});

const common = {
  /** Names of deployments. @default all that can suffer it */
  deployments: z.array(z.string()).min(1).optional(),
  /** Writes due per second, evenly spaced. */
  rate: count(1, 100_000).default(1000),
  /** Bytes per value. */
  dataSize: count(1, 1024 * 1024).default(64),
  /** Milliseconds after which an answer is given up on. */
  timeout: count(10, 600_000).default(1000),
  /** Replicas that must have a write before it counts as acknowledged (WAIT). */
  waitFor: count(0, 10).default(0),
  /** In force while the scenario lasts. */
  settings: settingsSchema.default({}),
  /** Seconds of undisturbed writes before. */
  before: seconds.default(2),
  /** Seconds of writes after all is well again. */
  after: seconds.default(2),
  /** Seconds until what is not well again is given up on. */
  patience: seconds.min(1).default(120),
  /** Whether zones are made safe again by orderly hand-overs. */
  repair: z.boolean().default(true),
  /** Distributions take several. */
  repeats: count(1, 1000).default(1),
};

/** When what was killed is started again. @default once all is served again, or plainly takes help */
const restart = seconds.optional();
const share = z.number().gt(0).max(1);

export const failureSchema = z.discriminatedUnion("fault", [
  z.strictObject({ fault: z.literal("kill-primary"), restart, ...common }),
  z.strictObject({
    fault: z.literal("kill-primaries"),
    /** Part of the primaries; from a half on nobody is left to elect others. */
    share: share.default(0.4),
    restart,
    ...common,
  }),
  /** @default zone: the one with most primaries */
  z.strictObject({ fault: z.literal("kill-zone"), zone: z.string().optional(), restart, ...common }),
  z.strictObject({ fault: z.literal("kill-machine"), restart, ...common }),
  z.strictObject({
    fault: z.literal("kill-all"),
    /** Whether they come back at other addresses, as pods do. */
    newAddresses: z.boolean().default(true),
    ...common,
  }),
  z.strictObject({ fault: z.literal("freeze-primary"), seconds: seconds.default(10), ...common }),
  z.strictObject({
    fault: z.literal("cut-zone"),
    zone: z.string().optional(),
    seconds: seconds.default(10),
    ...common,
  }),
  z.strictObject({ fault: z.literal("full-disk"), seconds: seconds.default(5), ...common }),
  z.strictObject({
    fault: z.literal("rolling-restart"),
    /** Directory of other programs: an upgrade. */
    home: z.string().min(1).optional(),
    ...common,
  }),
  z.strictObject({
    fault: z.literal("scale"),
    primaries: count(3, 1000),
    replicasPerPrimary: count(0, 10).default(1),
    ...common,
  }),
]);
export type FailureConfig = z.infer<typeof failureSchema>;

/** What `break` does with a stack that names nothing: each fault once. */
export const DEFAULT_FAILURES: Readonly<Record<string, unknown>> = Object.fromEntries(
  FAULT_KINDS.filter((fault) => fault !== "scale").map((fault) => [fault, { fault }]),
);

/** A name for a scenario: part of results. */
export const failureName = z
  .string()
  .regex(/^[\w.-]{1,64}$/, "expected letters, digits, dots, hyphens and underscores");
