/**
 * Finds free ports on the loopback address. To test whether a port is free, the functions bind the port. They avoid the
 * kernel's range of ports for outgoing connections.
 */
import { randomInt } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { Failure } from "../../lib/errors";

/** The default address of servers on this machine. */
export const LOOPBACK = "127.0.0.1";

/** Inclusive bounds of port numbers. */
interface PortRange {
  readonly low: number;
  readonly high: number;
}

const FIRST_UNPRIVILEGED = 1024;
const LAST = 65535;

/**
 * Unprivileged ports, either below or above the ephemeral range, whichever side has more ports. Ports in the ephemeral
 * range are avoided, because the kernel may use such a port for an outgoing connection before a server binds it.
 */
export function portsOutside(ephemeral: PortRange): PortRange {
  const below = { low: FIRST_UNPRIVILEGED, high: Math.min(ephemeral.low - 1, LAST) };
  const above = { low: Math.max(ephemeral.high + 1, FIRST_UNPRIVILEGED), high: LAST };
  const size = (range: PortRange): number => range.high - range.low + 1;
  const best = size(below) >= size(above) ? below : above;
  // If the ephemeral range leaves too few ports, all unprivileged ports are used.
  return size(best) >= 1000 ? best : { low: FIRST_UNPRIVILEGED, high: LAST };
}

/** All ports of the range, each once: from `start` upwards, and then from the lowest port. */
export function* portsFrom(range: PortRange, start: number): Generator<number> {
  const size = range.high - range.low + 1;
  for (let offset = 0; offset < size; offset++) yield range.low + ((start - range.low + offset) % size);
}

/**
 * Finds free ports. The search begins at a random port, so that simultaneous runs rarely find the same ports. If a port
 * is taken before the server binds it, the caller must search again.
 * @throws Failure when too few ports are free
 */
export async function findFreePorts(count: number): Promise<number[]> {
  const range = portsOutside(ephemeralPorts());
  const found: number[] = [];
  for (const port of portsFrom(range, randomInt(range.low, range.high + 1))) {
    if (found.length === count) break;
    if (await isFree(port)) found.push(port);
  }
  if (found.length < count)
    throw new Failure(
      `${count} free ports are needed between ${range.low} and ${range.high}, but only ${found.length} were found`,
    );
  return found;
}

/** Whether a port of the loopback address can be bound. */
export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => {
      resolve(false);
    });
    server.listen({ port, host: LOOPBACK, exclusive: true }, () => {
      server.close(() => {
        resolve(true);
      });
    });
  });
}

/**
 * The kernel's range of ports for outgoing connections. If the kernel's range is unknown, the range that IANA
 * recommends.
 */
function ephemeralPorts(): PortRange {
  try {
    const [low, high] = readFileSync("/proc/sys/net/ipv4/ip_local_port_range", "utf8").trim().split(/\s+/).map(Number);
    if (low !== undefined && high !== undefined && low <= high) return { low, high };
  } catch {
    // The file exists only on Linux.
  }
  return { low: 49152, high: 65535 };
}
