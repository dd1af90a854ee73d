/**
 * Finds the bottleneck of a load by CPU on both sides and by the requests in flight. Pure; every limit is named here.
 */
import { formatPercent } from "../../lib/units";
import type { MeasurementRecord } from "../results/schema";

/** Where a load has its bottleneck, with the figures that say so. */
export type Bottleneck =
  /** The load generator used all of its CPU, while no server did. */
  | { readonly at: "client"; readonly text: string }
  /** A primary's main thread used all of its CPU. */
  | { readonly at: "server"; readonly text: string }
  /** Neither was at its own limit, and all CPUs of the machine were in use. */
  | { readonly at: "machine"; readonly text: string }
  /** Neither the CPU of either side nor the machine's. */
  | { readonly at: "none" };

/** Inputs from which a bottleneck is found. */
export type BottleneckEvidence = Pick<
  MeasurementRecord,
  "cpu" | "offering" | "client" | "clients" | "pipeline" | "rate"
>;

/** Share of the time for which a thread at its limit is busy: scheduling takes the rest. */
const BUSY_THREAD = 0.9;
/** Share of its CPU that a machine at its limit uses. */
const BUSY_MACHINE = 0.95;
/**
 * Share of a closed loop's requests that are in flight, by Little's law (rate × mean latency over connections ×
 * pipeline). Measured with the server as the bottleneck: 0.89 to 0.93. Measured with the generator as the bottleneck:
 * 0.71 to 0.78, because replies wait to be read. It decides only where the generator's CPU is unknown.
 */
const IN_FLIGHT = 0.8;

/**
 * Finds the bottleneck of a load: the CPU of its generator, of a server, or of the machine that they share; without the
 * generator's CPU, the requests in flight.
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
    return { at: "client", text: `${client}, and no primary's main thread more than ${formatPercent(busiestPrimary)}` };
  }
  const inFlight = inFlightShare(record);
  if (working === null && inFlight < IN_FLIGHT) {
    return {
      at: "client",
      text: `only ${formatPercent(inFlight)} of the requests that it may have in flight were with the servers`,
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
 * Cores that the load generator needed, and cores that it used while waiting. An open loop polls its clock while it
 * waits: only its work counts, because other processes can have the rest.
 */
function generatorCpu({ cpu, offering }: BottleneckEvidence): {
  readonly working: number | null;
  readonly idling: number;
} {
  if (offering === null) return { working: cpu.client, idling: 0 };
  const idling = cpu.client === null ? 0 : Math.max(0, cpu.client - offering.busy);
  return { working: Math.min(offering.busy, cpu.client ?? Infinity), idling };
}

/** Share of a closed loop's possible requests in flight; 1 for any load at an offered rate, which has no such limit. */
function inFlightShare({ client, clients, pipeline, rate, offering }: BottleneckEvidence): number {
  if (rate !== null || offering !== null) return 1;
  return (client.rps * client.avgMs) / 1000 / (clients * pipeline);
}
