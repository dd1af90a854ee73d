/** Connections to servers that close them early. */
import { once } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import { createServer } from "node:net";
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

const answer = (text: string) => (socket: Socket) => void socket.on("data", () => void socket.write(text));

it("are opened once more, and not a third time", async () => {
  expect(await attempt((socket, count) => void (count === 1 ? socket.end() : answer("+PONG\r\n")(socket)))).toEqual([
    2,
    "",
  ]);
  const cut = (socket: Socket): void => void socket.on("data", () => void socket.destroy());
  expect(await attempt((socket, count) => void (count === 1 ? cut(socket) : answer("+PONG\r\n")(socket)))).toEqual([
    2,
    "",
  ]);
  expect(await attempt(cut)).toEqual([2, expect.stringContaining("shop-4 (127.0.0.1:")]);
});

it("are not opened again after a refusal, or where nobody answers", async () => {
  expect(await attempt(answer("-NOAUTH Authentication required.\r\n"))).toEqual([
    1,
    expect.stringContaining("requires a password"),
  ]);
  expect(await attempt(() => undefined)).toEqual([1, expect.stringContaining("Command timed out")]);
});
