/** Expiry of the certificates that servers present to clients. */
import { once } from "node:events";
import { connect } from "node:tls";
import { compact } from "../lib/compact";
import type { Endpoint } from "../valkey/node";

const TIMEOUT_MS = 5_000;

/**
 * Earliest expiry of the servers' certificates, milliseconds since 1970; undefined if no server presents a certificate.
 * Servers that do not answer are left out. The function accepts invalid certificates, because they expire too.
 */
export async function firstCertificateEnd(endpoints: readonly Endpoint[]): Promise<number | undefined> {
  const ends = compact(await Promise.all(endpoints.map((each) => certificateEnd(each).catch(() => undefined))));
  return ends.length === 0 ? undefined : Math.min(...ends);
}

async function certificateEnd({ host, port }: Endpoint): Promise<number | undefined> {
  const socket = connect({ host, port, rejectUnauthorized: false, timeout: TIMEOUT_MS });
  try {
    await once(socket, "secureConnect", { signal: AbortSignal.timeout(TIMEOUT_MS) });
    const end = Date.parse(socket.getPeerCertificate().valid_to);
    return Number.isNaN(end) ? undefined : end;
  } finally {
    socket.destroy();
  }
}
