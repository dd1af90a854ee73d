/** Free ports on the loopback address: found by trying, outside the range the kernel gives to outgoing connections. */
import { randomInt } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { Failure } from "../../lib/errors";

/** Where servers of this machine listen, where nothing else is asked for. */
export const LOOPBACK = "127.0.0.1";

/** Inclusive bounds of port numbers. */
export interface PortRange {
  readonly low: number;
  readonly high: number;
}

const FIRST_UNPRIVILEGED = 1024;
const LAST = 65535;

/**
 * The larger part of the unprivileged ports that lies outside the ephemeral range. A server's port taken
 * from within it could be in use as the source of somebody's connection by the time the server binds it.
 */
export function portsOutside(ephemeral: PortRange): PortRange {
  const below = { low: FIRST_UNPRIVILEGED, high: Math.min(ephemeral.low - 1, LAST) };
  const above = { low: Math.max(ephemeral.high + 1, FIRST_UNPRIVILEGED), high: LAST };
  const size = (range: PortRange): number => range.high - range.low + 1;
  const best = size(below) >= size(above) ? below : above;
  // A machine may hand out everything; then its ports are as good as any.
  return size(best) >= 1000 ? best : { low: FIRST_UNPRIVILEGED, high: LAST };
}

/** The order in which to try ports: every port of the range once, upwards from `start` and around. */
export function* portsFrom(range: PortRange, start: number): Generator<number> {
  const size = range.high - range.low + 1;
  for (let offset = 0; offset < size; offset++) yield range.low + ((start - range.low + offset) % size);
}

/**
 * Finds free ports, beginning at a random place so that runs side by side rarely meet. Whoever binds one
 * may still find it taken by then, and asks again.
 * @throws Failure when there are not as many
 */
export async function findFreePorts(count: number): Promise<number[]> {
  const range = portsOutside(ephemeralPorts());
  const found: number[] = [];
  for (const port of portsFrom(range, randomInt(range.low, range.high + 1))) {
    if (found.length === count) break;
    if (await isFree(port)) found.push(port);
  }
  if (found.length < count)
    throw new Failure(`only ${found.length} of ${count} ports are free between ${range.low} and ${range.high}`);
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

/** The kernel's range for outgoing connections; the one IANA suggests where the kernel does not tell. */
function ephemeralPorts(): PortRange {
  try {
    const [low, high] = readFileSync("/proc/sys/net/ipv4/ip_local_port_range", "utf8").trim().split(/\s+/).map(Number);
    if (low !== undefined && high !== undefined && low <= high) return { low, high };
  } catch {
    // Not Linux.
  }
  return { low: 49152, high: 65535 };
}
