/**
 * Who was the limit of a load: its generator, a server, or the machine they share. By CPU on both sides and by what was in flight.
 * Pure; every limit is named here.
 */
import type { MeasurementRecord } from "../results/schema";

export type Bottleneck =
  /** The load generator had no more to give, while every server had. */
  | { readonly at: "client"; readonly text: string }
  /** A primary's main thread had no more to give. */
  | { readonly at: "server"; readonly text: string }
  /** Neither was at its own limit, and the machine was at its. */
  | { readonly at: "machine"; readonly text: string }
  /** Nobody: more could have been done. */
  | { readonly at: "none" };

/** A thread that is busy for this part of the time has nothing left: the rest goes into being scheduled. */
export const BUSY_THREAD = 0.9;
/** A machine that is busy to this part has nothing left to give to whoever wants more. */
const MACHINE_BUSY = 0.95;
/**
 * Of a closed loop's requests, the part that is in flight by Little's law (rate × mean latency over connections × pipeline).
 * Measured with the server as the limit: 0.89 to 0.93; with the generator: 0.71 to 0.78, for then replies wait to be read
 * and what is read is answered late. It decides only where the generator's CPU is not known.
 */
const IN_FLIGHT = 0.8;

export function bottleneckOf(
  record: Pick<MeasurementRecord, "cpu" | "offering" | "client" | "clients" | "pipeline" | "rate">,
): Bottleneck {
  const { cpu, offering, client, clients, pipeline, rate } = record;
  const busiest = Math.max(
    0,
    ...cpu.servers.flatMap(({ role, mainThread }) => (role === "primary" && mainThread !== null ? [mainThread] : [])),
  );
  // An open loop turns while it waits: only what it had to do is work, and the rest is there for whoever wants it.
  const working = offering === null ? cpu.client : Math.min(offering.busy, cpu.client ?? Infinity);
  const idling = offering === null || cpu.client === null ? 0 : Math.max(0, cpu.client - offering.busy);
  const clientBusy = working === null ? 0 : working / cpu.clientLimit;
  if (busiest >= BUSY_THREAD) return { at: "server", text: `a primary's main thread was ${percent(busiest)} busy` };
  if (clientBusy >= BUSY_THREAD)
    return {
      at: "client",
      text: `the load generator used ${percent(clientBusy)} of its threads while no server's main thread used more than ${percent(busiest)}`,
    };
  const inFlight = (client.rps * client.avgMs) / 1000 / (clients * pipeline);
  if (working === null && rate === null && offering === null && inFlight < IN_FLIGHT)
    return { at: "client", text: `only ${percent(inFlight)} of what it may have in flight was with the servers` };
  const machineBusy = cpu.machineBusy === null ? 0 : (cpu.machineBusy - idling) / cpu.machineCores;
  if (machineBusy >= MACHINE_BUSY) {
    const sharers = cpu.serversHere ? "load generator and servers share" : "the load generator's machine has";
    return { at: "machine", text: `${sharers} ${cpu.machineCores} cores, which were ${percent(machineBusy)} busy` };
  }
  return { at: "none" };
}

function percent(part: number): string {
  return `${Math.round(part * 100)} %`;
}
