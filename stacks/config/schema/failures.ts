/** `npm start -- break` runs them while clients write. */
import { z } from "zod";
import { FAULT_KINDS } from "../../../faults/plan/fault";
import { APPENDFSYNC_VALUES } from "../../../valkey/settings/settings";
import { wholeNumber } from "../../../lib/schema/fields";

const seconds = z.number().min(0).max(3600);

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

const restart = seconds.optional().meta({
  description: "Time from the fault to the restart of the killed servers.",
  unit: "seconds",
  fallback: "as soon as all slots are served again, or as soon as it is clear that this needs the restart",
});
const share = z.number().gt(0).max(1).default(0.4).meta({
  description: "Part of the primaries that is killed. With 0.5 or more, no majority is left to elect new primaries.",
});
const zone = z
  .string()
  .optional()
  .meta({ description: "Name of the zone.", fallback: "the zone with the most primaries" });
const fault = <const K extends (typeof FAULT_KINDS)[number]>(kind: K): z.ZodLiteral<K> =>
  z.literal(kind).meta({ description: "Kind of the fault." });
const lasting = (fallback: number): z.ZodDefault<z.ZodNumber> =>
  seconds.default(fallback).meta({ description: "Duration of the fault.", unit: "seconds" });

/** One scenario of the section `failures`. */
export const failureSchema = z.discriminatedUnion("fault", [
  z
    .strictObject({ fault: fault("kill-primary"), restart, ...common })
    .meta({ title: "kill-primary", description: "Kills one primary." }),
  z
    .strictObject({ fault: fault("kill-primaries"), share, restart, ...common })
    .meta({ title: "kill-primaries", description: "Kills several primaries at once." }),
  z
    .strictObject({ fault: fault("kill-zone"), zone, restart, ...common })
    .meta({ title: "kill-zone", description: "Kills every server of a zone." }),
  z
    .strictObject({ fault: fault("kill-machine"), restart, ...common })
    .meta({ title: "kill-machine", description: "Kills every server of a machine." }),
  z
    .strictObject({
      fault: fault("kill-all"),
      newAddresses: z.boolean().default(true).meta({
        description: "Whether the servers come back with new addresses, as pods do.",
      }),
      ...common,
    })
    .meta({ title: "kill-all", description: "Kills every server, and starts all servers again." }),
  z
    .strictObject({ fault: fault("freeze-primary"), seconds: lasting(10), ...common })
    .meta({ title: "freeze-primary", description: "Stops the process of one primary (SIGSTOP), then continues it." }),
  z
    .strictObject({ fault: fault("cut-zone"), zone, seconds: lasting(10), ...common })
    .meta({ title: "cut-zone", description: "Cuts the network between one zone and the other zones." }),
  z
    .strictObject({ fault: fault("full-disk"), seconds: lasting(5), ...common })
    .meta({ title: "full-disk", description: "Fills the disk of one primary." }),
  z
    .strictObject({
      fault: fault("rolling-restart"),
      home: z.string().min(1).optional().meta({
        description: "Directory with the server programs to restart with, such as a newer version.",
        fallback: "the same programs",
      }),
      ...common,
    })
    .meta({ title: "rolling-restart", description: "Restarts every server, one after the other." }),
  z
    .strictObject({
      fault: fault("scale"),
      primaries: wholeNumber(3, 1000).meta({ description: "Number of primaries afterwards." }),
      replicasPerPrimary: wholeNumber(0, 10).default(1).meta({ description: "Replicas per primary afterwards." }),
      ...common,
    })
    .meta({ title: "scale", description: "Changes the number of primaries or replicas of a cluster." }),
]);
/** One scenario, parsed. */
export type ScenarioConfig = z.infer<typeof failureSchema>;

/** Scenarios of a stack without the section `failures`: each fault once, except `scale`. */
export const DEFAULT_SCENARIOS: Readonly<Record<string, unknown>> = Object.fromEntries(
  FAULT_KINDS.filter((kind) => kind !== "scale").map((kind) => [kind, { fault: kind }]),
);
