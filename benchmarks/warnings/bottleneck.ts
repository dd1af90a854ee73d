/**
 * Finds the bottleneck of a load, for the warnings `machine-bound` and `client-bound`. The evidence is the CPU use of
 * the load generator and of the servers, and the number of requests in flight. Pure. Every limit is a named constant in
 * this file. `warnings.ts` decides when the warnings apply, and `warning-notes.ts` gives them letters.
 */
import { formatPercent } from "../../lib/units";
import type { MeasurementRecord } from "../results/schema";

/** The bottleneck of a load, with the values that show it. */
export type Bottleneck =
  /** The load generator used all of its CPU, and no server did. */
  | { readonly at: "client"; readonly text: string }
  /** A primary's main thread used all of its CPU. */
  | { readonly at: "server"; readonly text: string }
  /** Neither the load generator nor a primary was at its limit, but all CPUs of the machine were in use. */
  | { readonly at: "machine"; readonly text: string }
  /** Neither the load generator nor a primary was at its limit, and the machine had free CPUs. */
  | { readonly at: "none" };

/** Values from which a bottleneck is found. */
export type BottleneckEvidence = Pick<
  MeasurementRecord,
  "cpu" | "offering" | "client" | "clients" | "pipeline" | "rate"
>;

/**
 * A thread counts as being at its limit if it is busy for at least this share of the time. The scheduler takes the
 * rest.
 */
const BUSY_THREAD = 0.9;
/** A machine counts as being at its limit if at least this share of its CPU is in use. */
const BUSY_MACHINE = 0.95;
/**
 * A closed loop counts as the bottleneck if it keeps less than this share of its possible requests in flight. By
 * Little's law, the share is rate × mean latency / (connections × pipeline). If the share is low, replies wait until
 * the load generator reads them. We measured shares of 0.89 to 0.93 with the server as the bottleneck, and shares of
 * 0.71 to 0.78 with the generator as the bottleneck. This limit is used only if the CPU use of the generator is
 * unknown.
 */
const IN_FLIGHT = 0.8;

/**
 * Finds the bottleneck of a load. It is the CPU of the generator, of a server, or of the machine on which the generator
 * and the servers run. If the CPU use of the generator is unknown, the number of requests in flight is used.
 */
export function bottleneckOf(record: BottleneckEvidence): Bottleneck {
  const { cpu } = record;
  const busiestPrimary = Math.max(0, ...cpu.servers.flatMap((server) => mainThreadOfPrimary(server)));
  if (busiestPrimary >= BUSY_THREAD) {
    return { at: "server", text: `a primary's main thread was ${formatPercent(busiestPrimary)} busy` };
  }
  const { working, idling } = generatorCpu(record);
  const clientBusy = working === null ? 0 : working / cpu.clientLimit;
  if (clientBusy >= BUSY_THREAD) {
    const client = `the load generator used ${formatPercent(clientBusy)} of its threads`;
    return {
      at: "client",
      text: `${client}, and no primary's main thread was more than ${formatPercent(busiestPrimary)} busy`,
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
    return {
      at: "machine",
      text: `${machine} ${cpu.machineCores} cores, which were ${formatPercent(machineBusy)} busy`,
    };
  }
  return { at: "none" };
}

function mainThreadOfPrimary({ role, mainThread }: MeasurementRecord["cpu"]["servers"][number]): number[] {
  return role === "primary" && mainThread !== null ? [mainThread] : [];
}

/**
 * Cores that the load generator needed for its work, and cores that it used while it waited. An open loop polls its
 * clock while it waits. Only the cores for work count, because other processes can use the cores on which the generator
 * only waits.
 */
function generatorCpu({ cpu, offering }: BottleneckEvidence): {
  readonly working: number | null;
  readonly idling: number;
} {
  if (offering === null) return { working: cpu.client, idling: 0 };
  const idling = cpu.client === null ? 0 : Math.max(0, cpu.client - offering.busy);
  return { working: Math.min(offering.busy, cpu.client ?? Infinity), idling };
}

/**
 * Requests in flight of a closed loop, as a share of the possible requests in flight (connections × pipeline). The
 * result is 1 for a load at an offered rate, because such a load has few requests in flight even without a bottleneck.
 */
function inFlightShare({ client, clients, pipeline, rate, offering }: BottleneckEvidence): number {
  if (rate !== null || offering !== null) return 1;
  return (client.rps * client.avgMs) / 1000 / (clients * pipeline);
}
