/** Connections to servers that close them early. */
import { once } from "node:events";
import { type AddressInfo, type Socket, createServer } from "node:net";
import { expect, it } from "vitest";
import { connect } from "../../valkey/connection";

/** Connects to a server. @param serve handles a connection @returns number of connections, and the error if there is one */
async function attempt(serve: (socket: Socket, count: number) => void): Promise<[count: number, problem: string]> {
  let count = 0;
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    serve(socket, ++count);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  try {
    const connection = await connect("shop-4", { host: "127.0.0.1", port }, {}, 300);
    connection.disconnect();
    return [count, ""];
  } catch (error) {
    return [count, String(error)];
  } finally {
    server.close();
  }
}

const answers = (text: string) => (socket: Socket) => {
  socket.on("data", () => {
    socket.write(text);
  });
};
const closes = (socket: Socket): void => {
  socket.end();
};
const cuts = (socket: Socket): void => {
  socket.on("data", () => {
    socket.destroy();
  });
};
const atFirst = (first: (socket: Socket) => void) => (socket: Socket, count: number) => {
  (count === 1 ? first : answers("+PONG\r\n"))(socket);
};

it("are opened once more, and not a third time", async () => {
  expect(await attempt(atFirst(closes))).toEqual([2, ""]);
  expect(await attempt(atFirst(cuts))).toEqual([2, ""]);
  expect(await attempt(cuts)).toEqual([2, expect.stringContaining("shop-4 (127.0.0.1:")]);
});

it("are not opened again after a refusal, or where nobody answers", async () => {
  const refused = await attempt(answers("-NOAUTH Authentication required.\r\n"));
  expect(refused).toEqual([1, expect.stringContaining("requires a password")]);
  expect(await attempt(() => undefined)).toEqual([1, expect.stringContaining("Command timed out")]);
});
