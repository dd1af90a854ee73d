/** A connection to a server as a stream of bytes, over TCP or TLS. */
import { once } from "node:events";
import { connect as connectTcp } from "node:net";
import type { Duplex } from "node:stream";
import { Failure } from "../../lib/errors";
import { tlsOptions } from "../../valkey/connection";
import { startSecure } from "../../valkey/connector";
import type { Endpoint, NodeAccess } from "../../valkey/node";

/** Does not authenticate. @throws Failure if the server does not answer in time; errors of the socket and of TLS */
export async function openStream(
  { endpoint, access }: { readonly endpoint: Endpoint; readonly access: NodeAccess },
  timeoutMs: number,
): Promise<Duplex> {
  const bytes = await dialTcp(endpoint, timeoutMs);
  return access.tls === undefined ? bytes : startSecure(bytes, tlsOptions(access, endpoint.host), timeoutMs);
}

async function dialTcp(endpoint: Endpoint, timeoutMs: number): Promise<Duplex> {
  const socket = connectTcp({ ...endpoint, noDelay: true, keepAlive: true });
  const timer = setTimeout(() => {
    socket.destroy(new Failure(`no connection within ${timeoutMs / 1000} s`));
  }, timeoutMs);
  try {
    await once(socket, "connect");
    return socket;
  } finally {
    clearTimeout(timer);
  }
}
