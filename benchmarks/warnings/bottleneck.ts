/**
 * For the warnings `machine-bound` and `client-bound`, from CPU use and the number of requests in flight. Every limit
 * is a constant here; `warnings.ts` decides when they apply.
 */
import { formatPercent } from "../../lib/units";
import type { MeasurementRecord } from "../results/schema";

type Bottleneck =
  /** The load generator used all of its CPU, and no server did. */
  | { readonly at: "client"; readonly text: string }
  /** A primary's main thread used all of its CPU. */
  | { readonly at: "server"; readonly text: string }
  /** Neither the load generator nor a primary was at its limit, but all CPUs of the machine were in use. */
  | { readonly at: "machine"; readonly text: string }
  /** Neither the load generator nor a primary was at its limit, and the machine had free CPUs. */
  | { readonly at: "none" };

export type BottleneckEvidence = Pick<
  MeasurementRecord,
  "cpu" | "offering" | "client" | "clients" | "pipeline" | "rate"
>;

/** The scheduler takes the rest. */
const BUSY_THREAD = 0.9;
/** Shortest useful measurement, seconds: one second that can end a little early. A coarse clock can require more. */
export const MIN_SECONDS = 0.98;
/** A machine counts as being at its limit if at least this share of its CPU is in use. */
const BUSY_MACHINE = 0.95;
/**
 * By Little's law, the share is rate × mean latency / (connections × pipeline): if it is low, replies wait until the
 * load generator reads them. Measured: 0.89 to 0.93 with the server as the bottleneck, 0.71 to 0.78 with the generator.
 * Used only if the CPU use of the generator is unknown.
 */
const IN_FLIGHT = 0.8;

/** If the CPU use of the generator is unknown, the number of requests in flight decides. */
export function bottleneckOf(record: BottleneckEvidence): Bottleneck {
  const { cpu } = record;
  const busiestPrimary = Math.max(0, ...cpu.servers.flatMap((server) => mainThreadOfPrimary(server)));
  if (busiestPrimary >= BUSY_THREAD) {
    return { at: "server", text: `a primary's main thread was ${formatBusy(busiestPrimary)} busy` };
  }
  const { working, idling } = generatorCpu(record);
  const clientBusy = working === null ? 0 : working / cpu.clientLimit;
  if (clientBusy >= BUSY_THREAD) {
    const client = `the load generator used ${formatBusy(clientBusy)} of its threads`;
    return {
      at: "client",
      text: `${client}, and no primary's main thread was more than ${formatBusy(busiestPrimary)} busy`,
    };
  }
  const inFlight = inFlightShare(record);
  if (working === null && inFlight < IN_FLIGHT) {
    return {
      at: "client",
      text: `the load generator kept only ${formatPercent(inFlight)} of its allowed requests in flight`,
    };
  }
  const machineBusy = cpu.machineBusy === null ? 0 : (cpu.machineBusy - idling) / cpu.machineCores;
  if (machineBusy >= BUSY_MACHINE) {
    const machine = cpu.serversHere ? "load generator and servers share" : "the load generator's machine has";
    return { at: "machine", text: `${machine} ${cpu.machineCores} cores, which were ${formatBusy(machineBusy)} busy` };
  }
  return { at: "none" };
}

/** A part of CPU time. Counters are read a little apart from the clock, so the quotient can exceed the whole. */
function formatBusy(part: number): string {
  return formatPercent(Math.min(1, part));
}

function mainThreadOfPrimary({ role, mainThread }: MeasurementRecord["cpu"]["servers"][number]): number[] {
  return role === "primary" && mainThread !== null ? [mainThread] : [];
}

/** An open loop polls its clock while it waits. Other processes can use those cores, so only work counts. */
function generatorCpu({ cpu, offering }: BottleneckEvidence): {
  readonly working: number | null;
  readonly idling: number;
} {
  if (offering === null) return { working: cpu.client, idling: 0 };
  const idling = cpu.client === null ? 0 : Math.max(0, cpu.client - offering.busy);
  return { working: Math.min(offering.busy, cpu.client ?? Infinity), idling };
}

/** Share of connections × pipeline; 1 at an offered rate, which has few requests in flight even without a bottleneck. */
function inFlightShare({ client, clients, pipeline, rate, offering }: BottleneckEvidence): number {
  if (rate !== null || offering !== null) return 1;
  return (client.rps * client.avgMs) / 1000 / (clients * pipeline);
}
