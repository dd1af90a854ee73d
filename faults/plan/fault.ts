/** The faults: everything that the project knows of a fault is its row in `FAULTS`. */
import { z } from "zod";
import { wholeNumber } from "../../lib/schema/fields";
import { unmetDiskPrecondition, unmetPartitionPrecondition } from "../../platforms/host/side-effects";
import type { DeploymentOutline, FaultPlan } from "./fault-plan";
import * as plans from "./plan-fault";

export const scenarioSeconds = z.number().min(0).max(3600);

const restart = scenarioSeconds.optional().meta({
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
const lasting = (fallback: number): z.ZodDefault<z.ZodNumber> =>
  scenarioSeconds.default(fallback).meta({ description: "Duration of the fault.", unit: "seconds" });

interface FaultRow<Fields extends z.ZodRawShape, Options = z.infer<z.ZodObject<Fields>>> {
  /** Sentence of the reference of stack files. */
  readonly description: string;
  readonly fields: Fields;
  /** Whether a stack that names no scenario runs the fault. */
  readonly isDefault: boolean;
  readonly restartsNodes: boolean;
  readonly describe: (options: Options) => string;
  readonly plan: (options: Options, outline: DeploymentOutline) => FaultPlan | string;
  /** Why this machine cannot inject the fault into processes. */
  readonly unmetOnHost: (options: Options) => string | undefined;
  /** Why the API server cannot inject the fault into pods. */
  readonly unmetOnPods: (options: Options) => string | undefined;
}

const row = <Fields extends z.ZodRawShape>(each: FaultRow<Fields>): FaultRow<Fields> => each;
const met = (): undefined => undefined;
const KILL = { isDefault: true, restartsNodes: true, unmetOnHost: met, unmetOnPods: met } as const;
const DISTURBANCE = { isDefault: true, restartsNodes: false, unmetOnHost: met, unmetOnPods: met } as const;

/** In the order in which a stack that names no scenario runs them. */
export const FAULTS = {
  "kill-primary": row({
    ...KILL,
    description: "Kills one primary.",
    fields: { restart },
    describe: () => "SIGKILL of a primary",
    plan: (options, outline) => plans.killPrimary(outline, options.restart),
  }),
  "kill-primaries": row({
    ...KILL,
    description: "Kills several primaries at once.",
    fields: { share, restart },
    describe: (options) => `SIGKILL of ${Math.round(options.share * 100)} % of the primaries at once`,
    plan: (options, outline) => plans.killPrimaries(outline, options.share, options.restart),
  }),
  "kill-zone": row({
    ...KILL,
    description: "Kills every server of a zone.",
    fields: { zone, restart },
    describe: (options) => `SIGKILL of every node of ${options.zone ?? "a zone"}`,
    plan: (options, outline) => plans.killZone(outline, options.zone, options.restart),
  }),
  "kill-machine": row({
    ...KILL,
    description: "Kills every server of a machine.",
    fields: { restart },
    describe: () => "loss of a machine",
    plan: (options, outline) => plans.killMachine(outline, options.restart),
  }),
  "freeze-primary": row({
    ...DISTURBANCE,
    description: "Stops the process of one primary (SIGSTOP), then continues it.",
    fields: { seconds: lasting(10) },
    describe: ({ seconds }) => `a primary paused for ${seconds} s`,
    plan: ({ seconds }, outline) => plans.freezePrimary(outline, seconds),
    unmetOnPods: () => "the API server cannot pause the processes of a pod; the platform host can",
  }),
  "cut-zone": row({
    ...DISTURBANCE,
    description: "Cuts the network between one zone and the other zones.",
    fields: { zone, seconds: lasting(10) },
    describe: (options) => `${options.zone ?? "a zone"} cut off from the other zones for ${options.seconds} s`,
    plan: (options, outline) => plans.cutZone(outline, options.zone, options.seconds),
    unmetOnHost: unmetPartitionPrecondition,
  }),
  "full-disk": row({
    ...DISTURBANCE,
    description: "Fills the disk of one primary.",
    fields: { seconds: lasting(5) },
    describe: ({ seconds }) => `the disk of a primary full for ${seconds} s`,
    plan: ({ seconds }, outline) => plans.fullDisk(outline, seconds),
    unmetOnHost: unmetDiskPrecondition,
    unmetOnPods: () =>
      "a full disk could also break other pods, because volumes of several pods may share a disk of the machine; " +
      "on the platform host each server has a disk of its own",
  }),
  "rolling-restart": row({
    ...KILL,
    description: "Restarts every server, one after the other.",
    fields: {
      home: z.string().min(1).optional().meta({
        description: "Directory with the server programs to restart with, such as a newer version.",
        fallback: "the same programs",
      }),
    },
    describe: ({ home }) =>
      home === undefined
        ? "rolling restart with hand-over"
        : `upgrade to the programs in ${home}, node by node with hand-over`,
    plan: ({ home }, outline) => plans.rollingRestart(outline, home),
    unmetOnPods: ({ home }) =>
      home === undefined
        ? undefined
        : "a pod runs the programs of its image: change the image of the deployment and run pulumi up, which upgrades node by node",
  }),
  scale: row({
    ...DISTURBANCE,
    isDefault: false,
    description: "Changes the number of primaries or replicas of a cluster.",
    fields: {
      primaries: wholeNumber(3, 1000).meta({ description: "Number of primaries afterwards." }),
      replicasPerPrimary: wholeNumber(0, 10).default(1).meta({ description: "Replicas per primary afterwards." }),
    },
    describe: (to) => `resize to ${to.primaries} primaries with ${to.replicasPerPrimary} replicas each, and back`,
    plan: ({ primaries, replicasPerPrimary }, outline) => plans.scale(outline, { primaries, replicasPerPrimary }),
    unmetOnPods: () =>
      "Pulumi creates the pods: change primaries or replicasPerPrimary and run pulumi up, which resizes the cluster",
  }),
  "kill-all": row({
    ...KILL,
    description: "Kills every server, and starts all servers again.",
    fields: {
      newAddresses: z.boolean().default(true).meta({
        description: "Whether the servers come back with new addresses, as pods do.",
      }),
    },
    describe: (options) =>
      `SIGKILL of all nodes at once, restart at ${options.newAddresses ? "new" : "the same"} addresses`,
    plan: (options, outline) => plans.killAll(outline, options.newAddresses),
  }),
} as const;

export type FaultKind = keyof typeof FAULTS;
export const FAULT_KINDS = Object.keys(FAULTS) as FaultKind[];

export type FaultOptions = {
  readonly [Kind in FaultKind]: z.infer<z.ZodObject<(typeof FAULTS)[Kind]["fields"]>>;
};
export type Fault = { readonly [Kind in FaultKind]: { readonly kind: Kind } & FaultOptions[Kind] }[FaultKind];

/** The compiler cannot tell that the row of a kind takes the options of this kind. */
export function rowOf({ kind }: Fault): FaultRow<z.ZodRawShape, Fault> {
  return FAULTS[kind] as unknown as FaultRow<z.ZodRawShape, Fault>;
}

export const describeFault = (fault: Fault): string => rowOf(fault).describe(fault);

/** @returns the plan, or the reason why the fault cannot be injected into the deployment */
export const planFault = (fault: Fault, outline: DeploymentOutline): FaultPlan | string =>
  rowOf(fault).plan(fault, outline);
