/** TLS inside a stream that is not a socket, as a port-forward of Kubernetes is. */
import { connect as connectTcp } from "node:net";
import { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connect } from "../../../valkey/connection";
import { useSandbox } from "../../support/valkey/hooks";
import { type TlsServer, startTlsServer } from "../../support/valkey/tls-server";

const sandbox = useSandbox();
let server: TlsServer;
beforeAll(async () => {
  server = await startTlsServer(sandbox, join(sandbox.host.run.path, "tls"));
});
afterAll(() => {
  server.stop();
});

function forward(): Duplex {
  const socket = connectTcp(server.port, "127.0.0.1");
  const stream = new Duplex({
    read: () => socket.resume(),
    write: (chunk: Buffer, _encoding, done) => void socket.write(chunk, done),
    destroy: (error, done) => {
      socket.destroy();
      done(error);
    },
  });
  stream.on("error", () => undefined);
  socket.on("data", (data) => stream.push(data) || socket.pause());
  socket.on("error", (error) => stream.destroy(error));
  return stream;
}

describe("a connection with TLS inside another stream", () => {
  it("that breaks when nobody listens any more ends nothing but itself", async () => {
    const streams: Duplex[] = [];
    const dial = (): Promise<Duplex> => {
      const stream = forward();
      streams.push(stream);
      return Promise.resolve(stream);
    };
    const access = { tls: { cacert: server.certificate, insecure: false } };
    const connection = await connect("server", { host: "localhost", port: server.port }, access, 5000, dial);
    expect(await connection.ping()).toBe("PONG");
    connection.disconnect();
    // An error that nobody handles would fail this test.
    for (const stream of streams) stream.destroy(new Error("the port-forward broke"));
    await sleep(200);
  });

  it.each([
    ["breaks", (stream: Duplex) => stream.destroy(new Error("the port-forward broke")), /the port-forward broke/],
    ["ends", (stream: Duplex) => stream.destroy(), /closed before it was encrypted/],
  ] as const)("that %s before it is encrypted is refused with the reason", async (_title, end, reason) => {
    const dial = (): Promise<Duplex> => {
      const stream = forward();
      setImmediate(() => end(stream));
      return Promise.resolve(stream);
    };
    const access = { tls: { cacert: server.certificate, insecure: false } };
    const connecting = connect("server", { host: "localhost", port: server.port }, access, 5000, dial);
    await expect(connecting).rejects.toThrow(reason);
    await sleep(200);
  });

  it("that carries no answer is refused within the time limit of the connection", async () => {
    const silent = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => setImmediate(done) });
    const access = { tls: { cacert: server.certificate, insecure: false } };
    const connecting = connect("server", { host: "localhost", port: server.port }, access, 300, () =>
      Promise.resolve(silent),
    );
    await expect(connecting).rejects.toThrow("no answer to the TLS handshake within 0.3 s");
    expect(silent.destroyed).toBe(true);
  });
});
