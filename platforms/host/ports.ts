/** Free ports are found by binding them, outside the kernel's range for outgoing connections. */
import { randomInt } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { Failure } from "../../lib/errors";

export const LOOPBACK = "127.0.0.1";

interface PortRange {
  readonly low: number;
  readonly high: number;
}

const FIRST_UNPRIVILEGED = 1024;
const LAST = 65535;

/** Below or above the ephemeral range, in which the kernel may use a port before a server binds it. */
export function portsOutside(ephemeral: PortRange): PortRange {
  const below = { low: FIRST_UNPRIVILEGED, high: Math.min(ephemeral.low - 1, LAST) };
  const above = { low: Math.max(ephemeral.high + 1, FIRST_UNPRIVILEGED), high: LAST };
  const size = (range: PortRange): number => range.high - range.low + 1;
  const best = size(below) >= size(above) ? below : above;
  // If the ephemeral range leaves too few ports, all unprivileged ports are used.
  return size(best) >= 1000 ? best : { low: FIRST_UNPRIVILEGED, high: LAST };
}

export function* portsFrom(range: PortRange, start: number): Generator<number> {
  const size = range.high - range.low + 1;
  for (let offset = 0; offset < size; offset++) yield range.low + ((start - range.low + offset) % size);
}

/**
 * From a random port, so that runs rarely find the same. If one is taken before the server binds it, search again.
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

/** If the kernel's range is unknown, the range that IANA recommends. */
function ephemeralPorts(): PortRange {
  try {
    const [low, high] = readFileSync("/proc/sys/net/ipv4/ip_local_port_range", "utf8").trim().split(/\s+/).map(Number);
    if (low !== undefined && high !== undefined && low <= high) return { low, high };
  } catch {
    // The file exists only on Linux.
  }
  return { low: 49152, high: 65535 };
}
